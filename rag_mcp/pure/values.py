"""The nouns of the project: what was seen, what was read, what was cut.

Paths are corpus-relative, with forward slashes, exactly as the file system spells them (no Unicode
normalisation: two spellings are two files wherever the file system says so). Lines count from 1.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from attrs import frozen

from rag_mcp.pure.shown import Shown

CURRENT, SUPERSEDED = "current", "superseded"
"""The lifecycle of a document: it holds, or another took its place and it is kept for its own sake."""

Measure = Callable[[Sequence[str]], Sequence[int]]
"""Token counts of texts, special tokens not included; one number for each text, in order."""


@frozen(repr=False)
class Sighting(Shown):
    """A regular file that was read: SHA-256 (hex) of its bytes and their number."""

    path: str
    digest: str
    size: int


class Lack(Enum):
    """What a path lacks to be wholly searchable. The order is that of a report."""

    UNREADABLE = "unreadable"
    UNDECODABLE = "undecodable"
    TOO_LARGE = "too large"
    UNSEEN = "out of sight"
    EXCLUDED = "excluded"
    RETIRED = "superseded"
    EMPTY = "without text"
    WARNED = "with a warning"


@frozen(repr=False)
class Unreadable(Shown):
    """A file that is there and whose text could not be had; what is known of it is kept."""

    path: str
    why: str
    lack: Lack = Lack.UNREADABLE


class Absence(Enum):
    """Why a document could not be taken from the place where it was indexed."""

    GONE = "nothing stands there"
    REPLACED = "a link or something else stands there, or in the place of a folder above it"
    REFUSED = "it is there and cannot be read"


@frozen(repr=False)
class NotTaken(Shown):
    """A document that could not be taken; `why` is a clause that names no place."""

    absence: Absence
    why: str


@frozen(repr=False)
class Taken(Shown):
    """The bytes of an opened file, and by how many names (hard links) it is known."""

    data: bytes
    names: int


@frozen(repr=False)
class Excluded(Shown):
    """A file or folder (path ends in "/") that was seen and left out by a rule, or by what its front matter asks."""

    path: str
    why: str


@frozen(repr=False)
class Gap(Shown):
    """A folder ("" is the root) below which the look did not reach; nothing is known of what lies there."""

    path: str
    why: str


@frozen(repr=False)
class Listing(Shown):
    """One look at a corpus. Each tuple is sorted by path and no path occurs twice.

    `others` are files that are not Markdown by their names; nothing else is known of them.
    """

    root: str
    sightings: tuple[Sighting, ...] = ()
    unreadables: tuple[Unreadable, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    gaps: tuple[Gap, ...] = ()
    others: tuple[str, ...] = ()


@frozen(repr=False)
class Chunk(Shown):
    """A passage: `text` is `source[start:end]` of the decoded file, on lines start_line to end_line (from 1).

    `crumb` stands in front of the text in what is embedded; `key` (32 hex digits) hashes exactly that;
    `tokens` is its length in tokens with crumb, without special tokens. `ordinal` counts from 0 in the file.
    """

    ordinal: int
    key: str
    text: str
    start: int
    end: int
    start_line: int
    end_line: int
    heading: str | None
    heading_path: tuple[str, ...]
    crumb: str
    tokens: int


@frozen(repr=False)
class Document(Shown):
    """A file, read and cut. Warnings are sentences."""

    path: str
    digest: str
    size: int
    title: str | None
    doc_class: str
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...] = ()
    lifecycle: str = CURRENT


Prepared = Document | Unreadable | Excluded
"""What reading one file gave."""
