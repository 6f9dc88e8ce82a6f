"""What the record believes of each file, and the evidence that must agree before a file may be skipped.

A row's mark is 40 bits of a hash of everything the row says; a file's mark is the sum of its rows' marks.
Count and sum of the rows in the store equal those in the entry, or the rows are written again.
"""

import hashlib
from collections.abc import Mapping

from attrs import field, frozen

from rag_mcp.pure.identity import EmbedderIdentity, RunIdentity
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import CURRENT, Chunk, Document

MARK_BITS = 40  # sums of 8 million rows still fit SQLite's 63-bit integers


def row_mark(path: str, chunk: Chunk, doc_class: str, lifecycle: str = CURRENT) -> int:
    """40 bits that stand for one row: its place, its text, its lines and its metadata."""
    place = (chunk.ordinal, chunk.start, chunk.end, chunk.start_line, chunk.end_line)
    said: tuple[object, ...] = (path, place, chunk.key, chunk.heading_path, chunk.crumb, chunk.text, doc_class)
    if lifecycle != CURRENT:  # rows from before there was a lifecycle are current, and keep their marks
        said = (*said, lifecycle)
    digest = hashlib.blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=MARK_BITS // 8)
    return int.from_bytes(digest.digest())


@frozen(repr=False)
class RowsSeen(Shown):
    """Number of rows of one file and the sum of their marks."""

    count: int = 0
    mark: int = 0


NO_ROWS = RowsSeen()


@frozen(repr=False)
class Entry(Shown):
    """What was made of one file: the bytes it was made from, by which recipe and labels, and what came out."""

    path: str
    digest: str
    size: int
    recipe: str
    labels: str
    rows: RowsSeen
    title: str | None
    doc_class: str
    warnings: tuple[str, ...] = ()
    lifecycle: str = CURRENT


def entry_of(document: Document, run: RunIdentity) -> Entry:
    """The entry that a completed write of `document` leaves."""
    marks = [row_mark(document.path, chunk, document.doc_class, document.lifecycle) for chunk in document.chunks]
    return Entry(
        path=document.path,
        digest=document.digest,
        size=document.size,
        recipe=run.recipe,
        labels=run.labels,
        rows=RowsSeen(len(marks), sum(marks)),
        title=document.title,
        doc_class=document.doc_class,
        warnings=document.warnings,
        lifecycle=document.lifecycle,
    )


@frozen(repr=False)
class Manifest(Shown):
    """What a store was made from and by, file by file, as its last commit left it; entries by path.

    `run` is what an ingest by this program would make; an entry whose recipe and labels are those of `run` is of it.
    """

    store: str
    collection: str
    root: str
    generation: int
    finished: str
    embedder: EmbedderIdentity
    run: RunIdentity
    entries: tuple[Entry, ...]


@frozen(repr=False)
class IndexSeen(Shown):
    """The vector index as the record names it and as it was found.

    `expected` and `found` are fingerprints (`VectorIndex.evidence`); `vectors` is how many distinct vectors
    the rows need, `built_of` how many it was built of; `slots` how many places the generation holds, deleted ones
    included.
    """

    folder: str | None = None
    expected: str | None = None
    found: str | None = None
    vectors: int = 0
    built_of: int = 0
    slots: int = 0


@frozen(repr=False)
class Rule(Shown):
    """By what repeats in dated series are told (`snapshots`): whether at all, and which files could not be read.

    Each of the latter breaks its series.
    """

    dedupe: bool = True
    broken: frozenset[str] = frozenset()


@frozen(repr=False)
class Grouped(Shown):
    """What the record says of its repeats: by which rule they were told, and from what (`snapshots.mark`).

    `sound`: there is as much of them as was put in.
    """

    rule: Rule = Rule()
    mark: str = ""
    sound: bool = True


@frozen(repr=False)
class Belief(Shown):
    """All that planning may know of a store. The default is an empty store.

    `vectorless` are paths with a row whose vector is missing for the embedder of this run; `fingerprint` is
    the embedder the index was built by; `root` the corpus it was built from.
    """

    generation: int = 0
    root: str | None = None
    fingerprint: str | None = None
    entries: Mapping[str, Entry] = field(factory=dict)
    rows: Mapping[str, RowsSeen] = field(factory=dict)
    vectorless: frozenset[str] = frozenset()
    keywords_sound: bool = True
    grouped: Grouped = Grouped()
    index: IndexSeen = IndexSeen()
