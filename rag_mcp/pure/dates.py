"""Calendar dates, as file names and headings carry them.

    digest-2026-01-02.md     its own date is 2026-01-02, its stem before it "digest"
    2026-01-02.md            no: there is no stem        digest-2026-02-30.md    no: there is no such day

Dates are text, YYYY-MM-DD, which sorts as the days do.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date as calendar_date
from itertools import pairwise
from posixpath import splitext

from attrs import frozen

from rag_mcp.pure.shown import Shown

LISTED = 60
"""So many dates are written one by one; beyond, as runs of consecutive days."""

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_NAME = re.compile(r"(.*[^/])-([0-9]{4}-[0-9]{2}-[0-9]{2})", re.DOTALL)
_EDGES = " \t-:,;|_/\N{EN DASH}\N{EM DASH}\N{MIDDLE DOT}"


@frozen(repr=False)
class Dated(Shown):
    """What a dated path is named by: folder and stem, as one text, and its own date."""

    series: str
    date: str


def real_date(text: str) -> str | None:
    """`text`, where it is a day of the calendar written YYYY-MM-DD."""
    found = _DATE.fullmatch(text)
    if not found:
        return None
    try:
        calendar_date(*map(int, found.groups()))
    except ValueError:
        return None
    return text


def dated(path: str) -> Dated | None:
    """Series and date of a path whose name ends in -YYYY-MM-DD before its extension; None for any other."""
    found = _NAME.fullmatch(splitext(path)[0])
    return Dated(found[1], found[2]) if found and real_date(found[2]) else None


def own_date(path: str) -> str | None:
    """The date in a path's name, None where there is none."""
    named = dated(path)
    return named.date if named else None


def undated(name: str, date: str | None) -> str:
    """A heading without this one date, and without what joined the two; "" where it was nothing else."""
    if date is None:
        return name
    without = without_date(name, date)
    return name if without == name else " ".join(without.split()).strip(_EDGES)


def without_date(text: str, date: str) -> str:
    """The text without this one date: 2026-01-02, 2026/01/02, 2026.01.02, 2026_01_02, in brackets or not."""
    year, month, day = date.split("-")
    if year not in text:
        return text
    return re.sub(rf"[(\[]?(?<![0-9]){year}(?P<joint>[-/._]){month}(?P=joint){day}(?![0-9])[)\]]?", "", text)


def runs(dates: Sequence[str]) -> str:
    """Sorted dates as runs of consecutive days: `2031-04-03..2031-06-02,2031-06-05`."""
    return ",".join(first if first == last else f"{first}..{last}" for first, last in _runs(dates))


def _runs(dates: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not dates:
        return
    first = dates[0]
    for before, after in pairwise(dates):
        if _day(after) - _day(before) > 1:
            yield first, before
            first = after
    yield first, dates[-1]


def _day(date: str) -> int:
    return calendar_date.fromisoformat(date).toordinal()


def listed(dates: Sequence[str]) -> str:
    """Sorted dates as a citation writes them: one by one, or as runs where they are many."""
    return ",".join(dates) if len(dates) <= LISTED else runs(dates)


def is_listed(date: str, written: str | None) -> bool:
    """True when `date` is one of the dates that `listed` or `runs` wrote."""
    ends = (part.partition("..") for part in (written or "").split(",") if part)
    return any(first <= date <= (last or first) for first, _, last in ends)
