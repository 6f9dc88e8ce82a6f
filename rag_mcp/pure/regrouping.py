"""What a run changes in what repeats what (`snapshots`), told before anything is written.

    mark of the record = mark of what the plan leaves     nothing to tell
    else                                                  the stored passages of the series are asked for, and counted

Telling repeats anew writes no row and embeds nothing.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from rag_mcp.pure.dates import dated
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.manifest import NO_ROWS, Belief, RowsSeen, Rule, entry_of
from rag_mcp.pure.plans import FilePlan, Plan, Prune, Reason, Regroup, Write
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.snapshots import Place, Same, mark, members, relation, sameness
from rag_mcp.pure.values import Document, Prepared


@frozen(repr=False)
class Inquiry(Shown):
    """What must be known to tell repeats anew: the stored passages of the files `stored`, and the repeats now.

    `rows` are those that the plan leaves of each dated file.
    """

    rule: Rule
    written: Mapping[str, Sequence[Same]]
    stored: tuple[str, ...]
    rows: Mapping[str, RowsSeen]


def rule_of(files: Sequence[FilePlan], run: RunIdentity) -> Rule:
    """The rule by which a run with these decisions tells repeats."""
    broken = frozenset(file.path for file in files if file.reason is Reason.UNREADABLE and dated(file.path))
    return Rule(run.dedupe_snapshots, broken)


def inquiry(plan: Plan, belief: Belief, run: RunIdentity, prepared: Mapping[str, Prepared]) -> Inquiry | None:
    """What to ask the record, or None where repeats stay as they were told."""
    rule = rule_of(plan.files, run)
    after = _rows_after(plan.files, belief, run, prepared)
    if belief.grouped.sound and belief.grouped.mark == mark(rule, after):
        return None
    inside = members({*after, *rule.broken})
    written = {
        path: tuple(sameness(path, chunk, document.doc_class, document.lifecycle) for chunk in document.chunks)
        for path in _written(plan.files) & inside
        if isinstance(document := prepared[path], Document)
    }
    return Inquiry(rule, written, tuple(sorted((inside & after.keys()) - written.keys())), after)


def regrouped(
    plan: Plan,
    asked: Inquiry,
    belief: Belief,
    stored: Mapping[str, Sequence[Same]],
    before: Mapping[Place, Place],
) -> Plan:
    """The plan, with what it changes. `stored` answers the inquiry, `before` is the record's repeat -> survivor."""
    passages = {**stored, **asked.written}
    after = relation(asked.rule, passages)
    back = before.keys() - after.keys()
    restored = sum(1 for path, ordinal in back if ordinal < asked.rows.get(path, NO_ROWS).count)
    return evolve(plan, regroup=Regroup(_why(belief, asked.rule), len(after.keys() - before.keys()), restored))


def _why(belief: Belief, rule: Rule) -> str:
    told = belief.grouped
    if not told.sound:
        return "the record of them was damaged"
    if not told.mark:
        return "they were found"
    if told.rule.dedupe != rule.dedupe:
        return f"snapshot dedupe was turned {'on' if rule.dedupe else 'off'}"
    return "they changed"


def _written(files: Sequence[FilePlan]) -> frozenset[str]:
    return frozenset(file.path for file in files if isinstance(file.action, Write))


def _rows_after(
    files: Sequence[FilePlan], belief: Belief, run: RunIdentity, prepared: Mapping[str, Prepared]
) -> Mapping[str, RowsSeen]:
    """The rows that the plan leaves of each dated file."""
    rows = {}
    for file in files:
        if not dated(file.path) or isinstance(file.action, Prune):
            continue
        document = prepared.get(file.path)
        if isinstance(file.action, Write) and isinstance(document, Document):
            rows[file.path] = entry_of(document, run).rows
        else:
            rows[file.path] = belief.rows.get(file.path, NO_ROWS)
    return rows


def shown_changes(added: int, deleted: int, more_repeats: int) -> tuple[int, int]:
    """(added, deleted) of the passages that are shown, from those of all rows and how many more of them are repeats."""
    if more_repeats >= 0:
        unseen = min(added, more_repeats)
        return added - unseen, deleted + more_repeats - unseen
    unseen = min(deleted, -more_repeats)
    return added - more_repeats - unseen, deleted - unseen
