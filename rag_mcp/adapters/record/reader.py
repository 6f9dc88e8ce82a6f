"""The reader's record: consistent snapshots, nothing created, nothing written.

A connection lives as long as its snapshot. Between two of them nothing is open, so a reader that lives for weeks
keeps no file beside the record, no lock and no memory, and a record that was replaced is simply the one it opens.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_mcp.adapters.record import repeats as told
from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.queries import PlanningReads
from rag_mcp.adapters.record.schema import connect_reader, translated
from rag_mcp.effects.record import RecordDamaged
from rag_mcp.pure.manifest import Entry
from rag_mcp.pure.snapshots import hidden_on, series_of
from rag_mcp.pure.values import Chunk
from rag_mcp.pure.view import View

if TYPE_CHECKING:
    from rag_mcp.pure.citations import Row


class SqliteReader:
    """One store's record, open for reading; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def snapshot(self) -> Iterator["SqliteSnapshot"]:
        """A consistent view; raises FileNotFoundError when there is no record."""
        with translated(), closing(connect_reader(self._folder)) as db:
            db.execute("begin")
            yield SqliteSnapshot(db)


SPARE = 100
"""Rows looked at by their words beyond those that are asked for: to leave out, and to break ties among."""


class SqliteSnapshot(PlanningReads):
    """One request's view. Implements `effects.record.Snapshot`."""

    def holds_retired(self) -> bool:
        """Whether any row stands in a superseded document."""
        return self._db.execute("select 1 from rows where lifecycle <> 'current' limit 1").fetchone() is not None

    def passing_rids(self, view: View) -> Sequence[str]:
        """The distinct vectors with a row in view, sorted."""
        where, values = self._in_view(view, repeats=True)  # a repeat has the vector of the row that stands for it
        sql = f"select distinct rid from rows where rid is not null {where} order by rid"
        return [rid.hex() for (rid,) in self._db.execute(sql, values)]

    def keywords(self, terms: Sequence[str], n: int, view: View, common: int) -> Mapping[str, float]:
        """Up to n rids by the words of their rows in view, best first: BM25, greater is better."""
        from rag_mcp.pure.words import expression

        (unseen,) = self._db.execute(
            "select (select count(*) from repeats) + (select count(*) from rows where lifecycle <> 'current')"
        ).fetchone()
        telling = [term for term in terms if self._tells(term, common, unseen)]
        found: dict[str, float] = {}
        for rid, score in self._by_words(expression(telling, terms), n, view):
            found.setdefault(rid.hex(), score)
        return found

    def _by_words(self, asked: str, n: int, view: View) -> list[tuple[bytes, float]]:
        """(rid, BM25) of the best n rows in view, equal ones by their place.

        A row is looked up slowly beside being scored, so without a filter only the best few are.
        """
        if view.doc_class is None and view.as_of is None:
            sql = "select rowid, -bm25(keywords, 1, 1, 1) from keywords where keywords match ? order by 2 desc limit ?"
            best = self._db.execute(sql, [asked, n + SPARE]).fetchall()
            kept = self._in_order(best, view)
            all_of_them = len(best) < n + SPARE
            if all_of_them or (
                len(kept) >= n and kept[n - 1][1] > best[-1][1]
            ):  # else equals may be left out by chance
                return kept[:n]
        where, values = self._in_view(view)
        sql = (
            "select rid, -bm25(keywords, 1, 1, 1) as score from keywords join rows on rows.id = keywords.rowid"
            f" where keywords match ? and rid is not null {where} order by score desc, path, ordinal limit ?"
        )
        return self._db.execute(sql, [asked, *values, n]).fetchall()

    def _in_order(self, best: Sequence[tuple[int, float]], view: View) -> list[tuple[bytes, float]]:
        """(rid, BM25) of those rows that are in view, best first, equal ones by their place."""
        where, values = self._in_view(view)
        scores, placed = dict(best), []
        for page in lay.pages(scores):
            sql = (
                f"select id, rid, path, ordinal from rows where id in ({lay.marks(len(page))})"
                f" and rid is not null {where}"
            )
            placed += [(-scores[row], path, at, rid) for row, rid, path, at in self._db.execute(sql, [*page, *values])]
        return [(rid, -score) for score, _, _, rid in sorted(placed)]

    def _tells(self, term: str, common: int, unseen: int) -> bool:
        """True when at most `common` rows that are shown unasked have the term; looked up only where it is not plain.

        At most `unseen` rows are not.
        """
        sql = "select count(*) from (select 1 from keywords where keywords match ? limit ?)"
        (found,) = self._db.execute(sql, [term, common + unseen + 1]).fetchone()
        if found <= common or found > common + unseen:
            return bool(found <= common)
        sql = (
            "select count(*) from (select 1 from keywords join rows on rows.id = keywords.rowid"
            f" where keywords match ? and {told.SHOWN} and {told.IN_USE} limit ?)"
        )
        (shown,) = self._db.execute(sql, [term, common + 1]).fetchone()
        return bool(shown <= common)

    def rows(self, rids: Sequence[str], view: View) -> "Sequence[Row]":
        """The rows in view that name these vectors, by path and ordinal."""
        found: list[sqlite3.Row] = []
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        where, values = self._in_view(view)
        for page in lay.pages(rids):
            sql = (
                f"select {', '.join('rows.' + c.strip() for c in lay.ROW_COLUMNS.split(','))}, digest from rows"
                f" left join files on files.path = rows.path where rid in ({lay.marks(len(page))}) {where}"
            )
            found += cursor.execute(sql, [*(bytes.fromhex(rid) for rid in page), *values])
        holders = told.holders(self._db, [(row["path"], row["ordinal"]) for row in found], view)
        cited = (
            lay.cited_row(row, chunk, holders.get((row["path"], row["ordinal"]), ())) for row, chunk in lay.sound(found)
        )
        return sorted(cited, key=lambda row: (row.source, row.ordinal))

    def snapshots(self) -> Sequence[str]:
        """The files of all dated series, by path."""
        return told.read_snapshots(self._db)

    def series(self, path: str) -> Sequence[tuple[str, Sequence[Chunk]]]:
        """The files of the path's series in its order, each with its passages; none where it is in none."""
        files = series_of(told.read_snapshots(self._db), least=1)
        inside = next((some for some in files.values() if path in some), ())
        return [(each, [chunk for _, chunk in lay.stored_chunks(self._db, each)]) for each in inside]

    def _in_view(self, view: View, *, repeats: bool = False) -> tuple[str, list[str]]:
        """A condition on rows, with its values; `repeats`: also those for which another row stands."""
        where, values = lay.of_class(view.doc_class)
        if not view.retired:
            where = f"{where} and {told.IN_USE}"
        if view.as_of is not None:
            hidden = hidden_on(view.as_of, told.read_snapshots(self._db, retired=view.retired))
            return f"{where} and rows.path not in (select value from json_each(?))", [*values, json.dumps([*hidden])]
        return (where if repeats else f"{where} and {told.SHOWN}"), values

    def document(self, path: str) -> tuple[Entry, Sequence[Chunk]] | None:
        """What the index holds of one path: its entry, and its passages in order; None for a path it does not know."""
        if (entry := lay.read_entries(self._db, path).get(path)) is None:
            return None
        return entry, [chunk for _, chunk in lay.stored_chunks(self._db, path)]

    def quoted(self, content_hash: str) -> "Sequence[Row]":
        """The rows whose text has this content hash, by path and ordinal."""
        from rag_mcp.pure import citations

        def hash_of(stored: str | bytes) -> str | None:
            try:
                return citations.content_hash(lay.unpacked(stored))
            except RecordDamaged:
                return None  # it says nothing that could have been quoted

        self._db.create_function("hash_of", 1, hash_of, deterministic=True)
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        sql = (
            "select rows.*, digest from rows left join files on files.path = rows.path"
            " where rid is not null and hash_of(rows.text) = ? order by rows.path, ordinal"
        )
        return [lay.cited_row(row, chunk) for row, chunk in lay.sound(cursor.execute(sql, [content_hash]))]

    def vectors(self, rids: Sequence[str] | None) -> Iterator[tuple[str, bytes]]:
        """(rid, vector) of these rids, in any order, or of all that rows name, by rid; unknown ones are left out."""
        if rids is not None:
            return lay.read_vectors(self._db, rids)
        sql = "select rid, vector from vectors v where exists (select 1 from rows r where r.rid = v.rid) order by rid"
        return ((rid.hex(), vector) for rid, vector in self._db.execute(sql))
