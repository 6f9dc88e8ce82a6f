"""The writer's record: belief out, cached vectors and commits in."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import asdict

from rag_mcp.adapters.record import repeats as told
from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.pointers import pointer_values
from rag_mcp.adapters.record.queries import PlanningReads, embedder_number
from rag_mcp.adapters.record.schema import CHOICES, COVERAGE, REVISION, connect_writer, packs, translated
from rag_mcp.effects.record import Changed, Pointer, RecordDamaged
from rag_mcp.pure.coverage import Uncovered
from rag_mcp.pure.identity import Choices, EmbedderIdentity
from rag_mcp.pure.manifest import Entry, Grouped, RowsSeen
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.snapshots import Place, Same
from rag_mcp.pure.values import Chunk, Document


class SqliteRecord(PlanningReads):
    """The record in one folder, open for writing. Implements `effects.record.Record`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(connect_writer(folder))

    def chunks_of(self, path: str) -> tuple[Chunk, ...]:
        """The stored rows of a path as chunks, in order."""
        with translated():
            return tuple(chunk for _, chunk in lay.stored_chunks(self._db, path))

    def cache(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Store (content key, rid, vector) durably, at once."""
        with translated(), transaction(self._db):
            number = number_for(self._db, embedder)
            (serial,) = self._db.execute("select coalesce(max(serial), 0) + 1 from contents").fetchone()
            rids = [(bytes.fromhex(rid), vector) for _, rid, vector in vectors]
            self._db.executemany("insert or replace into vectors(rid, vector) values (?, ?)", rids)
            self._db.executemany(
                "insert or replace into contents(embedder, key, rid, serial) values (?, ?, ?, ?)",
                [(number, bytes.fromhex(key), bytes.fromhex(rid), serial) for key, rid, _ in vectors],
            )

    def rows_count(self) -> int:
        """Number of stored rows that repeat none."""
        sql = "select (select count(*) from rows) - (select count(*) from repeats)"
        with translated():
            return int(self._db.execute(sql).fetchone()[0])

    def repeats_count(self) -> int:
        """Number of stored rows that are not shown, since they repeat another."""
        with translated():
            return int(self._db.execute("select count(*) from repeats").fetchone()[0])

    @contextmanager
    def commit(self) -> Iterator["SqliteCommit"]:
        """One transaction; rolled back when the block raises."""
        with translated(), transaction(self._db):
            yield SqliteCommit(self._db)

    def close(self) -> None:
        """Close; idempotent."""
        self._db.close()


class SqliteCommit:
    """An open transaction. Implements `effects.record.Commit`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._words_unknown = False
        self._named: frozenset[str] | None = None
        self._touched: set[bytes] = set()
        self._packs = packs(db)

    def rids(self) -> frozenset[str]:
        """The distinct vectors that the rows name and the cache holds."""
        if self._named is None:
            self._named = self._in_use("true")
        else:  # those alone that a row named, or names, which was touched since they were counted
            for page in lay.pages(self._touched):
                still = self._in_use(f"rid in ({lay.marks(len(page))})", page)
                self._named = (self._named - {rid.hex() for rid in page}) | still
        self._touched.clear()
        return self._named

    def _in_use(self, where: str, values: Sequence[bytes] = ()) -> frozenset[str]:
        named = "exists (select 1 from rows r where r.rid = v.rid)"
        sql = f"select lower(coalesce(group_concat(hex(rid), ''), '')) from vectors v where {where} and {named}"
        (told,) = self._db.execute(sql, values).fetchone()
        return frozenset(told[at : at + 32] for at in range(0, len(told), 32))

    def replace(self, document: Document, entry: Entry) -> Changed:
        """Put the document's rows, keywords and entry in place of what is stored under its path."""
        before = self._take_out(document.path)
        for chunk in document.chunks:
            columns = lay.row_values(document.path, chunk, document.doc_class, document.lifecycle, pack=self._packs)
            sql = f"insert into rows({lay.ROW_COLUMNS}) values ({lay.marks(len(columns))})"
            row_id = self._db.execute(sql, columns).lastrowid
            self._put_keywords(int(row_id or 0), document.title, chunk)
        values = lay.entry_values(entry)
        self._db.execute(f"insert or replace into files values ({lay.marks(len(values))})", values)
        after = Counter(chunk.key for chunk in document.chunks)
        kept = (before & after).total()
        return Changed(after.total() - kept, before.total() - kept, kept)

    def remove(self, path: str) -> Changed:
        """Remove all that is stored under a path."""
        before = self._take_out(path)
        self._db.execute("delete from files where path = ?", [path])
        return Changed(0, before.total(), 0)

    def name_vectors(self, embedder: EmbedderIdentity, paths: Iterable[str] | None) -> None:
        """Let rows name the cached vectors of their content."""
        number = embedder_number(self._db, embedder)
        sql = "update rows set rid = (select rid from contents c where c.embedder = ? and c.key = rows.key)"
        if paths is None:
            self._named = None
            self._db.execute(sql, [number])
            orphans = self._db.execute("select distinct path from rows where rid is null").fetchall()
        else:
            named = [(path,) for path in paths]
            for path in named:
                self._touch(path)
            self._db.executemany(f"{sql} where path = ?", [(number, *path) for path in named])
            for path in named:
                self._touch(path)
            orphan = "select path from rows where path = ? and rid is null limit 1"
            orphans = [path for path in named if self._db.execute(orphan, path).fetchone()]
        if orphans:
            raise AssertionError(f"{orphans} would be left without a vector")

    def vectors(self, rids: Sequence[str]) -> Mapping[str, bytes]:
        """Vectors from the cache, as far as they are there."""
        return dict(lay.read_vectors(self._db, rids))

    def refill_keywords(self) -> None:
        """Build the keyword index anew from the rows; a file with a damaged row is done again by the next ingest."""
        self._words_unknown = False
        self._db.execute("insert into keywords(keywords) values ('delete-all')")
        titles = dict(self._db.execute("select path, title from files").fetchall())
        for (path,) in self._db.execute("select distinct path from rows").fetchall():
            try:
                for row_id, chunk in lay.stored_chunks(self._db, path):
                    self._put_keywords(row_id, titles.get(path), chunk)
            except RecordDamaged:
                self.distrust([path], [])

    def evidence(self) -> Mapping[str, RowsSeen]:
        """Number and marks of the rows of every known file."""
        return told.read_evidence(self._db)

    def grouped(self) -> Grouped:
        """By what repeats were told."""
        return told.read_grouped(self._db)

    def passages(self, paths: Sequence[str]) -> Mapping[str, Sequence[Same]]:
        """What the rows of each path must share with their repeats, in order."""
        return told.read_passages(self._db, paths)

    def relate(self, repeats: Mapping[Place, Place], snapshots: Sequence[str], grouped: Grouped) -> int:
        """Put all repeats, and the files of all series, in place of what is stored; how many repeats there were."""
        return told.write_repeats(self._db, repeats, snapshots, grouped)

    def point(self, pointer: Pointer) -> None:
        """Make this the current pointer; fill the keyword index again where words could not be taken out."""
        if self._words_unknown:
            self.refill_keywords()
        values = pointer_values(pointer)
        self._db.execute(f"insert or replace into pointer values ({lay.marks(len(values))})", values)

    def cover(self, unseen: Sequence[Uncovered]) -> None:
        """Note down what this run could not have, where it is not what an earlier one could not have."""
        if lay.read_unseen(self._db) != tuple(unseen):
            self._db.execute(COVERAGE)
            self._db.execute("insert or replace into coverage values (1, ?)", [lay.unseen_value(unseen)])

    def choose(self, choices: Choices) -> None:
        """Keep what was chosen, where it is not what is kept."""
        if lay.read_choices(self._db) != choices:
            self._db.execute(CHOICES)
            self._db.execute("insert or replace into choices values (1, ?)", [lay.choices_value(choices)])

    def stamp(self, revision: Revision) -> None:
        """Keep what the corpus is at, where it is not what is kept."""
        if lay.read_revision(self._db) != revision:
            self._db.execute(REVISION)
            self._db.execute("insert or replace into revision values (1, ?)", [lay.revision_value(revision)])

    def distrust(self, paths: Iterable[str], rids: Iterable[str]) -> None:
        """Let the next ingest do these files, and these vectors, again."""
        self._named = None
        self._db.executemany("update files set recipe = '' where path = ?", [(path,) for path in paths])
        self._db.executemany("delete from vectors where rid = ?", [(bytes.fromhex(rid),) for rid in rids])

    def trim(self, keep: int) -> None:
        """Drop cached contents that no row needs, beyond `keep` of them, oldest first; then unused vectors."""
        (cached,) = self._db.execute("select count(*) from contents").fetchone()
        if cached - len(self.rids()) <= keep:  # as many are in use at least
            return
        idle = self._db.execute(
            "select embedder, key from contents c where not exists (select 1 from rows r where r.rid = c.rid)"
            " order by serial desc limit -1 offset ?",
            [keep],
        ).fetchall()
        self._db.executemany("delete from contents where embedder = ? and key = ?", idle)
        if idle:
            self._db.execute(
                "delete from vectors where not exists (select 1 from contents c where c.rid = vectors.rid)"
                " and not exists (select 1 from rows r where r.rid = vectors.rid)"
            )

    def _touch(self, path: tuple[str]) -> None:
        if self._named is not None:
            named = self._db.execute("select rid from rows where path = ? and rid is not null", path)
            self._touched.update(rid for (rid,) in named)

    def _take_out(self, path: str) -> Counter[str]:
        self._touch((path,))
        keys = Counter(key.hex() for (key,) in self._db.execute("select key from rows where path = ?", [path]))
        if not self._took_out_words(path):
            self._words_unknown = True
        self._db.execute("delete from rows where path = ?", [path])
        return keys

    def _took_out_words(self, path: str) -> bool:
        """Whether the words that were put in for a path can still be told, title and texts; then they are taken out."""
        entry = self._db.execute("select title from files where path = ?", [path]).fetchone()
        try:
            gone = lay.stored_chunks(self._db, path)
        except RecordDamaged:
            return False
        if entry:
            self._db.executemany(
                "insert into keywords(keywords, rowid, title, headings, body) values ('delete', ?, ?, ?, ?)",
                [lay.keyword_values(row_id, entry[0], chunk) for row_id, chunk in gone],
            )
        return bool(entry) or not gone

    def _put_keywords(self, row_id: int, title: str | None, chunk: Chunk) -> None:
        self._db.execute(
            "insert into keywords(rowid, title, headings, body) values (?, ?, ?, ?)",
            lay.keyword_values(row_id, title, chunk),
        )


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE to COMMIT; ROLLBACK when the block raises, killed or not."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


def number_for(db: sqlite3.Connection, embedder: EmbedderIdentity) -> int:
    """The number that stands for an embedder in `contents`, given to it now if need be."""
    if number := embedder_number(db, embedder):
        return number
    identity = json.dumps(asdict(embedder))
    made = db.execute("insert into embedders(fingerprint, identity) values (?, ?)", [embedder.fingerprint, identity])
    return int(made.lastrowid or 0)
