"""The heading names that stand in front of what is embedded.

    outermost > ... > innermost      the outer names dropped first, then the last one cut short, to fit

The first passage of a section begins with its own heading lines, so only later ones name it.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from rag_mcp.pure.merging import Section
from rag_mcp.pure.values import Measure


@frozen
class Crumb:
    """What stands in front of a section's first passage, which begins with the heading, and of its later ones.

    `first_size` is the size of the one in tokens, `size` the greater of the two.
    """

    first: str
    later: str
    first_size: int
    size: int


def crumbs_of(spans: Sequence[Section], limit: int, measure: Measure) -> list[Crumb]:
    """The crumbs of each span: outer names are dropped while one is over the limit."""
    distinct = list(dict.fromkeys(name for span in spans for name in _names(span)))
    sizes = dict(zip(distinct, measure(distinct), strict=True)) if distinct else {}
    crumbs = []
    for span in spans:
        names = _names(span)
        first, small = _crumb(names[: len(names) - span.own], limit, sizes)
        later, large = _crumb(names, limit, sizes)
        crumbs.append(Crumb(first, later, small, max(small, large)))
    return crumbs


def _names(span: Section) -> tuple[str, ...]:
    return span.path if span.title is None else (span.title, *span.path)


def _crumb(names: tuple[str, ...], limit: int, sizes: Mapping[str, int]) -> tuple[str, int]:
    while len(names) > 1 and sum(sizes[name] + 1 for name in names) > limit:
        names = names[1:]
    if names and sizes[names[0]] + 1 > limit:
        return names[0][:limit], limit
    return " > ".join(names), sum(sizes[name] + 1 for name in names)
