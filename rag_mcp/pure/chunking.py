"""Sections into passages under a token budget, cut where the text itself says.

A section that fits is one passage; small neighbours may share one (`merging`). A longer one is taken apart only as
far as needed (`pieces`), and the pieces are packed again (`boundaries`). A passage that begins where running text had
to be cut may repeat some of what stands before it (`overlap`).

In front of what is embedded stands a crumb: the names of the headings above, and the header row of the table that the
passage begins in.

Inline data (`data:...;base64,` and 200 characters or more) is in no passage: the text before it and the text after it
are cut as if a section ended there, and a warning tells.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

from attrs import evolve, frozen

from rag_mcp.pure.blocks import CHARACTER, LINE, LINE_END, SENTENCE, WORD, Outline
from rag_mcp.pure.boundaries import Worth, cuts
from rag_mcp.pure.crumbs import Crumb, crumbs_of, undated_headings
from rag_mcp.pure.merging import Section, merged
from rag_mcp.pure.pieces import SPACES, Piece, Stretch, taken_apart, unjoined, weight
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Chunk, Measure

SPECIAL_TOKENS = 2  # [CLS] and [SEP]
INLINE_DATA = re.compile(r"data:(image)?[\w.+-]*/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,[A-Za-z0-9+/=]{200,}")
RUNNING = frozenset({SENTENCE, LINE, WORD, CHARACTER})
SHARE = 4  # heading names, a table's header and an overlap may each take one part in so many of the window


@frozen(repr=False)
class Window(Shown):
    """What an embedder takes in, in tokens, special tokens and document prefix already taken off; then as `Chunking`.

    `floor` bounds how near two cuts may lie, `merge_below` which sections are packed together, `overlap` what a
    passage repeats. `small`: packed together are sections of fewer characters than that, too.
    """

    tokens: int
    floor: float
    merge_below: int = 0
    overlap: int = 0
    small: int = 0


@frozen(repr=False)
class _Header(Shown):
    """A table's header row, what it takes of the window, and the size of the table; in tokens."""

    text: str
    width: int
    table: int


@frozen(repr=False)
class _Draft(Shown):
    """A passage not measured yet, the heading names in its crumb, and those for what would be cut off its end."""

    chunk: Chunk
    names: str
    later: str


@frozen(repr=False)
class _Source(Shown):
    """What passages are cut from: the text, its outline, the headers of tables that are cut, the date in its name."""

    text: str
    outline: Outline
    headers: Mapping[int, str]
    own_date: str | None

    def header_at(self, offset: int) -> str:
        """The header row of the table in which `offset` lies; "" where there is none to be repeated."""
        table = self.outline.table_around(offset)
        return self.headers.get(table.start, "") if table else ""


