"""The heading names that stand in front of what is embedded.

    outermost > ... > innermost      the outer names dropped first, then the last one cut short, to fit

The first passage of a section begins with its own heading lines, so only later ones name it. The date that a file
carries in its name is left out of both, so that a text which is the same on two days is embedded once; what is cited
stays as it was written.
"""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from rag_mcp.pure.dates import undated
from rag_mcp.pure.merging import Section
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Measure

UNDERLINE = re.compile("=*|-*")
"""What may stand between heading lines: nothing, or what makes the line above one."""


@frozen(repr=False)
class Crumb(Shown):
    """What stands in front of a section's first passage, which begins with the heading, and of its later ones.

    `first_size` is the size of the one in tokens, `size` the greater of the two.
    """

    first: str
    later: str
    first_size: int
    size: int


def crumbs_of(spans: Sequence[Section], limit: int, measure: Measure, own_date: str | None = None) -> list[Crumb]:
    """The crumbs of each span: outer names are dropped while one is over the limit."""
    named = [_names(span, own_date) for span in spans]
    distinct = list(dict.fromkeys(name for names in named for name in names if name))
    sizes = dict(zip(distinct, measure(distinct), strict=True)) if distinct else {}
    crumbs = []
    for span, names in zip(spans, named, strict=True):
        first, small = _crumb(names[: len(names) - span.own], limit, sizes)
        later, large = _crumb(names, limit, sizes)
        crumbs.append(Crumb(first, later, small, max(small, large)))
    return crumbs


def undated_headings(text: str, names: Sequence[str], own_date: str | None) -> str:
    """The text without the file's own date in the heading lines that it begins with, those of `names`."""
    if own_date is None or own_date[:4] not in text:
        return text
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        bare = line.strip().strip("#").strip()
        if bare in names:
            ended = line.rstrip("\r\n")
            lines[at] = undated(ended, own_date) + line[len(ended) :]
        elif not UNDERLINE.fullmatch(bare):
            break
    return "".join(lines)


def _names(span: Section, own_date: str | None) -> tuple[str, ...]:
    """The names, "" for one that is nothing but the file's own date: the innermost are counted."""
    names = span.path if span.title is None else (span.title, *span.path)
    return tuple(undated(name, own_date) for name in names)


def _crumb(names: tuple[str, ...], limit: int, sizes: Mapping[str, int]) -> tuple[str, int]:
    names = tuple(filter(None, names))
    while len(names) > 1 and sum(sizes[name] + 1 for name in names) > limit:
        names = names[1:]
    if names and sizes[names[0]] + 1 > limit:
        return names[0][:limit], limit
    return " > ".join(names), sum(sizes[name] + 1 for name in names)
