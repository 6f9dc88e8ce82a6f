"""Dated snapshots that repeat each other: which passages stand for others, on which day what was said.

    series    files of one folder and one stem whose names end in -YYYY-MM-DD, a real date; three or more of them
    repeat    a passage of a snapshot that the snapshot just before it in the series holds too: the same bytes under
              the same headings, each file's own date taken out of those, of the same document class and lifecycle
    survivor  the first of an unbroken run of repeats; it stands for all of them, and they are not shown

The order is by date, then by path. Where in its file a passage stands does not matter; copies are counted, so of two
today against one yesterday one is new. A file that cannot be read, or holds no passage, breaks the run: what follows
it is kept whole. A value that changes and comes back is a new fact and is kept. Names that begin with a date, one or
two dated files, and texts that are nearly equal are left as they are.

A superseded snapshot stands in its series like any other, and stands for no current passage. As of a date the series
answers by its newest snapshot that is not superseded, unless those are asked for.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from rag_mcp.pure.crumbs import undated_headings
from rag_mcp.pure.dates import dated, own_date, undated
from rag_mcp.pure.identity import digest_of
from rag_mcp.pure.manifest import NO_ROWS, RowsSeen, Rule
from rag_mcp.pure.values import Chunk

RULE_VERSION = 1
LEAST = 3
"""Files that make a series."""


Place = tuple[str, int]
"""Path and ordinal of a passage."""
Same = tuple[str, str, tuple[str, ...], str, str]
"""What must be equal: content key, text, headings without the file's own date, document class, lifecycle."""
Series = Mapping[str, tuple[str, ...]]
"""The paths of each series, in its order, by folder and stem."""


def series_of(paths: Iterable[str], least: int = LEAST) -> Series:
    """The series among these paths."""
    return {name: tuple(path for _, path in some) for name, some in _alike(paths).items() if len(some) >= least}


def _alike(paths: Iterable[str]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """(date, path) of the dated paths, in order, by folder and stem."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        if named := dated(path):
            found.setdefault(named.series, []).append((named.date, path))
    return {name: sorted(some) for name, some in found.items()}


def members(paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths that belong to a series."""
    return frozenset(path for some in series_of(paths).values() for path in some)


def mark(rule: Rule, rows: Mapping[str, RowsSeen]) -> str:
    """What stands for all that `relation` depends on; "" where there is no series. `rows` has every known file."""
    inside = sorted(members({*rows, *rule.broken}))
    if not inside:
        return ""
    seen = [(path, rows.get(path, NO_ROWS)) for path in inside]
    broken = sorted(rule.broken & set(inside))
    return digest_of(RULE_VERSION, rule.dedupe, broken, [(path, found.count, found.mark) for path, found in seen])


def sameness(path: str, chunk: Chunk, doc_class: str, lifecycle: str) -> Same:
    """What of a passage its repeats must share."""
    date = own_date(path)
    names = chunk.heading_path
    return (
        chunk.key,
        undated_headings(chunk.text, names, date),
        tuple(undated(name, date) for name in names),
        doc_class,
        lifecycle,
    )


def relation(rule: Rule, passages: Mapping[str, Sequence[Same]]) -> dict[Place, Place]:
    """Each repeat -> its survivor, for all series. `passages` has every file that is known, in order of its text."""
    if not rule.dedupe:
        return {}
    found: dict[Place, Place] = {}
    for paths in series_of({*passages, *rule.broken}).values():
        found |= collapsed([(path, passages.get(path, ())) for path in paths], rule.broken)
    return found


def collapsed(series: Iterable[tuple[str, Sequence[Same]]], broken: Collection[str] = ()) -> dict[Place, Place]:
    """Each repeat -> its survivor in one series, its files given in order, each with its passages in order."""
    found: dict[Place, Place] = {}
    before: dict[Same, list[Place]] = {}
    for path, passages in series:
        now: dict[Same, list[Place]] = {}
        for ordinal, same in enumerate(passages):
            place = path, ordinal
            waiting = before.get(same) if path not in broken else None
            if waiting:
                found[place] = waiting.pop(0)
            now.setdefault(same, []).append(found.get(place, place))
        before = {} if path in broken else now
    return found


def hidden_on(date: str, snapshots: Iterable[str]) -> frozenset[str]:
    """Those of the files of series that do not say what it said on `date`: all but its newest of that day or before."""
    hidden: set[str] = set()
    for some in _alike(snapshots).values():
        newest = max((day for day, _ in some if day <= date), default=None)
        hidden.update(path for day, path in some if day != newest)
    return frozenset(hidden)
