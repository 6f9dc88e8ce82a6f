"""What an open index keeps between calls: its parts, a reader of the record, the desk where searches are carried out.

It follows the store: made anew by another embedder, or put in another's place, it is worked with as it is now.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rag_mcp.adapters import wiring
from rag_mcp.effects.boundary import Refused, store_faults
from rag_mcp.effects.ports import Unsure

if TYPE_CHECKING:  # an ingest that finds nothing to do is quick
    from rag_mcp.adapters.record.reader import SqliteReader, SqliteSnapshot
    from rag_mcp.effects.desk import Desk
    from rag_mcp.effects.record import Pointer
    from rag_mcp.pure.stages import SearchPolicy


class Session:
    """One corpus and its store. Cheap to make; safe to search from several threads."""

    def __init__(self, parts: wiring.Parts, policy: "SearchPolicy | None" = None) -> None:
        self._parts = parts
        self._desk: Desk | None = None
        self._turn = threading.Lock()
        self._policy = policy

    @property
    def parts(self) -> wiring.Parts:
        """What it works with now."""
        return self._parts

    @property
    def reader(self) -> "SqliteReader":
        """The record, for reading."""
        return self._parts.reader()

    @property
    def store(self) -> Path:
        """The store's folder."""
        return self._parts.folder

    def follow(self, pointer: "Pointer | None") -> None:
        """Go on with the embedder that the store was made by since, where none was named: never back to another."""
        with self._turn:
            if not wiring.follows(self._parts, pointer):
                self._parts = wiring.reassembled(self._parts, pointer)
                self._leave_desk()

    def close(self) -> None:
        """Release files and memory; idempotent."""
        self._leave_desk()
        self._parts.index.close()
        if isinstance(self._parts.embedder, Unsure):
            self._parts.embedder.close()

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Close."""
        self.close()

    @contextmanager
    def _snapshot(self) -> "Iterator[SqliteSnapshot]":
        """The record as it is now; what goes wrong with it meanwhile is a refusal."""
        with store_faults(str(self.store)), self.reader.snapshot() as snapshot:
            yield snapshot

    def _leave_desk(self) -> None:
        if self._desk is not None:
            self._desk.held.turn_to(None)
            self._desk = None

    def _at_desk(self, snapshot: "SqliteSnapshot") -> "Desk":
        """Where searches are carried out; made anew when the store was made anew by another embedder."""
        from rag_mcp.effects.desk import Desk
        from rag_mcp.pure.stages import SearchPolicy

        with self._turn:
            pointer = snapshot.pointer()
            if self._desk is not None and wiring.follows(self._parts, pointer):
                return self._desk
            parts = self._parts = wiring.reassembled(self._parts, pointer)
            if parts.corpus is None:
                from rag_mcp.pure.errors import EmptyStore

                raise Refused(EmptyStore(str(self.store)))
            self._leave_desk()
            self._desk = Desk(
                parts.corpus,
                parts.index,
                parts.embedder,
                wiring.scan,
                self._policy or SearchPolicy(),
                str(self.store),
                prove=parts.untouched,
            )
            return self._desk
