"""Keeps what repeats what in dated series (`pure.snapshots`) true to the rows.

It is told anew as a whole, inside the transaction that writes the rows, whenever they are not those it was told from.
"""

from rag_mcp.effects.record import Commit, Snapshot
from rag_mcp.pure.manifest import NO_ROWS, Grouped, Rule
from rag_mcp.pure.snapshots import mark, members, relation


def regroup(tx: Commit, rule: Rule, *, anew: bool = False) -> int:
    """Tell repeats anew, all of them, where they were told from other rows; how many more there are.

    `anew`: in any case.
    """
    told, rows = tx.grouped(), tx.evidence()
    now = mark(rule, rows)
    if told.sound and told.mark == now and not anew:
        return 0
    snapshots = sorted(members({*rows, *rule.broken}) & rows.keys())
    repeats = relation(rule, tx.passages(snapshots))
    return len(repeats) - tx.relate(repeats, snapshots, Grouped(rule, now))


def regroup_fault(snapshot: Snapshot) -> str | None:
    """Why what the record holds of repeats is not what its rows make, or None."""
    belief = snapshot.belief()
    told = belief.grouped
    if not told.sound:
        return "there is not as much of them as was put in"
    rows = {path: belief.rows.get(path, NO_ROWS) for path in {*belief.rows, *belief.entries}}
    if told.mark == "":  # there are no series, or no ingest has looked for them yet
        return None
    if told.mark != mark(told.rule, rows):
        return "they were told from other rows"
    snapshots = sorted(members({*rows, *told.rule.broken}) & rows.keys())
    if snapshots != snapshot.snapshots() or relation(told.rule, snapshot.passages(snapshots)) != snapshot.repeats():
        return "they are not those that the rows make"
    return None
