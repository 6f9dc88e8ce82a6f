"""When two passages say the same: then one of them is shown, and the others stand in its `also_in`.

    said    = (outer headings, innermost heading and body)     put aside: blanks, rules, depth and numbering of headings
    the same  where the second parts are equal, and the first as well or one of them is empty

Nothing else is put aside: "400 hours" and "300 hours" are two facts, and so are equal lines below Pump A and Pump B.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Generic, TypeVar

from attrs import define, field, frozen

from rag_mcp.pure.shown import Shown

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?:\d+(?:\.\d+)*[.)][ \t]+)?(.*?))??(?:[ \t]+#+)?[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
T = TypeVar("T")


@frozen(repr=False)
class Said(Shown):
    """What a passage says; `outer` are the headings in front of the one that its body stands under."""

    outer: tuple[str, ...]
    core: str


def said(text: str) -> Said:
    """What `text` says."""
    lines = [line for line in text.splitlines() if line.strip() and not _RULE.match(line)]
    leading = list(takewhile(_HEADING.match, lines))
    names = [_bare(line) for line in leading]
    inner = [*names[-1:], *map(_bare, lines[len(leading) :])]
    core = " ".join(" ".join(inner).split())
    return Said(tuple(names[:-1]), core) if core else Said((), " ".join(text.split()))


def _bare(line: str) -> str:
    heading = _HEADING.match(line)
    return " ".join((heading[1] or "").split()) if heading else line


@define(repr=False)
class _Group(Shown, Generic[T]):
    outer: tuple[str, ...]
    members: list[T] = field(factory=list)


def grouped(passages: Iterable[tuple[str, T]]) -> Sequence[Sequence[T]]:
    """What comes with each (text, value), in groups that say the same; groups and members in the order given."""
    groups: list[_Group[T]] = []
    by_core: dict[str, list[_Group[T]]] = {}
    for text, value in passages:
        says = said(text)
        likely = by_core.setdefault(says.core, [])
        group = next((g for g in likely if not g.outer or not says.outer or g.outer == says.outer), None)
        if group is None:
            group = _Group[T](says.outer)
            likely.append(group)
            groups.append(group)
        group.outer = group.outer or says.outer
        group.members.append(value)
    return [group.members for group in groups]
