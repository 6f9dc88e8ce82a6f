"""The record as the shell sees it: one commit point for manifest, rows, keyword index and index pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen

from rag_mcp.effects.ports import ignored
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.tail import Tail

if TYPE_CHECKING:  # whoever only asks what is current does without
    from rag_mcp.pure.citations import Row
    from rag_mcp.pure.coverage import Uncovered
    from rag_mcp.pure.identity import Choices, EmbedderIdentity
    from rag_mcp.pure.manifest import Belief, Entry, Grouped, RowsSeen
    from rag_mcp.pure.revisions import Revision
    from rag_mcp.pure.snapshots import Place, Same
    from rag_mcp.pure.values import Chunk, Document
    from rag_mcp.pure.view import View


STEPS = 7
"""Of counting what a store holds."""


class RecordDamaged(Exception):
    """The record is not readable as one; the sentence says why. A writer sets it aside and starts anew."""


class RecordForeign(Exception):
    """A file that is no record of this program, or one of a newer version: it is left alone. The sentence says why."""


class RecordUnavailable(Exception):
    """The record cannot be used now (locked, disk full, not permitted); the sentence says why."""


@frozen(repr=False)
class Indexed(Shown):
    """The generation that is asked, by folder and evidence, and what it lacks of the present.

    No folder: there are no vectors. No evidence: what it lacks cannot be told, so it is of no use.
    """

    folder: str | None = None
    evidence: str | None = None
    tail: Tail = field(factory=Tail)


@frozen(repr=False)
class Pointer(Shown):
    """What is current. `generation` counts commits; `vectors` are the distinct ones that the rows name.

    `token` tells two commits of equal number apart, after a store was replaced by a copy of itself.
    """

    generation: int
    token: str
    root: str
    embedder: EmbedderIdentity
    indexed: Indexed
    vectors: int
    finished: str


@frozen(repr=False)
class Changed(Shown):
    """Rows that one file's write or removal added, removed (by content), or only rewrote."""

    added: int
    deleted: int
    rewritten: int


@frozen(repr=False)
class RecordAudit(Shown):
    """What a full reading of the record found: faults of the file, paths with altered rows, altered vectors."""

    faults: tuple[str, ...]
    rows: tuple[str, ...]
    vectors: tuple[str, ...]


@frozen(repr=False)
class Statistics(Shown):
    """What a store holds, counted; `passages` are those that repeat none, `deduped` those that repeat one of them.

    `retired` are those of the passages that stand in superseded documents.
    """

    files: int
    passages: int
    contents: int
    cached: int
    deduped: int
    retired: int
    classes: Mapping[str, int]


class Commit(Protocol):
    """An open transaction: nothing of it is seen by anybody before it ends well."""

    def rids(self) -> frozenset[str]:
        """The distinct vectors that the rows name and the cache holds, as things stand in this transaction."""

    def replace(self, document: Document, entry: Entry) -> Changed:
        """Put the document's rows, keywords and entry in place of what is stored under its path."""

    def remove(self, path: str) -> Changed:
        """Remove all that is stored under a path."""

    def name_vectors(self, embedder: EmbedderIdentity, paths: Iterable[str] | None) -> None:
        """Let the rows of these paths (None: all rows) name the cached vectors of their content."""

    def vectors(self, rids: Sequence[str]) -> Mapping[str, bytes]:
        """Vectors from the cache, as far as they are there."""

    def refill_keywords(self) -> None:
        """Build the keyword index anew from the rows."""

    def evidence(self) -> Mapping[str, RowsSeen]:
        """Number and marks of the rows of every known file, as things stand in this transaction."""

    def grouped(self) -> Grouped:
        """By what repeats in dated series were told last."""

    def passages(self, paths: Sequence[str]) -> Mapping[str, Sequence[Same]]:
        """What the rows of each path must share with their repeats, in order."""

    def relate(self, repeats: Mapping[Place, Place], snapshots: Sequence[str], grouped: Grouped) -> int:
        """Put all repeats, and the files of all series, in place of what is stored; how many repeats there were."""

    def point(self, pointer: Pointer) -> None:
        """Make this the current pointer, and the keyword index whole where words could not be taken out."""

    def cover(self, unseen: Sequence[Uncovered]) -> None:
        """Note down what this run could not have, or left out, in place of what an earlier one did."""

    def choose(self, choices: Choices) -> None:
        """Keep what was chosen for the store, for the runs after this one."""

    def stamp(self, revision: Revision) -> None:
        """Keep what the corpus is at, with the rows that were made of it."""

    def distrust(self, paths: Iterable[str], rids: Iterable[str]) -> None:
        """Let the next ingest do these files, and these vectors, again; nothing that answers is removed."""

    def trim(self, keep: int) -> None:
        """Drop cached contents that no row needs, beyond `keep` of them, oldest first."""


