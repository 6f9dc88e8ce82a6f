"""How the text under one heading changed from snapshot to snapshot of a dated series.

A block is what stands under one heading path in one file; each file's own date, and the numbers in front of headings,
are no part of the path. Snapshots in which it is the same, their own dates aside, make one version; so does a stretch
of them in which it is not there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import groupby

from attrs import frozen

from rag_mcp.pure.dates import own_date, undated, without_date
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Chunk

NUMBER = re.compile(r"^[0-9]+[.)]\s+(?=\S)")


@frozen(repr=False)
class Version(Shown):
    """What a block said from its `first` date to its `last`, in `snapshots` files, `source` the first of them.

    `text` is None where the block was not there.
    """

    source: str
    first: str
    last: str
    snapshots: int
    text: str | None


def versions(
    series: Iterable[tuple[str, Sequence[Chunk]]], source: str, chunk_index: int, as_of: str | None = None
) -> tuple[Version, ...]:
    """The versions of the block that this passage belongs to, from the first snapshot that has it on; none if unknown.

    `series` has the files of the series in order, each with its passages; those after `as_of` are not looked at.
    """
    files = [(path, chunks) for path, chunks in series if as_of is None or (own_date(path) or "") <= as_of]
    asked = [c for path, chunks in files for c in chunks if path == source and c.ordinal == chunk_index]
    if not asked:
        return ()
    heading = _heading(source, asked[0])
    found: list[Version] = []
    for said, alike in groupby(_texts(files, heading), key=lambda item: item[1]):
        (path, _, text), *others = alike
        if found or said is not None:
            last = others[-1][0] if others else path
            found.append(Version(path, own_date(path) or "", own_date(last) or "", 1 + len(others), text))
    return tuple(found)


def _texts(
    files: Iterable[tuple[str, Sequence[Chunk]]], heading: tuple[str, ...]
) -> Iterator[tuple[str, str | None, str | None]]:
    """(path, text without its own date, text) of the block in each file; None twice where it is not there."""
    for path, chunks in files:
        parts = [chunk.text for chunk in chunks if _heading(path, chunk) == heading]
        text = "\n\n".join(parts) if parts else None
        yield path, text and without_date(text, own_date(path) or ""), text


def _heading(path: str, chunk: Chunk) -> tuple[str, ...]:
    return tuple(NUMBER.sub("", undated(name, own_date(path))) for name in chunk.heading_path)


def difference(before: str | None, after: str | None) -> list[str]:
    """The lines that went ("- ...") and came ("+ ...") between two versions."""
    old, new = ((text or "").splitlines() for text in (before, after))
    lines = list(unified_diff(old, new, lineterm="", n=0))[2:]
    return [f"{line[0]} {line[1:]}" for line in lines if not line.startswith("@@") and line[1:].strip()]
