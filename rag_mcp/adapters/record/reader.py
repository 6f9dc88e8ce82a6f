"""The reader's record: consistent snapshots, nothing created, nothing written.

A connection lives as long as its snapshot. Between two of them nothing is open, so a reader that lives for weeks
keeps no file beside the record, no lock and no memory, and a record that was replaced is simply the one it opens.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.queries import PlanningReads
from rag_mcp.adapters.record.schema import connect_reader, translated
from rag_mcp.pure.words import expression

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


class SqliteSnapshot(PlanningReads):
    """One request's view. Implements `effects.record.Snapshot`."""

    def passing_rids(self, doc_class: str | None) -> Sequence[str]:
        """The distinct vectors with a row of the class (None: any), sorted."""
        where, values = lay.of_class(doc_class)
        sql = f"select distinct rid from rows where rid is not null {where} order by rid"
        return [rid.hex() for (rid,) in self._db.execute(sql, values)]

    def keywords(self, terms: Sequence[str], n: int, doc_class: str | None, common: int) -> Mapping[str, float]:
        """Up to n rids of the class by the words of their rows, best first: BM25, greater is better."""
        telling = [term for term in terms if self._rows_with(term, common + 1) <= common]
        where, values = lay.of_class(doc_class)
        sql = (
            "select rid, -bm25(keywords, 1, 1, 1) as score from keywords join rows on rows.id = keywords.rowid"
            f" where keywords match ? {where} and rid is not null order by score desc, path, ordinal limit ?"
        )
        found: dict[str, float] = {}
        for rid, score in self._db.execute(sql, [expression(telling, terms), *values, n]):
            found.setdefault(rid.hex(), score)
        return found

    def _rows_with(self, term: str, most: int) -> int:
        sql = "select count(*) from (select 1 from keywords where keywords match ? limit ?)"
        return int(self._db.execute(sql, [term, most]).fetchone()[0])

    def rows(self, rids: Sequence[str], doc_class: str | None) -> "Sequence[Row]":
        """The rows of the class that name these vectors, by path and ordinal."""
        found: list[Row] = []
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        where, values = lay.of_class(doc_class)
        for page in lay.pages(rids):
            sql = (
                f"select {', '.join('rows.' + c.strip() for c in lay.ROW_COLUMNS.split(','))}, digest from rows"
                f" left join files on files.path = rows.path where rid in ({lay.marks(len(page))}) {where}"
            )
            found.extend(map(lay.cited_row, cursor.execute(sql, [*(bytes.fromhex(rid) for rid in page), *values])))
        return sorted(found, key=lambda row: (row.source, row.ordinal))

    def canary(self) -> tuple[str, bytes] | None:
        """What the embedder was given for the first stored passage, and the vector it gave."""
        from rag_mcp.pure.chunking import embedded_text

        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        row = cursor.execute(
            "select rows.*, vector from rows join vectors on vectors.rid = rows.rid order by rows.id limit 1"
        ).fetchone()
        return (embedded_text(lay.chunk_of(row)), row["vector"]) if row else None

    def vectors(self, rids: Sequence[str] | None) -> Sequence[tuple[str, bytes]]:
        """(rid, vector) of these rids, or of all that rows name, by rid; unknown ones are left out."""
        if rids is not None:
            return list(lay.read_vectors(self._db, rids))
        sql = "select rid, vector from vectors v where exists (select 1 from rows r where r.rid = v.rid) order by rid"
        return [(rid.hex(), vector) for rid, vector in self._db.execute(sql)]
