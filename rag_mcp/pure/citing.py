"""Whether a citation still holds: its lines as they are now, and where the quoted text stands.

    holds        the text stands within the lines cited, or begins on the first of them (a reply may cut its end off)
    moved        it stands elsewhere in the file, or in another file of the index
    changed      the file is there, and the text is not
    gone         the file is gone, or cannot be read now
    unchecked    nothing was said of what the lines held

The quoted text is known by its hash alone. Where the index still has the text it is looked for letter by letter; where
it does not, every run of as many lines is hashed, as a passage that begins with a line would be.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.blocks import line_of, line_starts
from rag_mcp.pure.citations import content_hash
from rag_mcp.pure.errors import InvalidCitation
from rag_mcp.pure.shown import Shown

LONGEST = 2_000
"""Lines of a citation that is looked for by its hash elsewhere in its file; passages have some hundred at most."""

_FORM = re.compile(r"(?P<source>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)
_HASH = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


class Verdict(Enum):
    """What became of a citation."""

    HOLDS = "holds"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNCHECKED = "unchecked"


@frozen(repr=False)
class Lines(Shown):
    """Lines of a document, from 1, both included."""

    source: str
    first: int
    last: int


@frozen(repr=False)
class Cited(Shown):
    """What was cited, what became of it, and its lines as they are now; `now` is where the quoted text stands."""

    cited: Lines
    verdict: Verdict
    text: str | None = None
    now: Lines | None = None

    @property
    def holds(self) -> bool:
        """True when the quoted text stands where it was cited; True as well where nothing was to be compared."""
        return self.verdict is Verdict.HOLDS or (self.verdict is Verdict.UNCHECKED and bool(self.text))


def parse_citation(text: str) -> Result[Lines, InvalidCitation]:
    """SOURCE:START-END or SOURCE:LINE; a source may hold colons itself."""
    match = _FORM.fullmatch(text)
    first, last = (int(match["first"]), int(match["last"] or match["first"])) if match else (0, 0)
    if match is None or not 1 <= first <= last:
        return Failure(InvalidCitation(text))
    return Success(Lines(match["source"], first, last))


def parse_hash(text: str) -> Result[str, InvalidCitation]:
    """A content hash as hits carry it, with or without what names its kind."""
    match = _HASH.fullmatch(text.strip())
    return Success(f"sha256:{match[1].lower()}") if match else Failure(InvalidCitation(text))


def spellings(source: str) -> tuple[str, ...]:
    """The source as it was written and, where that has backslashes, as it is stored if they were separators."""
    return (source, source.replace("\\", "/")) if "\\" in source else (source,)


def lines_of(text: str, first: int, last: int) -> str:
    """The lines from the first to the last number, both included, as far as they are there, line ends and all."""
    starts = (*line_starts(text), len(text))
    count = len(starts) - 1
    return text[starts[min(first - 1, count)] : starts[min(last, count)]]


def judged(cited: Lines, text: str | None, wanted: str | None, quote: str | None, others: Iterable[Lines]) -> Cited:
    """What became of it. `text` is the file now (None: gone); `quote` the text of hash `wanted`, where it is known.

    `others` are places in other documents that hold the text now, best first.
    """
    shown = None if text is None else lines_of(text, cited.first, cited.last)
    if wanted is None:
        return Cited(cited, Verdict.GONE if text is None else Verdict.UNCHECKED, shown)
    found = list(standing(cited, text, wanted, quote)) if text is not None else []
    inside = [place for place in found if _within(place, cited)]
    if inside:
        return Cited(cited, Verdict.HOLDS, shown, inside[0])
    nearest = min(found, key=lambda place: (abs(place.first - cited.first), place.first), default=None)
    if now := nearest or next(iter(others), None):
        return Cited(cited, Verdict.MOVED, shown, now)
    return Cited(cited, Verdict.GONE if text is None else Verdict.CHANGED, shown)


def standing(cited: Lines, text: str, wanted: str, quote: str | None) -> Iterator[Lines]:
    """Every place in the document's text where what was quoted stands."""
    starts = line_starts(text)
    if quote is not None:
        for at in _occurrences(text, quote):
            last = max(at, at + len(quote) - 1)
            yield Lines(cited.source, line_of(starts, at), line_of(starts, last))
        return
    if cited.last - cited.first < LONGEST:
        yield from _by_hash(cited, text, (*starts, len(text)), wanted)


def _by_hash(cited: Lines, text: str, starts: Sequence[int], wanted: str) -> Iterator[Lines]:
    count = cited.last - cited.first + 1
    for first in range(1, len(starts) - count + 1):
        piece = text[starts[first - 1] : starts[first + count - 1]]
        if content_hash(piece.rstrip()) == wanted:
            yield Lines(cited.source, first, first + count - 1)


def _occurrences(text: str, quote: str) -> Iterator[int]:
    at = text.find(quote) if quote else -1
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def _within(place: Lines, cited: Lines) -> bool:
    return place.first == cited.first or (cited.first < place.first and place.last <= cited.last)
