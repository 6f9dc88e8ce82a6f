"""What repeats what in dated series, as the record keeps it: derived from the rows, told anew as a whole.

    repeats(path, ordinal, first_path, first_ordinal)    a row that is not shown, and the one that stands for it
    snapshots(path)                                      the files of all series
    grouped                                              one line: by which rule they were told, from what, how many

Rows are named by their places, so that rows written again as they were keep what was told of them.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from rag_mcp.adapters.record import rows as lay
from rag_mcp.pure.manifest import NO_ROWS, Grouped, RowsSeen, Rule
from rag_mcp.pure.snapshots import Place, Same, sameness
from rag_mcp.pure.view import View

IN_USE = "rows.lifecycle = 'current'"
"""Of a row: its document is not superseded."""
SHOWN = "not exists (select 1 from repeats r where r.path = rows.path and r.ordinal = rows.ordinal)"
"""Of a row: it is no repeat."""


def read_evidence(db: sqlite3.Connection) -> dict[str, RowsSeen]:
    """Number and marks of the rows of every known file."""
    found = {path: NO_ROWS for (path,) in db.execute("select path from files")}
    seen = db.execute("select path, count(*), sum(mark) from rows group by path")
    return found | {path: RowsSeen(count, mark) for path, count, mark in seen}


def read_grouped(db: sqlite3.Connection) -> Grouped:
    """By what repeats were told, and whether there is as much of them as was put in."""
    row = db.execute("select dedupe, broken, mark, lines from grouped").fetchone()
    (count,) = db.execute("select (select count(*) from repeats) + (select count(*) from snapshots)").fetchone()
    if row is None:
        return Grouped(sound=count == 0)
    dedupe, broken, mark, lines = row
    return Grouped(Rule(bool(dedupe), frozenset(json.loads(broken))), mark, sound=count == lines)


def read_repeats(db: sqlite3.Connection) -> dict[Place, Place]:
    """Each repeat -> its survivor."""
    found = db.execute("select path, ordinal, first_path, first_ordinal from repeats")
    return {(path, ordinal): (first, at) for path, ordinal, first, at in found}


def read_passages(db: sqlite3.Connection, paths: Iterable[str]) -> dict[str, Sequence[Same]]:
    """What the sound rows of each path must share with their repeats, in order."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    sql = f"select {lay.ROW_COLUMNS} from rows where path = ? order by ordinal"
    return {
        path: [
            sameness(path, chunk, row["doc_class"], row["lifecycle"])
            for row, chunk in lay.sound(cursor.execute(sql, [path]))
        ]
        for path in paths
    }


def write_repeats(
    db: sqlite3.Connection, repeats: Mapping[Place, Place], snapshots: Sequence[str], grouped: Grouped
) -> int:
    """Put all of it in place of what is there; how many repeats there were."""
    before = db.execute("delete from repeats").rowcount
    db.execute("delete from snapshots")
    db.executemany("insert into repeats values (?, ?, ?, ?)", [(*place, *first) for place, first in repeats.items()])
    db.executemany("insert into snapshots values (?)", [(path,) for path in snapshots])
    line = (
        1,
        grouped.rule.dedupe,
        json.dumps(sorted(grouped.rule.broken)),
        grouped.mark,
        len(repeats) + len(snapshots),
    )
    db.execute("insert or replace into grouped values (?, ?, ?, ?, ?)", line)
    return int(before)


def read_snapshots(db: sqlite3.Connection, *, retired: bool = True) -> list[str]:
    """The files of all series, by path; without `retired` those that are not superseded."""
    kept = "" if retired else "where path not in (select path from files where lifecycle <> 'current')"
    return [path for (path,) in db.execute(f"select path from snapshots {kept} order by path")]


def holders(db: sqlite3.Connection, rows: Iterable[Place], view: View) -> dict[Place, tuple[str, ...]]:
    """Of each of these rows that stands in a series: the files that it stands for in view, its own first."""
    found: dict[Place, tuple[str, ...]] = {}
    repeated = "select path from repeats where first_path = ? and first_ordinal = ? order by path"
    for place in rows:
        if db.execute("select 1 from snapshots where path = ?", place[:1]).fetchone():
            others = db.execute(repeated, place) if view.as_of is None else ()
            found[place] = (place[0], *(path for (path,) in others))
    return found
