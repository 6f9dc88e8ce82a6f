"""What searching needs of the world, and what a reader that lives longer than one search keeps of a commit."""

import threading
from collections.abc import Sequence

from attrs import define, field, frozen

from rag_mcp.effects.ports import Corpus, Embedder, Exact, OpenIndex, Scan, VectorIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.view import EVERYTHING, View

VIEWS = 8
"""Views of which a long-lived reader keeps the vectors: the classes, and some dates."""


def generation_of(pointer: Pointer) -> tuple[str | None, str | None]:
    """What tells a generation from any other: no two of equal evidence hold other vectors."""
    return pointer.indexed.folder, pointer.indexed.evidence


@define(repr=False)
class Held(Shown):
    """What a long-lived reader keeps for one commit: an open index; of some views the rids, and scans of vectors."""

    token: str | None = None
    generation: tuple[str | None, str | None] = None, None
    opened: OpenIndex | None = None
    refused: str | None = None
    tail: Exact | None = None
    passing: dict[View, Sequence[str]] = field(factory=dict)
    scans: dict[View, Exact] = field(factory=dict)
    proven: bool = False
    lock: threading.RLock = field(factory=threading.RLock)

    def turn_to(self, pointer: Pointer | None) -> None:
        """Drop what belongs to another commit; a generation stays open while commits name it."""
        token = pointer.token if pointer else None
        named = generation_of(pointer) if pointer else (None, None)
        with self.lock:
            if self.token == token:
                return
            if self.generation != named:
                if self.opened:
                    self.opened.close()
                self.generation, self.opened = named, None
            self.token, self.refused, self.proven, self.tail = token, None, False, None
            self.passing, self.scans = {}, {}

    def broke(self, opened: OpenIndex, why: str) -> None:
        """Let go of an index that failed; it is opened again for the next commit."""
        with self.lock:
            if self.opened is opened:
                self.opened, self.refused = None, why
                opened.close()


@frozen(repr=False)
class Desk(Shown):
    """What searching needs of the world. `prove`: embed one stored passage again before a commit is first searched."""

    corpus: Corpus
    index: VectorIndex
    embedder: Embedder
    scan: Scan
    policy: SearchPolicy
    store: str
    held: Held = field(factory=Held)
    prove: bool = False

    def passing(self, snapshot: Snapshot, pointer: Pointer, view: View) -> Sequence[str] | None:
        """The vectors with a row in the view; None where that is everything."""
        if view == EVERYTHING:
            return None
        held = self.held
        with held.lock:
            kept = held.passing if held.token == pointer.token else {}
            if view not in kept:
                if len(kept) >= VIEWS:
                    kept.clear()
                kept[view] = snapshot.passing_rids(view)
            return kept[view]

    def scan_of(self, snapshot: Snapshot, pointer: Pointer, view: View) -> Exact:
        """A scan that holds the vectors of a view at least, kept while the commit is the current one.

        A view of few vectors has a scan of its own, so that of a million no more are read than are asked; any other is
        served by the one of everything.
        """
        passing = self.passing(snapshot, pointer, view)
        few = passing is not None and len(passing) <= self.policy.exact_up_to
        held, place = self.held, view if few else EVERYTHING
        with held.lock:
            kept = held.scans if held.token == pointer.token else {}
            if (scan := kept.get(EVERYTHING) or kept.get(place)) is None:
                scan = self.scan(snapshot.vectors(passing if few else None))
                if len(kept) >= VIEWS or place == EVERYTHING:
                    kept.clear()
                kept[place] = scan
            return scan

    def tail_of(self, snapshot: Snapshot, pointer: Pointer) -> Exact:
        """A scan of what came since the generation was made, kept while the commit is the current one."""
        held = self.held
        with held.lock:
            if held.token == pointer.token and held.tail is not None:
                return held.tail
            scan = self.scan(snapshot.vectors(sorted(pointer.indexed.tail.came)))
            if held.token == pointer.token:
                held.tail = scan
            return scan