class Known(Protocol):
    """What planning asks of a record; a snapshot for reading answers it as well as the writer's record."""

    def pointer(self) -> Pointer | None:
        """What is current, or None before the first commit."""

    def belief(self) -> Belief:
        """All that the record can say for planning, index evidence excepted."""

    def known(self, embedder: EmbedderIdentity, keys: Iterable[str]) -> frozenset[str]:
        """The content keys that have a cached vector of this embedder."""

    def keys_of(self, paths: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The content keys of the stored rows of each path, in order."""

    def passages(self, paths: Sequence[str]) -> Mapping[str, Sequence[Same]]:
        """What the stored rows of each path must share with their repeats, in order."""

    def canary(self) -> tuple[str, bytes] | None:
        """What the embedder was given for one stored passage, and the vector it gave; None where none is stored."""

    def repeats(self) -> Mapping[Place, Place]:
        """Each repeat -> its survivor in dated series, as they were told last."""

    def audit(self, advance: Callable[[int], None] = ignored) -> RecordAudit:
        """Read all of the record and say what is not what it was; `advance` counts rows and vectors in use."""

    def statistics(self, advance: Callable[[int], None] = ignored) -> Statistics:
        """Count what is there, in STEPS steps."""

    def unseen(self) -> tuple[Uncovered, ...]:
        """What the last run could not have, or left out, in the order of `coverage.unseen`."""

    def choices(self) -> Choices:
        """What was chosen for the store; the defaults where nothing was."""

    def revision(self) -> Revision | None:
        """What the corpus was at when the last run looked at it; None where that was not noted."""

    def coverage(self) -> tuple[Uncovered, ...]:
        """Everything that is not wholly searchable, and why."""


class Record(Known, Protocol):
    """The writer's side."""

    def chunks_of(self, path: str) -> tuple[Chunk, ...]:
        """The stored rows of a path as chunks, in order; `tokens` is not stored and is 0."""

    def cache(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Store (content key, rid, vector) durably, at once, replacing what a key had."""

    def rows_count(self) -> int:
        """Number of stored rows that repeat none."""

    def repeats_count(self) -> int:
        """Number of stored rows that are not shown, since they repeat another."""

    def commit(self) -> AbstractContextManager[Commit]:
        """One transaction; rolled back when the block raises."""

    def close(self) -> None:
        """Close; idempotent."""


class Snapshot(Known, Protocol):
    """A consistent view for one request."""

    def holds_retired(self) -> bool:
        """Whether any row stands in a superseded document."""

    def passing_rids(self, view: View) -> Sequence[str]:
        """The distinct vectors with a row in view, sorted."""

    def keywords(self, terms: Sequence[str], n: int, view: View, common: int) -> Mapping[str, float]:
        """Up to n rids by the words of their rows in view, best first: BM25, greater is better.

        A term that stands in more than `common` rows tells nothing apart and costs the most: it is left out, unless
        all are such; then rows that hold all of them are meant.
        """

    def rows(self, rids: Sequence[str], view: View) -> Sequence[Row]:
        """The rows in view that name these vectors, by path and ordinal."""

    def snapshots(self) -> Sequence[str]:
        """The files of all dated series, by path."""

    def series(self, path: str) -> Sequence[tuple[str, Sequence[Chunk]]]:
        """The files of the path's series in its order, each with its passages; none where it is in none."""

    def document(self, path: str) -> tuple[Entry, Sequence[Chunk]] | None:
        """What the index holds of one path: its entry, and its passages in order; None for a path it does not know."""

    def quoted(self, content_hash: str) -> Sequence[Row]:
        """The rows whose text has this content hash, by path and ordinal; every text is hashed to find them."""

    def vectors(self, rids: Sequence[str] | None) -> Iterator[tuple[str, bytes]]:
        """(rid, vector) of these rids, or of all that rows name; unknown ones are left out. Read as they are taken."""
