"""Hits and what they cite: rows with a score, one passage for all that say the same (`copies`), best first.

Order is (-score, current before superseded, path, ordinal), on the exact score; rounding to four decimals comes last.
The first row in that order is the citation, the others stand in `also_in`.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from rag_mcp.pure.copies import grouped
from rag_mcp.pure.coverage import Brief
from rag_mcp.pure.dates import listed, own_date
from rag_mcp.pure.fusion import Trace
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.signals import signals
from rag_mcp.pure.values import CURRENT


@frozen(repr=False)
class Row(Shown):
    """One stored passage as a search reads it. `rid` names its vector; lines count from 1, `ordinal` from 0.

    `holders` are the snapshots of a dated series that it stands for, its own file first; none outside of a series.
    """

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
    holders: tuple[str, ...] = ()
    lifecycle: str = CURRENT


@frozen(repr=False)
class Place(Shown):
    """Another place that says the same; in a series, up to which later date unchanged, None where it changed.

    Every snapshot of the series from the place's own date up to that one holds it.
    """

    source: str
    chunk_index: int
    start_line: int
    end_line: int
    unchanged_until: str | None = None


@frozen(repr=False)
class Citation(Shown):
    """Where a passage stands. `content_hash` is that of its text; `stale` when the file no longer holds it there.

    In a dated series: the date of its file, the later ones on which it stood unchanged (`dates.listed`), and how many
    snapshots it stands for. None elsewhere.
    """

    source: str
    heading: str | None
    chunk_index: int
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    content_hash: str
    stale: bool = False
    also_in: tuple[Place, ...] = ()
    snapshot_date: str | None = None
    also_unchanged_on: str | None = None
    snapshots_covered: int | None = None


@frozen(repr=False)
class Hit(Shown):
    """A passage, where it stands, and its score, from 0 to 1, rounded to 4 decimals; `trace` says how it came about.

    `signals` are those of `pure.signals` in text, headings and path. The text itself is never altered.
    """

    text: str
    citation: Citation
    score: float
    signals: tuple[str, ...] = ()
    trace: Trace | None = None
    lifecycle: str = CURRENT

    @property
    def similarity(self) -> float | None:
        """1 - cosine distance of question and passage, at least 0, rounded to 4 decimals; None by words alone."""
        cosine = self.trace.cosine if self.trace else None
        return None if cosine is None else round(max(0.0, cosine), 4)


@frozen(repr=False)
class LookUp(Shown):
    """A part of a search: how long it took, and how many it found of so many at most."""

    name: str
    milliseconds: float
    found: int
    bound: int


@frozen(repr=False)
class Answer(Shown):
    """What a question brought, best first. `degraded` says why the index was not used where it should have been.

    `confidence`, from 0 to 1: that the corpus holds what was asked; `nothing_close` when it probably does not; then
    `uncovered` says what of the corpus could not be searched, None where all could. Equal answers may have taken
    their time.
    """

    query: str
    k: int
    results: tuple[Hit, ...]
    dropped_out_of_scope: int = 0
    degraded: str | None = None
    confidence: float = 0.0
    nothing_close: bool = False
    uncovered: Brief | None = None
    lookups: tuple[LookUp, ...] = field(default=(), eq=False)

    @property
    def count(self) -> int:
        """Number of results."""
        return len(self.results)


def passages(rows: Iterable[Row], scores: Mapping[str, float]) -> tuple[tuple[float, tuple[Row, ...]], ...]:
    """(exact score, rows that say the same), best first; `scores` is by rid. Neither invents nor loses a row.

    What is said under several headings has several vectors; the best of their scores counts, and its rows come first.
    """
    ordered = sorted(rows, key=lambda row: (-scores[row.rid], row.lifecycle, row.source, row.ordinal))
    return tuple((scores[group[0].rid], tuple(group)) for group in grouped((row.text, row) for row in ordered))


def united(one: Row, other: Row) -> Row | None:
    """Two passages of a file that share some of its text as one, named as the first is; None where they share none."""
    alike = (one.source, one.digest, one.holders) == (other.source, other.digest, other.holders)
    if not alike or one.start >= other.end or other.start >= one.end:
        return None
    early, late = sorted((one, other), key=lambda row: (row.start, row.end))
    return evolve(
        one,
        ordinal=early.ordinal,
        start=early.start,
        start_line=early.start_line,
        end=max(early.end, late.end),
        end_line=max(early.end_line, late.end_line),
        text=early.text + late.text[max(0, early.end - late.start) :],
    )


def cite(score: float, rows: Sequence[Row], trace: Trace | None = None) -> Hit:
    """The hit for rows that say the same, the one to be cited first."""
    first, *others = rows
    places = tuple(_place(row) for row in others)
    later = _later(first)
    citation = Citation(
        source=first.source,
        heading=first.heading,
        chunk_index=first.ordinal,
        heading_path=first.heading_path,
        start_line=first.start_line,
        end_line=first.end_line,
        content_hash=content_hash(first.text),
        also_in=places,
        snapshot_date=own_date(first.source) if first.holders else None,
        also_unchanged_on=listed(later) or None,
        snapshots_covered=len(first.holders) or None,
    )
    seen = signals(text=first.text, heading="\n".join(first.heading_path), source=first.source)
    return Hit(first.text, citation, round(max(0.0, score), 4), seen, trace, first.lifecycle)


def _place(row: Row) -> Place:
    return Place(row.source, row.ordinal, row.start_line, row.end_line, max(_later(row), default=None))


def _later(row: Row) -> list[str]:
    """The dates after its own on which it stood unchanged, in order."""
    dates = {date for path in row.holders if (date := own_date(path))}
    return sorted(dates - {own_date(row.source)})


def content_hash(text: str) -> str:
    """`sha256:` and the hexadecimal SHA-256 of the passage in UTF-8, so that anybody can compute it."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def marked_stale(hit: Hit) -> Hit:
    """The same hit, marked as no longer standing in its file."""
    return evolve(hit, citation=evolve(hit.citation, stale=True))
