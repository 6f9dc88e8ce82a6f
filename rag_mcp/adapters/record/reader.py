"""The reader's record: consistent snapshots, nothing created, nothing written."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.queries import PlanningReads
from rag_mcp.adapters.record.schema import FILE_NAME, connect_reader, translated

if TYPE_CHECKING:
    from rag_mcp.pure.citations import Row


class SqliteReader:
    """One store's record, open for reading; a connection for each thread.

    A record file that was replaced or removed under an open connection is noticed at the next snapshot.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def snapshot(self) -> Iterator["SqliteSnapshot"]:
        """A consistent view; raises FileNotFoundError when there is no record."""
        db = self._connection()
        with translated():
            db.execute("begin")
            try:
                yield SqliteSnapshot(db)
            finally:
                if db.in_transaction:
                    db.execute("rollback")

    def close(self) -> None:
        """Close every thread's connection; idempotent."""
        with self._lock:
            for db in self._all:
                db.close()
            self._all.clear()
            self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        inode = (self._folder / FILE_NAME).stat().st_ino
        held = getattr(self._local, "held", None)
        if held is not None and held[1] == inode:
            return held[0]  # type: ignore[no-any-return]
        db = connect_reader(self._folder)
        with self._lock:
            if held is not None:
                held[0].close()
                self._all.remove(held[0])
            self._all.append(db)
        self._local.held = (db, inode)
        return db


class SqliteSnapshot(PlanningReads):
    """One request's view. Implements `effects.record.Snapshot`."""

    def passing(self, doc_class: str | None) -> int:
        """Number of distinct vectors with a row of the class (None: any)."""
        where, values = ("", []) if doc_class is None else ("where doc_class = ?", [doc_class])
        return int(self._db.execute(f"select count(distinct rid) from rows {where}", values).fetchone()[0])

    def passing_rids(self, doc_class: str | None) -> Sequence[str]:
        """The distinct vectors with a row of the class (None: any), sorted."""
        where, values = ("", []) if doc_class is None else ("and doc_class = ?", [doc_class])
        sql = f"select distinct rid from rows where rid is not null {where} order by rid"
        return [rid.hex() for (rid,) in self._db.execute(sql, values)]

    def rows(self, rids: Sequence[str], doc_class: str | None) -> "Sequence[Row]":
        """The rows of the class that name these vectors, by path and ordinal."""
        found: list[Row] = []
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        for page in lay.pages(rids):
            sql = (
                f"select {', '.join('rows.' + c.strip() for c in lay.ROW_COLUMNS.split(','))}, digest from rows"
                f" left join files on files.path = rows.path where rid in ({lay.marks(len(page))})"
            )
            found.extend(map(lay.cited_row, cursor.execute(sql, [bytes.fromhex(rid) for rid in page])))
        passing = (row for row in found if doc_class is None or row.doc_class == doc_class)
        return sorted(passing, key=lambda row: (row.source, row.ordinal))

    def vectors(self, rids: Sequence[str] | None) -> Sequence[tuple[str, bytes]]:
        """(rid, vector) of these rids, or of all that rows name, by rid; unknown ones are left out."""
        if rids is not None:
            return list(lay.read_vectors(self._db, rids))
        sql = "select rid, vector from vectors v where exists (select 1 from rows r where r.rid = v.rid) order by rid"
        return [(rid.hex(), vector) for rid, vector in self._db.execute(sql)]
