"""What searching needs of the world, and what a reader that lives longer than one search keeps of a commit."""

import threading
from collections.abc import Sequence

from attrs import define, field, frozen

from rag_mcp.effects.ports import Corpus, Embedder, Exact, OpenIndex, Scan, VectorIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.view import View

VIEWS = 8
"""Views of which a long-lived reader keeps the vectors: the classes, and some dates."""


@define
class Held:
    """What a long-lived reader keeps for one commit: an open index, all vectors in memory, those of some views."""

    token: str | None = None
    opened: OpenIndex | None = None
    refused: str | None = None
    exact: Exact | None = None
    passing: dict[View, Sequence[str]] = field(factory=dict)
    proven: bool = False
    lock: threading.RLock = field(factory=threading.RLock)

    def turn_to(self, token: str | None) -> None:
        """Drop what belongs to another commit."""
        with self.lock:
            if self.token != token:
                if self.opened:
                    self.opened.close()
                self.token, self.opened, self.refused, self.exact, self.passing = token, None, None, None, {}
                self.proven = False


@frozen
class Desk:
    """What searching needs of the world. `prove`: embed one stored passage again before a commit is first searched."""

    corpus: Corpus
    index: VectorIndex
    embedder: Embedder
    scan: Scan
    policy: SearchPolicy
    store: str
    held: Held = field(factory=Held)
    prove: bool = False

    def all_vectors(self, snapshot: Snapshot, pointer: Pointer) -> Exact:
        """The exact scan of all vectors, kept for as long as the commit is the current one."""
        held = self.held
        with held.lock:
            exact = held.exact if held.token == pointer.token else None
            if exact is None:
                exact = self.scan(snapshot.vectors(None))
                if held.token == pointer.token:
                    held.exact = exact
            return exact
