"""What the shell needs of the world. Adapters implement these; tests and users may as well.

A vector crosses these borders as bytes: `dim` little-endian float32 numbers of Euclidean norm 1. A `rid`
is the 32-hex-digit name of one distinct vector. Ports do not raise for what a user's disk may do to them:
they return `Failure(sentence or value)`. What they do raise is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # a command that only shows a bar does without
    from returns.result import Result

    from rag_mcp.pure.identity import EmbedderIdentity
    from rag_mcp.pure.values import Listing, NotTaken, Taken, Unreadable

Checkpoint = Callable[[str], None]
"""Called with the name of the effect that is about to be, or was just, done. Tests pull the plug here."""


class Progress(Protocol):
    """Tells a person how long work goes on."""

    def task(
        self, name: str, total: int, items: int | None = None, unit: str = "files"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Begin a task of `total` units (for `items` things to show); call what it gives with units done."""


def ignored(units: int) -> None:
    """Progress that nobody waits for."""


class Silence:
    """Progress that is shown to nobody."""

    @contextmanager
    def task(
        self, name: str, total: int, items: int | None = None, unit: str = "files"
    ) -> Iterator[Callable[[int], None]]:
        """Begin a task."""
        del name, total, items, unit
        yield ignored


class Corpus(Protocol):
    """A folder of documents."""

    @property
    def root(self) -> str:
        """Absolute path of the folder, links resolved."""

    def look(self) -> Listing:
        """Walk, read and hash. What is amiss is in the listing; a missing root is a gap at ""."""

    def read(self, path: str) -> Result[bytes, Unreadable]:
        """The bytes of one file, by the rules of `look`: a regular file below the root, links refused."""

    def take(self, path: str) -> Result[Taken, NotTaken]:
        """One file as `read`, at the place where its path led when it was indexed: no link from the very top on."""

    def escapes(self, path: str) -> bool:
        """True when the path is not inside the root: by its form, or through a link on the way."""


class IndexBroken(Exception):
    """An open index failed while it was asked; the sentence says how. The caller scans exactly instead."""


class EmbedderFault(Exception):
    """An embedder could not be loaded or could not run; its text is a clause that says what, where and why.

    `place`, where one text is to blame: its place among those that were given.
    """

    def __init__(self, clause: str, *, place: int | None = None) -> None:
        super().__init__(clause)
        self.place = place


class Embedder(Protocol):
    """Turns texts into vectors. Loads its files at the first `measure` (tokenizer) and `embed` (weights)."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Known without loading anything heavy."""

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """Token counts of texts, special tokens not included."""

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector for each document text, in order; the document prefix is put in front here."""

    def embed_query(self, text: str) -> bytes:
        """The vector of a question; the query prefix is put in front here."""


@runtime_checkable
class Parallel(Protocol):
    """What an embedder is besides, when it can embed beside the caller's own work."""

    @property
    def at_once(self) -> int:
        """Batches that it embeds side by side."""

    def warm(self, question: str | None = None, *, few: bool = True) -> None:
        """Load, in the background, what embedding needs, and embed the question that will be asked.

        `few`: no more than a handful of texts may be coming. What goes wrong is for `embed` and `embed_query` to say.
        """


@runtime_checkable
class Unsure(Protocol):
    """What an embedder is besides, when what it embeds with is not in this process's hands."""

    @property
    def warning(self) -> str | None:
        """What to say before texts leave this machine; None where they stay."""

    def confirm(self) -> None:
        """Make sure that `identity` is what would embed now. Raises EmbedderFault."""

    def close(self) -> None:
        """Let connections go; the next use makes others. Idempotent."""


class OpenIndex(Protocol):
    """One generation, open for reading; safe to use from several threads."""

    def query(self, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        """Up to n (rid, cosine similarity), best first."""

    def close(self) -> None:
        """Release files, memory and lease; idempotent."""


Vectors = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Gives the vectors of rids, as far as it has them; a few at a time are asked for, since all may not fit in memory."""


class VectorIndex(Protocol):
    """A tree of immutable generations, each a folder named `gen-NNNNNN`; derived, hence disposable."""

    def evidence(self, folder: str) -> str | None:
        """A fingerprint of a finished generation in about a millisecond, without numpy or a vendor.

        None when it is missing or unreadable. Reading does not change it; a foreign write or a changed file
        size does. Creates nothing.
        """

    def slots(self, folder: str) -> int:
        """Places the generation holds, deleted ones included; 0 when it cannot be told."""

    def preflight(self, folder: str, want: Iterable[str], vectors: Vectors | None) -> str | None:
        """Why a finished generation is unfit, or None. Loads no native vendor code.

        It must hold just the rids of `want`, and of those that `vectors` has these very vectors.
        """

    def write(
        self,
        base: str | None,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Vectors,
        want: Sequence[str],
        checkpoint: Checkpoint,
    ) -> Result[str, str]:
        """Build generation `number`: the folder's name, or why it could not be. `vectors` has those of all of `want`.

        Clone `base` (or start empty), drop `gone`, add `new`, flush, close, check the whole against `want` and
        `vectors`, sync, rename. A base that is not what it should be is a Failure.

        Checkpoints: "cloned", "written", "flushed", "synced", "renamed".
        """

    def next_number(self) -> int:
        """One more than the greatest number any folder in the tree carries, unfinished ones included."""

    def collect(self, keep: Sequence[str]) -> None:
        """Remove unfinished folders, and every generation not in `keep` that no reader holds."""

    def open(self, folder: str, evidence: str) -> Result[OpenIndex, str]:
        """Open for reading if the evidence still agrees."""

    def close(self) -> None:
        """Remove what reading made outside the tree; idempotent."""


class Exact(Protocol):
    """All vectors of one snapshot in memory, scanned without approximation."""

    def query(self, vector: bytes, n: int, allowed: Iterable[str] | None = None) -> Sequence[tuple[str, float]]:
        """Up to n (rid, cosine similarity), best first; ties by rid. `allowed` confines the scan."""


Scan = Callable[[Iterable[tuple[str, bytes]]], Exact]
"""Makes an exact index of (rid, vector) pairs."""
