"""Hits and what they cite: rows with a score, one passage for each content key, best first.

Order is (-score, path, ordinal), on the exact score; rounding to four decimals comes last. The first row in
that order is the citation, other places of the same content stand in `also_in`.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from rag_mcp.pure.coverage import Brief
from rag_mcp.pure.fusion import Trace
from rag_mcp.pure.signals import signals


@frozen
class Row:
    """One stored passage as a search reads it. `rid` names its vector; lines count from 1, `ordinal` from 0."""

    rid: str
    key: str
    source: str
    ordinal: int
    heading: str | None
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    start: int
    end: int
    text: str
    doc_class: str
    digest: str


@frozen
class Place:
    """Another place that holds the same content."""

    source: str
    chunk_index: int
    start_line: int
    end_line: int


@frozen
class Citation:
    """Where a passage stands. `content_hash` is that of its text; `stale` when the file no longer holds it there."""

    source: str
    heading: str | None
    chunk_index: int
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    content_hash: str
    stale: bool = False
    also_in: tuple[Place, ...] = ()


@frozen
class Hit:
    """A passage, where it stands, and its score, from 0 to 1, rounded to 4 decimals; `trace` says how it came about.

    `signals` are those of `pure.signals` in text, headings and path. The text itself is never altered.
    """

    text: str
    citation: Citation
    score: float
    signals: tuple[str, ...] = ()
    trace: Trace | None = None


@frozen
class Answer:
    """What a question brought, best first. `degraded` says why the index was not used where it should have been.

    `confidence`, from 0 to 1: that the corpus holds what was asked; `nothing_close` when it probably does not; then
    `uncovered` says what of the corpus could not be searched, None where all could.
    """

    query: str
    k: int
    results: tuple[Hit, ...]
    dropped_out_of_scope: int = 0
    degraded: str | None = None
    confidence: float = 0.0
    nothing_close: bool = False
    uncovered: Brief | None = None

    @property
    def count(self) -> int:
        """Number of results."""
        return len(self.results)


def passages(rows: Iterable[Row], scores: Mapping[str, float]) -> tuple[tuple[float, tuple[Row, ...]], ...]:
    """(exact score, rows of one text), best first; `scores` is by rid. Neither invents nor loses a row.

    A text that stands under several headings has several vectors; the best of their scores counts, and its rows
    come first.
    """
    by_text: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (-scores[row.rid], row.source, row.ordinal)):
        by_text.setdefault(" ".join(row.text.split()), []).append(row)
    ranked = [(scores[group[0].rid], tuple(group)) for group in by_text.values()]
    return tuple(sorted(ranked, key=lambda item: (-item[0], item[1][0].source, item[1][0].ordinal)))


def cite(score: float, rows: Sequence[Row], trace: Trace | None = None) -> Hit:
    """The hit for the rows of one text, the one to be cited first."""
    first, *others = rows
    places = tuple(Place(row.source, row.ordinal, row.start_line, row.end_line) for row in others)
    citation = Citation(
        source=first.source,
        heading=first.heading,
        chunk_index=first.ordinal,
        heading_path=first.heading_path,
        start_line=first.start_line,
        end_line=first.end_line,
        content_hash=content_hash(first.text),
        also_in=places,
    )
    seen = signals(text=first.text, heading="\n".join(first.heading_path), source=first.source)
    return Hit(first.text, citation, round(max(0.0, score), 4), seen, trace)


def content_hash(text: str) -> str:
    """`sha256:` and the hexadecimal SHA-256 of the passage in UTF-8, so that anybody can compute it."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def marked_stale(hit: Hit) -> Hit:
    """The same hit, marked as no longer standing in its file."""
    return evolve(hit, citation=evolve(hit.citation, stale=True))