def cut(
    text: str,
    outline: Outline,
    sections: Sequence[Section],
    window: Window,
    measure: Measure,
    own_date: str | None = None,
) -> tuple[tuple[Chunk, ...], tuple[str, ...]]:
    """The passages of all sections, in order, and warnings; `own_date` is that in the file's name."""
    holes = [match.span() for match in INLINE_DATA.finditer(text)]
    starts = [start for start, _ in holes]
    spans = [
        span
        for section in sections
        for span in _without(section, holes[bisect_left(starts, section.start) : bisect_left(starts, section.end)])
    ]
    spans = [span for span in spans if not _blank(text, span)]
    if window.merge_below or window.small:
        spans = _merged(text, spans, window, measure)
    crumbs = crumbs_of(spans, window.tokens // SHARE, measure, own_date)
    headers = _headers(text, outline, window, measure)
    source = _Source(text, outline, {at: header.text for at, header in headers.items()}, own_date)
    overlap = min(window.overlap, window.tokens // SHARE)
    tables = list(headers.items())
    stretches = [_stretch(s, c, tables, window.tokens, overlap) for s, c in zip(spans, crumbs, strict=True)]
    pieces = taken_apart(text, outline, stretches, measure)
    drafts = [
        draft
        for span, crumb, stretch, parts in zip(spans, crumbs, stretches, pieces, strict=True)
        for draft in _packed(source, span, crumb, stretch, parts, window.floor, overlap)
    ]
    made = _within(drafts, source, window, measure) if drafts else []
    # One that is all overlap ends where the one before it ends.
    chunks = [chunk for before, chunk in zip([None, *made], made, strict=False) if not before or before.end < chunk.end]
    warnings = tuple(_left_out(outline.line_of(match.start()), match) for match in INLINE_DATA.finditer(text))
    return tuple(evolve(chunk, ordinal=n) for n, chunk in enumerate(chunks)), warnings


def _left_out(line: int, data: re.Match[str]) -> str:
    kind = "an inline image" if data[1] else "inline data"
    return f"line {line}: {kind} of {len(data[0])} characters was left out"


def _merged(text: str, spans: Sequence[Section], window: Window, measure: Measure) -> list[Section]:
    texts = [text[span.start : span.end] for span in spans]
    sizes = map(weight, measure(texts) if texts else (), map(len, texts))
    sized = [evolve(span, size=size) for span, size in zip(spans, sizes, strict=True)]
    budget = window.tokens - window.tokens // SHARE  # the same wherever the crumb is short or long, so cuts stay put
    return list(merged(text, sized, min(window.merge_below, budget), budget, window.floor, window.small))


def _headers(text: str, outline: Outline, window: Window, measure: Measure) -> dict[int, "_Header"]:
    """The headers, by the start of their tables, of the tables that may have to be cut; none that takes too much."""
    most = window.tokens // SHARE
    tables = [table for table in outline.tables if table.header and table.end - table.start > most]
    if not tables:
        return {}
    sizes = measure([part for table in tables for part in (text[table.start : table.end], table.header)])
    found = zip(tables, sizes[::2], sizes[1::2], strict=True)
    return {table.start: _Header(table.header, own + 1, size) for table, size, own in found if own < most}


def _stretch(
    span: Section, crumb: Crumb, tables: "Sequence[tuple[int, _Header]]", tokens: int, overlap: int
) -> Stretch:
    """The span with its budgets: a part may begin with a table's header or with an overlap, never with both."""
    room = tokens - crumb.size
    first, last = (bisect_left(tables, place, key=itemgetter(0)) for place in (span.start, span.end))
    widths = (header.width for _, header in tables[first:last] if header.table + header.width > room)
    parts = max(1, room - max(overlap, *widths, 0))
    return Stretch(span.start, span.end, tokens - crumb.first_size, room, parts, span.solid, span.size)


def embedded_text(chunk: Chunk, own_date: str | None = None) -> str:
    """Exactly what the embedder is given for a passage of a file of that name, its document prefix excepted."""
    body = LINE_END.sub("\n", undated_headings(chunk.text, chunk.heading_path, own_date))
    return f"{chunk.crumb}\n\n{body}" if chunk.crumb else body


def content_key(chunk: Chunk, own_date: str | None = None) -> str:
    """32 hex digits that stand for what is embedded."""
    return hashlib.sha256(embedded_text(chunk, own_date).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _without(section: Section, holes: Sequence[tuple[int, int]]) -> Iterator[Section]:
    at, own = section.start, section.own
    for start, end in holes:
        yield evolve(section, start=at, end=start, own=own)
        at, own = end, 0
    yield evolve(section, start=at, own=own)


def _blank(text: str, span: Section) -> bool:
    return not text[span.start : span.end].strip()


def _packed(
    source: _Source,
    span: Section,
    crumb: Crumb,
    stretch: Stretch,
    pieces: Sequence[Piece],
    floor: float,
    overlap: int,
) -> Iterator[_Draft]:
    """The passages of one span.

    The first carries the heading's own lines, later ones name it in their crumb.
    """
    whole = len(pieces) == 1
    sizes = [(piece.size, _worth(source.text, piece)) for piece in pieces]
    edges = [0, 1] if whole else cuts(sizes, stretch.budget, floor)
    before = 0
    for first, last in pairwise(edges):
        start, end = pieces[first].start, pieces[last - 1].end
        if first and overlap and not stretch.solid:
            start = _repeated_from(source, pieces, before, first, overlap)
        if source.text[start:end].strip():
            names = crumb.first if first == 0 else crumb.later
            yield _Draft(_chunk(source, start, end, span.path, names), names, crumb.later)
        before = first


def _repeated_from(source: _Source, pieces: Sequence[Piece], before: int, first: int, overlap: int) -> int:
    """Where a passage begins that repeats the end of the one before it: nowhere else than where running text was cut.

    Whole pieces are repeated where one fits into the overlap, else the last words of one.
    """
    at, room = first, overlap
    while at > before + 1 and _runs_on(source, pieces[at]) and pieces[at - 1].size <= room:
        at -= 1
        room -= pieces[at].size
    if at < first or not _runs_on(source, pieces[first]):
        return pieces[at].start
    piece = pieces[first - 1]
    place = piece.end - overlap * (piece.end - piece.start) // piece.size
    words = (match.end() for match in SPACES.finditer(source.text, max(place, piece.start + 1), piece.end))
    return next(words, piece.end)


def _runs_on(source: _Source, piece: Piece) -> bool:
    """True when the text goes on from the piece before into this one: a paragraph was cut between them."""
    return piece.rank in RUNNING and not source.outline.is_solid(piece.start)


def _worth(text: str, piece: Piece) -> Worth:
    body = text[piece.start : piece.end].strip().encode("utf-8", "surrogatepass")
    return piece.rank, hashlib.blake2b(body, digest_size=8).digest()


def _chunk(source: _Source, start: int, end: int, path: tuple[str, ...], names: str) -> Chunk:
    """The passage text[start:end] without blank lines at its ends and without blanks after its last character."""
    body = source.text[start:end]
    end = start + len(body.rstrip())
    lead = re.match(r"(?:[^\S\r\n]*(?:\r\n|\r|\n))*", body)
    start += lead.end() if lead else 0
    chunk = Chunk(
        ordinal=0,
        key="",
        text=source.text[start:end],
        start=start,
        end=end,
        start_line=source.outline.line_of(start),
        end_line=source.outline.line_of(end - 1),
        heading=path[-1] if path else None,
        heading_path=path,
        crumb="\n".join(filter(None, (names, source.header_at(start)))),
        tokens=0,
    )
    return evolve(chunk, key=content_key(chunk, source.own_date))


def _within(drafts: Sequence[_Draft], source: _Source, window: Window, measure: Measure) -> list[Chunk]:
    """The drafts, measured as they will be embedded; those over the window after all are halved until they fit.

    Not every tokenizer adds up: a whole may have more tokens than its pieces.
    """
    sizes = measure([embedded_text(draft.chunk, source.own_date) for draft in drafts])
    chunks: list[Chunk] = []
    halves: list[_Draft] = []
    for draft, size in zip(drafts, sizes, strict=True):
        if size <= window.tokens or draft.chunk.end - draft.chunk.start < 2:
            chunks.append(evolve(draft.chunk, tokens=size))
        else:
            halves += _halves(draft, source)
    finer = _within(halves, source, window, measure) if halves else []
    return sorted([*chunks, *finer], key=lambda chunk: chunk.start)


def _halves(draft: _Draft, source: _Source) -> Iterator[_Draft]:
    """The draft in two: between words nearest its middle, else between characters."""
    text, first, last = source.text, draft.chunk.start, draft.chunk.end
    middle = (first + last) // 2
    whole = unjoined(text, middle, last)
    spaces = (match.end() for match in SPACES.finditer(text, first, last) if match.end() < last)
    place = min(spaces, key=lambda at: abs(at - middle), default=whole if whole < last else middle)
    for start, end, names in ((first, place, draft.names), (place, last, draft.later)):
        if text[start:end].strip():
            yield _Draft(_chunk(source, start, end, draft.chunk.heading_path, names), names, draft.later)
