"""One file, from bytes to passages: decode, front matter, outline, sections, chunks, class.

Each chunk belongs to one section, the span under one heading; its text is the exact slice of the decoded file. The
title of a document is its front matter's, else its first H1, else its file name; the file name never enters what is
embedded, so that a renamed file costs no embedding; the date in it is taken out of what is (`crumbs`).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from posixpath import basename, splitext

from attrs import evolve
from returns.result import Failure

from rag_mcp.pure.blocks import LINE_END, Heading, Outline, line_starts, outline
from rag_mcp.pure.chunking import SPECIAL_TOKENS, Window, cut
from rag_mcp.pure.classify import doc_class
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.decoding import Decoded, decoded
from rag_mcp.pure.frontmatter import FrontMatter, split
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.markings import LONGEST, SMALL, markings
from rag_mcp.pure.merging import Section
from rag_mcp.pure.values import Chunk, Document, Excluded, Measure, Prepared, Unreadable

LEAST = 16  # tokens; a window this small is a setting gone wrong, and cutting to it would never end


def read_document(path: str, data: bytes, digest: str, run: RunIdentity, measure: Measure) -> Prepared:
    """The document, or why there is none. `digest` is the SHA-256 of `data`; `measure` counts the embedder's tokens."""
    found = decoded(path, data)
    if isinstance(found, Failure):
        unreadable: Unreadable = found.failure()
        return unreadable
    return _document(path, found.unwrap(), len(data), digest, run, measure)


def left_out(path: str, data: bytes) -> bool:
    """True when the file asks to be left out of the index, or its front matter may."""
    found = decoded(path, data).value_or(None)
    return found is not None and markings(split(LINE_END.sub("\n", found.text))).left_out is not None


def _document(
    path: str, found: Decoded, size: int, digest: str, run: RunIdentity, measure: Measure
) -> Document | Excluded:
    source = found.text
    text = LINE_END.sub("\n", source)
    front = split(text)
    asked = markings(front)
    if asked.left_out:
        return Excluded(path, asked.left_out)
    shape = outline(text, front.body)
    title = named_title(front)
    named = (heading.text for heading in shape.headings if heading.level == 1 and heading.text)
    spans = list(sections(text, shape, front, title))
    room = window(run, measure)
    if asked.by_headings:
        room, measure = by_headings(run, measure)
    chunks, warnings = cut(text, shape, spans, room, measure, own_date(path))
    return Document(
        path=path,
        digest=digest,
        size=size,
        title=title or next(named, None) or splitext(basename(path))[0],
        doc_class=doc_class(path, front.metadata, run.labelling),
        chunks=chunks if text == source else tuple(placed(chunks, text, source)),
        warnings=(*((found.warning,) if found.warning else ()), *front.warnings, *asked.warnings, *warnings),
        lifecycle=asked.lifecycle,
    )


def placed(chunks: Sequence[Chunk], text: str, source: str) -> Iterator[Chunk]:
    """The chunks of `text` as slices of `source`, the same lines with other line ends.

    Texts are cut with line feeds, so that line ends move no cut and change no key.
    """
    lines, at = line_starts(source), line_starts(text)

    def place(offset: int) -> int:
        line = bisect_right(at, offset) - 1
        return lines[line] + offset - at[line]

    for chunk in chunks:
        start, end = place(chunk.start), place(chunk.end)
        yield evolve(chunk, text=source[start:end], start=start, end=end)


def named_title(front: FrontMatter) -> str | None:
    """The title that the front matter gives, on one line."""
    given = front.metadata.get("title")
    named = isinstance(given, str | int | float) and not isinstance(given, bool)
    return " ".join(str(given).split()) or None if named else None


def window(run: RunIdentity, measure: Measure) -> Window:
    """What fits beside special tokens and document prefix, at most the budget that was set."""
    room, cutting = _room(run, measure), run.chunking
    return Window(max(LEAST, min(room, cutting.budget or room)), cutting.floor, cutting.merge_below, cutting.overlap)


def by_headings(run: RunIdentity, measure: Measure) -> tuple[Window, Measure]:
    """The window of a file that asks to be cut by headings, and a measure by which LONGEST characters fill it too."""
    tokens, cutting = max(LEAST, _room(run, measure)), run.chunking

    def sizes(texts: Sequence[str]) -> Sequence[int]:
        counts = zip(texts, measure(texts), strict=True)
        return [max(count, -(-len(text) * tokens // LONGEST)) for text, count in counts]

    return Window(tokens, cutting.floor, cutting.merge_below, cutting.overlap, SMALL), sizes


def _room(run: RunIdentity, measure: Measure) -> int:
    prefix = run.embedder.document_prefix
    return run.embedder.max_tokens - SPECIAL_TOKENS - (measure([prefix])[0] if prefix else 0)


def sections(text: str, shape: Outline, front: FrontMatter, title: str | None) -> Iterator[Section]:
    """The spans of a text that are cut each on its own, in order.

    A heading without a body goes with the first section below it: alone it would be a passage that answers nothing.
    """
    if front.kept:
        yield Section(*front.kept, solid=True)
    yield Section(front.body, shape.headings[0].start if shape.headings else len(text), title=title)
    open_headings: list[Heading] = []
    bodiless: list[Heading] = []
    for heading, following in zip_longest(shape.headings, shape.headings[1:]):
        open_headings = [*_above(open_headings, heading.level), heading]
        end = following.start if following else len(text)
        bodiless.append(heading)
        if following and following.level > heading.level and not text[heading.end : end].strip():
            continue
        path = tuple(h.text for h in open_headings if h.text)
        needs_title = title if open_headings[0].level > 1 else None
        own = sum(1 for h in bodiless if h.text)
        yield Section(bodiless[0].start, end, path, needs_title, own)
        bodiless = []


def _above(headings: Sequence[Heading], level: int) -> Sequence[Heading]:
    return [heading for heading in headings if heading.level < level]
