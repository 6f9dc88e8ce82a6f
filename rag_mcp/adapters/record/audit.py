"""The record looked through row by row, to tell whether each is still what it says it is."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rag_mcp.adapters.record import rows as lay
from rag_mcp.effects.record import RecordAudit, RecordDamaged
from rag_mcp.pure.chunking import content_key
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.manifest import row_mark
from rag_mcp.pure.vectors import check, rid

T = TypeVar("T")
TOLD = 1000  # rows between two words about progress


def audit(db: sqlite3.Connection, embedder: EmbedderIdentity | None, advance: Callable[[int], None]) -> RecordAudit:
    """Reads every page, every row and every vector that rows name; one at a time is in memory."""
    faults = [text for (text,) in db.execute("pragma integrity_check(5)") if text != "ok"]
    rows = tuple(bad_rows(db, advance))
    return RecordAudit(tuple(faults), rows, tuple(bad_vectors(db, embedder, advance)) if embedder else ())


def bad_rows(db: sqlite3.Connection, advance: Callable[[int], None]) -> Sequence[str]:
    """Paths with a row whose mark or content key is not that of what it says."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    bad: set[str] = set()
    for row in counted(cursor.execute(f"select {lay.ROW_COLUMNS} from rows"), advance):
        if not _sound(row):
            bad.add(row["path"])
    return sorted(bad)


def _sound(row: sqlite3.Row) -> bool:
    try:
        chunk = lay.chunk_of(row)
    except RecordDamaged:
        return False
    mark = row_mark(row["path"], chunk, row["doc_class"], row["lifecycle"])
    return bool(row["mark"] == mark) and chunk.key == content_key(chunk, own_date(row["path"]))


def bad_vectors(db: sqlite3.Connection, embedder: EmbedderIdentity, advance: Callable[[int], None]) -> Sequence[str]:
    """Rids of vectors in use that are no vectors, or not the ones their names stand for."""
    used = "select rid, vector from vectors v where exists (select 1 from rows r where r.rid = v.rid)"
    bad = []
    for name, vector in counted(db.execute(used), advance):
        sound = check([vector], 1, embedder.dim).value_or(False) is not False
        if not sound or rid(embedder.fingerprint, vector) != name.hex():
            bad.append(name.hex())
    return sorted(bad)


def counted(items: Iterable[T], advance: Callable[[int], None]) -> Iterator[T]:
    """The items; now and then, how many more have gone by."""
    number = 0
    for number, item in enumerate(items, start=1):
        yield item
        if number % TOLD == 0:
            advance(TOLD)
    advance(number % TOLD)
