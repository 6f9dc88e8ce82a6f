"""What planning asks of a record, the same for the writer and for a reader's snapshot."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence

from rag_mcp.adapters.record import repeats
from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.pointers import read_pointer
from rag_mcp.adapters.record.schema import WORDS_SINCE, translated
from rag_mcp.effects.ports import ignored
from rag_mcp.effects.record import Pointer, RecordAudit, Statistics
from rag_mcp.pure.coverage import Uncovered, coverage
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.identity import Choices, EmbedderIdentity
from rag_mcp.pure.manifest import Belief, IndexSeen, RowsSeen
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.snapshots import Place, Same
from rag_mcp.pure.vectors import rid


class PlanningReads:
    """Implements `effects.record.Known` over a connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def pointer(self) -> Pointer | None:
        """What is current, or None before the first commit."""
        with translated():
            return read_pointer(self._db)

    def belief(self) -> Belief:
        """Manifest, evidence of rows, vectors and keywords, and what the pointer says of the index."""
        with translated():
            return _belief(self._db)

    def known(self, embedder: EmbedderIdentity, keys: Iterable[str]) -> frozenset[str]:
        """The content keys that have a cached vector of this embedder."""
        found: set[str] = set()
        with translated():
            number = embedder_number(self._db, embedder)
            for page in lay.pages(keys):
                sql = (
                    "select key from contents c where embedder = ? and exists (select 1 from vectors v where"
                    f" v.rid = c.rid) and key in ({lay.marks(len(page))})"
                )
                found.update(key.hex() for (key,) in self._db.execute(sql, [number, *map(bytes.fromhex, page)]))
        return frozenset(found)

    def keys_of(self, paths: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The content keys of the stored rows of each path, in order."""
        sql = "select key from rows where path = ? order by ordinal"
        with translated():
            return {path: tuple(key.hex() for (key,) in self._db.execute(sql, [path])) for path in paths}

    def passages(self, paths: Sequence[str]) -> Mapping[str, Sequence[Same]]:
        """What the stored rows of each path must share with their repeats, in order."""
        with translated():
            return repeats.read_passages(self._db, paths)

    def repeats(self) -> Mapping[Place, Place]:
        """Each repeat -> its survivor, as they were told last."""
        with translated():
            return repeats.read_repeats(self._db)

    def canary(self) -> tuple[str, bytes] | None:
        """What the embedder was given for a stored passage, and its vector: the first of which both are sure."""
        from rag_mcp.pure.chunking import content_key, embedded_text

        sql = "select rows.*, vector from rows join vectors on vectors.rid = rows.rid order by rows.id"
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        with translated():
            pointer = read_pointer(self._db)
            for row, chunk in lay.sound(cursor.execute(sql) if pointer else ()):
                date = own_date(row["path"])
                sound = pointer is not None and rid(pointer.embedder.fingerprint, row["vector"]) == row["rid"].hex()
                if sound and content_key(chunk, date) == chunk.key:
                    return embedded_text(chunk, date), row["vector"]
        return None

    def audit(self, advance: Callable[[int], None] = ignored) -> RecordAudit:
        """Read all of the record and say what is not what it was."""
        from rag_mcp.adapters.record.audit import audit

        with translated():
            pointer = read_pointer(self._db)
            return audit(self._db, pointer.embedder if pointer else None, advance)

    def statistics(self, advance: Callable[[int], None] = ignored) -> Statistics:
        """Count what is there."""

        def counted(sql: str) -> int:
            number = int(self._db.execute(f"select count({sql}").fetchone()[0])
            advance(1)
            return number

        with translated():
            files, passages = counted("*) from files"), counted(f"*) from rows where {repeats.SHOWN}")
            contents, cached = counted("distinct key) from rows"), counted("*) from vectors")
            deduped = counted("*) from repeats")
            retired = counted(f"*) from rows where not {repeats.IN_USE} and {repeats.SHOWN}")
            sql = f"select doc_class, count(*) from rows where {repeats.SHOWN} group by doc_class"
            classes = dict(self._db.execute(sql).fetchall())
            advance(1)
        return Statistics(files, passages, contents, cached, deduped, retired, classes)

    def unseen(self) -> tuple[Uncovered, ...]:
        """What the last run could not have, or left out."""
        with translated():
            return lay.read_unseen(self._db)

    def choices(self) -> Choices:
        """What was chosen for the store."""
        with translated():
            return lay.read_choices(self._db)

    def revision(self) -> Revision | None:
        """What the corpus was at when the last run looked at it."""
        with translated():
            return lay.read_revision(self._db)

    def coverage(self) -> tuple[Uncovered, ...]:
        """Everything that is not wholly searchable, and why."""
        lacking = (
            "select path, passages, warnings, lifecycle from files"
            " where passages = 0 or warnings <> '[]' or lifecycle <> 'current'"
        )
        with translated():
            entries = self._db.execute(lacking).fetchall()
        held = ((path, count, lay.read_warnings(stored), lifecycle) for path, count, stored, lifecycle in entries)
        return coverage(self.unseen(), held)


def embedder_number(db: sqlite3.Connection, embedder: EmbedderIdentity) -> int:
    """The number that stands for an embedder in `contents`; 0, which no row has, where it is unknown."""
    row = db.execute("select id from embedders where fingerprint = ?", [embedder.fingerprint]).fetchone()
    return int(row[0]) if row else 0


def _belief(db: sqlite3.Connection) -> Belief:
    pointer = read_pointer(db)
    evidence = db.execute("select path, count(*), sum(mark) from rows group by path")
    rows = {path: RowsSeen(count, mark) for path, count, mark in evidence}
    vectorless = db.execute(
        "select path from rows where rid is null or not exists (select 1 from vectors v where v.rid = rows.rid)"
    )
    (vectors,) = db.execute("select count(*) from (select distinct rid from rows where rid is not null)").fetchone()
    (wordless,) = db.execute("select count(*) from rows where id not in (select id from keywords_docsize)").fetchone()
    (version,) = db.execute("pragma user_version").fetchone()
    (indexed,) = db.execute("select count(*) from keywords_docsize").fetchone()
    return Belief(
        generation=pointer.generation if pointer else 0,
        root=pointer.root if pointer else None,
        fingerprint=pointer.embedder.fingerprint if pointer else None,
        entries=lay.read_entries(db),
        rows=rows,
        vectorless=frozenset(path for (path,) in vectorless),
        keywords_sound=version >= WORDS_SINCE and sum(s.count for s in rows.values()) == indexed and not wordless,
        grouped=repeats.read_grouped(db),
        index=IndexSeen(
            folder=pointer.indexed.folder if pointer else None,
            expected=pointer.indexed.evidence if pointer else None,
            vectors=vectors,
            built_of=pointer.vectors if pointer else 0,
        ),
    )
