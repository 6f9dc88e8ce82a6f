"""Small neighbouring sections under one parent, packed together up to the budget.

    run      sections of less than `merge_below` tokens, or `small` characters, each, one after another, all below the
             parent of the first
    group    a stretch of a run, cut by `boundaries`: best before the section that stands highest, then by hash

A group's heading path is what its sections' paths share; the crumb of its first section holds for all of them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile

from attrs import evolve, field, frozen

from rag_mcp.pure.boundaries import cuts
from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Section(Shown):
    """A span of text under one heading, or under several that were packed together.

    `path` is its heading path, outermost first; `title` goes in front of the crumb where no H1 stands above; `own`
    is how many of the innermost names the span begins with, as its own heading lines; `solid`, that it is no
    running text. `size` is its size in tokens, 0 where it was not measured.
    """

    start: int
    end: int
    path: tuple[str, ...] = ()
    title: str | None = None
    own: int = 0
    solid: bool = False
    size: int = field(default=0, kw_only=True)

    @property
    def parent(self) -> tuple[str, ...]:
        """The headings above those that the span itself begins with."""
        return self.path[: len(self.path) - self.own]


def merged(
    text: str, sections: Sequence[Section], merge_below: int, budget: int, floor: float, small: int = 0
) -> Iterator[Section]:
    """The sections, all measured, those that are small packed into groups of up to `budget` tokens."""
    for run in _runs(text, sections, merge_below, small):
        edges = cuts([(section.size, _worth(text, section)) for section in run], budget, floor)
        for first, last in pairwise(edges):
            for group in _under_one_parent(run[first:last]):
                yield _packed(group)


def _runs(text: str, sections: Sequence[Section], merge_below: int, small: int) -> Iterator[Sequence[Section]]:
    def packed(section: Section) -> bool:
        return not section.solid and (
            section.size < merge_below or len(text[section.start : section.end].strip()) < small
        )

    for together, run in groupby(sections, packed):
        for section in () if together else run:
            yield [section]
        if together:
            yield from _under_one_parent([*run])


def _under_one_parent(sections: Sequence[Section]) -> Iterator[Sequence[Section]]:
    """The sections, parted where one does not touch the one before, or is not below the parent of the first."""
    group: list[Section] = []
    for section in sections:
        if group and (group[-1].end != section.start or not _is_below(section, group[0].parent)):
            yield group
            group = []
        group.append(section)
    if group:
        yield group


def _is_below(section: Section, parent: tuple[str, ...]) -> bool:
    return section.parent[: len(parent)] == parent


def _worth(text: str, section: Section) -> tuple[int, bytes]:
    body = text[section.start : section.end].strip().encode("utf-8", "surrogatepass")
    return len(section.parent), hashlib.blake2b(body, digest_size=8).digest()


def _packed(group: Sequence[Section]) -> Section:
    first, *others = group
    if not others:
        return first
    levels = zip(*(section.path for section in group), strict=False)
    path = tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels))
    own = len(path) - len(first.parent)
    size = sum(section.size for section in group)
    return evolve(first, end=group[-1].end, path=path, own=own, size=size)
