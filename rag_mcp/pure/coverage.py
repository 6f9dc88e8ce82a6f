"""What of a corpus is not wholly searchable: every such path, what it lacks, and why.

    unreadable, undecodable, too large     it is there, and its text could not be had; what was stored of it is kept
    out of sight                           a folder below which the look did not reach
    excluded                               seen, and left out by a rule or by what the file asks itself; by their names
                                           no Markdown, which are listed once for each folder and ending
    superseded                             retired by its front matter: found when that is asked for
    without text                           read, and there is nothing in it to search
    with a warning                         searchable, save for what the warning says

The first five are what a run learned and no entry can tell (`unseen`); the last three stand in the entries. A path may
be listed more than once.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from posixpath import basename, dirname, join, splitext

from attrs import frozen

from rag_mcp.pure.ignore import nothing_lost
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import CURRENT, Excluded, Lack, Listing, Prepared, Unreadable

NO_TEXT = "nothing in it can be searched"
RETIRED = "lifecycle: superseded in its front matter"
NOT_MARKDOWN = "not Markdown by its name"
NAMED = 3
"""Paths that a brief names."""
LONGEST = 160
"""Characters of a path in a brief."""
_ORDER = {lack: place for place, lack in enumerate(Lack)}


@frozen(repr=False)
class Uncovered(Shown):
    """A path ("" is the root, a folder that was left out ends in "/"), what it lacks, and a clause that says why."""

    path: str
    lack: Lack
    why: str


def unseen(look: Listing, prepared: Mapping[str, Prepared]) -> tuple[Uncovered, ...]:
    """What this look, and the reading after it, could not have or left out; in order."""
    refused = [read for read in prepared.values() if isinstance(read, Unreadable)]
    asked = [read for read in prepared.values() if isinstance(read, Excluded)]
    return _in_order(
        chain(
            (Uncovered(each.path, each.lack, each.why) for each in (*look.unreadables, *refused)),
            (Uncovered(gap.path, Lack.UNSEEN, gap.why) for gap in look.gaps),
            (Uncovered(each.path, Lack.EXCLUDED, each.why) for each in (*look.excluded, *asked)),
            _others(look.others),
        )
    )


def _others(paths: Iterable[str]) -> Iterator[Uncovered]:
    alike: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        alike.setdefault((dirname(path), splitext(path)[1] or basename(path)), []).append(path)
    for (folder, ending), several in alike.items():
        if len(several) == 1:
            yield Uncovered(several[0], Lack.EXCLUDED, f"it is {NOT_MARKDOWN}")
        else:
            why = f"{len(several)} files, each {NOT_MARKDOWN}"
            yield Uncovered(join(folder, f"*{ending}"), Lack.EXCLUDED, why)


Held = tuple[str, int, tuple[str, ...], str]
"""Of a stored file: path, passages, warnings, lifecycle."""


def coverage(known: Iterable[Uncovered], entries: Iterable[Held]) -> tuple[Uncovered, ...]:
    """The whole list: what the last run knew to be unseen, and what the stored files lack; in order.

    A file that could not be read is told once, as that: what is stored of it is from before.
    """
    unseen_now = tuple(known)
    told = {each.path for each in unseen_now}
    held = (entry for entry in entries if entry[0] not in told)
    return _in_order(chain(unseen_now, (lacking for entry in held for lacking in _of_entry(*entry))))


@frozen(repr=False)
class Brief(Shown):
    """What is not searchable, in short: number of paths, of each kind, and a few of the paths."""

    not_searchable: int
    by_reason: Mapping[str, int]
    examples: tuple[str, ...]


def brief(uncovered: Iterable[Uncovered], *, retired: bool = False) -> Brief | None:
    """In short what an answer may be missing; None where nothing is. `retired`: superseded documents could answer.

    Left out are files that are searchable for all but a warning, and what holds no notes or is read elsewhere. What a
    rule leaves out may be private: it is counted, never named.
    """
    found = (Lack.WARNED, Lack.RETIRED) if retired else (Lack.WARNED,)
    missed = [each for each in uncovered if each.lack not in found and not nothing_lost(each.why)]
    if not missed:
        return None
    kinds = {lack.value: sum(1 for each in missed if each.lack is lack) for lack in Lack}
    named = (each for each in missed if each.lack is not Lack.EXCLUDED or each.why.endswith(NOT_MARKDOWN))
    examples = tuple(_clipped(each.path or "the corpus") for each in islice(named, NAMED))
    return Brief(len(missed), {kind: count for kind, count in kinds.items() if count}, examples)


def _clipped(path: str) -> str:
    return path if len(path) <= LONGEST else path[:LONGEST] + "\N{HORIZONTAL ELLIPSIS}"


def _of_entry(path: str, passages: int, warnings: tuple[str, ...], lifecycle: str) -> Iterator[Uncovered]:
    if lifecycle != CURRENT:
        yield Uncovered(path, Lack.RETIRED, RETIRED)
    if not passages:
        yield Uncovered(path, Lack.EMPTY, NO_TEXT)
    for warning in warnings:
        yield Uncovered(path, Lack.WARNED, warning)


def _in_order(found: Iterable[Uncovered]) -> tuple[Uncovered, ...]:
    return tuple(sorted(set(found), key=lambda each: (_ORDER[each.lack], each.path, each.why)))
