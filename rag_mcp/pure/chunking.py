"""Sections into passages under a token budget, cut where the text itself says.

A section that fits is one passage. A longer one is taken apart only as far as needed (`pieces`), and the pieces are
packed again (`boundaries`). In front of what is embedded stands a crumb: the names of the headings above.

The data of an inline image (`data:image/...;base64,` and 200 characters or more) is in no passage: the text before it
and the text after it are cut as if a section ended there, and a warning tells.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import evolve, frozen

from rag_mcp.pure.blocks import LINE_END, Outline
from rag_mcp.pure.boundaries import Worth, cuts
from rag_mcp.pure.pieces import SPACES, Piece, Stretch, taken_apart, unjoined
from rag_mcp.pure.values import Chunk, Measure

SPECIAL_TOKENS = 2  # [CLS] and [SEP]
INLINE_DATA = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]{200,}")


@frozen
class Section:
    """A span of text under one heading.

    `path` is its heading path, outermost first; `title` goes in front of the crumb where no H1 stands above; `own`
    is how many of the innermost names the span begins with, as its own heading lines; `solid`, that it is no
    running text.
    """

    start: int
    end: int
    path: tuple[str, ...] = ()
    title: str | None = None
    own: int = 0
    solid: bool = False


@frozen
class Window:
    """What an embedder takes in, in tokens, special tokens and document prefix already taken off."""

    tokens: int
    floor: float


def cut(
    text: str, outline: Outline, sections: Sequence[Section], window: Window, measure: Measure
) -> tuple[tuple[Chunk, ...], tuple[str, ...]]:
    """The passages of all sections, in order, and warnings."""
    holes = [match.span() for match in INLINE_DATA.finditer(text)]
    starts = [start for start, _ in holes]
    spans = [
        span
        for section in sections
        for span in _without(section, holes[bisect_left(starts, section.start) : bisect_left(starts, section.end)])
    ]
    spans = [span for span in spans if not _blank(text, span)]
    crumbs = _crumbs(spans, window.tokens // 4, measure)
    stretches = [Stretch(s.start, s.end, window.tokens - c.size, s.solid) for s, c in zip(spans, crumbs, strict=True)]
    pieces = taken_apart(text, outline, stretches, measure)
    drafts = [
        draft
        for span, crumb, parts in zip(spans, crumbs, pieces, strict=True)
        for draft in _packed(text, outline, span, crumb, parts, window)
    ]
    chunks = _within(drafts, text, outline, window, measure) if drafts else []
    warnings = tuple(
        f"line {outline.line_of(start)}: an inline image of {end - start} characters was left out"
        for start, end in holes
    )
    return tuple(evolve(chunk, ordinal=n) for n, chunk in enumerate(chunks)), warnings


def embedded_text(chunk: Chunk) -> str:
    """Exactly what the embedder is given for a passage, its document prefix excepted."""
    body = LINE_END.sub("\n", chunk.text)
    return f"{chunk.crumb}\n\n{body}" if chunk.crumb else body


def content_key(chunk: Chunk) -> str:
    """32 hex digits that stand for what is embedded."""
    return hashlib.sha256(embedded_text(chunk).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _without(section: Section, holes: Sequence[tuple[int, int]]) -> Iterator[Section]:
    at, own = section.start, section.own
    for start, end in holes:
        yield evolve(section, start=at, end=start, own=own)
        at, own = end, 0
    yield evolve(section, start=at, own=own)


def _blank(text: str, span: Section) -> bool:
    return not text[span.start : span.end].strip()


@frozen
class Crumb:
    """What stands in front of a section's first passage, which begins with the heading, and of its later ones.

    `size` is the greater of the two sizes in tokens.
    """

    first: str
    later: str
    size: int


def _crumbs(spans: Sequence[Section], limit: int, measure: Measure) -> list[Crumb]:
    """The crumbs of each span: outer names are dropped while one is over the limit."""
    distinct = list(dict.fromkeys(name for span in spans for name in _names(span)))
    sizes = dict(zip(distinct, measure(distinct), strict=True)) if distinct else {}
    crumbs = []
    for span in spans:
        names = _names(span)
        first, small = _crumb(names[: len(names) - span.own], limit, sizes)
        later, large = _crumb(names, limit, sizes)
        crumbs.append(Crumb(first, later, max(small, large)))
    return crumbs


def _names(span: Section) -> tuple[str, ...]:
    return span.path if span.title is None else (span.title, *span.path)


def _crumb(names: tuple[str, ...], limit: int, sizes: Mapping[str, int]) -> tuple[str, int]:
    while len(names) > 1 and sum(sizes[name] + 1 for name in names) > limit:
        names = names[1:]
    if names and sizes[names[0]] + 1 > limit:
        return names[0][:limit], limit
    return " > ".join(names), sum(sizes[name] + 1 for name in names)


def _packed(
    text: str, outline: Outline, span: Section, crumb: Crumb, pieces: Sequence[Piece], window: Window
) -> Iterator[tuple[Chunk, str]]:
    """The passages of one span, each with the crumb of what would be cut off its end.

    The first carries the heading's own lines, later ones name it in their crumb.
    """
    edges = cuts([(piece.size, _worth(text, piece)) for piece in pieces], window.tokens - crumb.size, window.floor)
    for first, last in pairwise(edges):
        start, end = pieces[first].start, pieces[last - 1].end
        if text[start:end].strip():
            yield _chunk(text, outline, start, end, span.path, crumb.first if first == 0 else crumb.later), crumb.later


def _worth(text: str, piece: Piece) -> Worth:
    body = text[piece.start : piece.end].strip().encode("utf-8", "surrogatepass")
    return piece.rank, hashlib.blake2b(body, digest_size=8).digest()


def _chunk(text: str, outline: Outline, start: int, end: int, path: tuple[str, ...], crumb: str) -> Chunk:
    """The passage text[start:end] without blank lines at its ends and without blanks after its last character."""
    body = text[start:end]
    end = start + len(body.rstrip())
    lead = re.match(r"(?:[^\S\r\n]*(?:\r\n|\r|\n))*", body)
    start += lead.end() if lead else 0
    chunk = Chunk(
        ordinal=0,
        key="",
        text=text[start:end],
        start=start,
        end=end,
        start_line=outline.line_of(start),
        end_line=outline.line_of(end - 1),
        heading=path[-1] if path else None,
        heading_path=path,
        crumb=crumb,
        tokens=0,
    )
    return evolve(chunk, key=content_key(chunk))


def _within(
    drafts: Sequence[tuple[Chunk, str]], text: str, outline: Outline, window: Window, measure: Measure
) -> list[Chunk]:
    """The drafts, measured as they will be embedded; those over the window after all are halved until they fit.

    Not every tokenizer adds up: a whole may have more tokens than its pieces.
    """
    sizes = measure([embedded_text(draft) for draft, _ in drafts])
    chunks: list[Chunk] = []
    halves: list[tuple[Chunk, str]] = []
    for (draft, later), size in zip(drafts, sizes, strict=True):
        if size <= window.tokens or draft.end - draft.start < 2:
            chunks.append(evolve(draft, tokens=size))
        else:
            halves += _halves(draft, later, text, outline)
    finer = _within(halves, text, outline, window, measure) if halves else []
    return sorted([*chunks, *finer], key=lambda chunk: chunk.start)


def _halves(draft: Chunk, later: str, text: str, outline: Outline) -> Iterator[tuple[Chunk, str]]:
    """The draft in two: between words nearest its middle, else between characters."""
    middle = (draft.start + draft.end) // 2
    spaces = (match.end() for match in SPACES.finditer(text, draft.start, draft.end) if match.end() < draft.end)
    place = min(spaces, key=lambda at: abs(at - middle), default=unjoined(text, middle, draft.end))
    for start, end, crumb in ((draft.start, place, draft.crumb), (place, draft.end, later)):
        if text[start:end].strip():
            yield _chunk(text, outline, start, end, draft.heading_path, crumb), later
