"""Text for people: the plan, and the report. Pure: values in, lines out.

Everything that stems from a file goes through `printable`, so no escape sequence reaches a terminal.
"""

from collections.abc import Iterator, Sequence

from rag_mcp.pure.paths import printable
from rag_mcp.pure.plans import FilePlan, Hold, Plan, Prune, Reason, Regroup, Write, embeds
from rag_mcp.pure.summary import Report

SIGNS = {
    Reason.NEW: "+",
    Reason.MOVED: ">",
    Reason.CHANGED: "~",
    Reason.FORCED: "~",
    Reason.RECUT: "~",
    Reason.ROWS_MISSING: "~",
    Reason.METADATA_STALE: "#",
    Reason.RETIRED: "#",
    Reason.RESTORED: "#",
    Reason.EMBEDDER_CHANGED: "~",
    Reason.VECTORS_MISSING: "~",
    Reason.GONE: "-",
    Reason.MOVED_AWAY: "<",
    Reason.EXCLUDED: "-",
    Reason.UNREADABLE: "!",
    Reason.UNSEEN: "!",
    Reason.UNCHANGED: "=",
}
METADATA = (Reason.METADATA_STALE, Reason.RETIRED, Reason.RESTORED)
NAMED = 3  # paths that a line names before it says "and N more"
COLUMN = 29  # where the second column begins; numbers end there


def _columns(head: str, text: str, *, number: int | None = None) -> str:
    """A line of two columns; a number stands in front of the text, its last digit always at the same place."""
    shown = "" if number is None else f"{number} "
    width = COLUMN + 1 - len(shown.rstrip()) if shown else COLUMN
    return f"  {head}{' ' * max(2, width - len(head))}{shown}{text}"


def plan_lines(plan: Plan, *, name: str | None = None, applied: bool = False) -> Iterator[str]:
    """The plan as a person reads it; `name` is how the user wrote the corpus."""
    where = printable(name or plan.root)
    yield f"plan for {where}   generation {plan.generation}   embedder {printable(plan.embedder)} ({plan.dim})"
    for note in plan.notes:
        yield f"  * {printable(note)}"
    for reason in Reason:
        files = [file for file in plan.files if file.reason is reason]
        if files and reason is not Reason.UNCHANGED:
            yield from _reason_lines(reason, files)
    for path, why in plan.gaps:
        yield _columns("! could not look into", f"{printable(path) or 'the corpus'} ({printable(why)})")
    if plan.rebuild:
        yield _columns("* the index is rebuilt", f"{printable(plan.rebuild)}; from the cache, without embedding twice")
    if plan.refill_keywords:
        yield "  * the keyword index is filled again"
    if plan.regroup:
        yield _regrouped(plan.regroup)
    if unchanged := sum(1 for file in plan.files if file.reason is Reason.UNCHANGED):
        yield f"  = {unchanged} unchanged"
    yield from left_out_lines([(excluded.path, excluded.why) for excluded in plan.excluded])
    for warning in plan.warnings:
        yield f"  warning: {printable(warning)}"
    if plan.refusal:
        yield f"  refused: {plan.refusal.message}"
    if not applied:
        yield "nothing to do" if plan.quiet else "nothing has been written; run without --plan to apply"


def _regrouped(regroup: Regroup) -> str:
    counts = ((regroup.collapsed, "to collapse"), (regroup.restored, "to bring back"))
    work = [(number, f"{_plural(number, 'repeat')} {what}") for number, what in counts if number]
    first, *others = work or [(0, "repeats that changed")]
    more = "".join(f", {number} {what}" for number, what in others)
    return _columns(
        "* in dated series", f"{first[1]}{more} ({printable(regroup.why)}), nothing to embed", number=first[0]
    )


def _reason_lines(reason: Reason, files: Sequence[FilePlan]) -> Iterator[str]:
    head = f"{SIGNS[reason]} {len(files)} {reason.value}"
    if reason in (Reason.UNREADABLE, Reason.UNSEEN):
        kept = [file for file in files if isinstance(file.action, Hold) and file.action.rows]
        head += ", rows held" if kept else ""
        for line, file in enumerate(files[:NAMED]):
            yield _columns(head if line == 0 else "", _named(file))
        if len(files) > NAMED:
            yield _columns("", f"and {len(files) - NAMED} more")
        return
    number, work = _work(files)
    told = len(files) <= NAMED and any(file.detail for file in files)
    yield _columns(head, work + (_names(files) if told else ""), number=number)


def _named(file: FilePlan) -> str:
    return printable(file.path) + (f" ({printable(file.detail)})" if file.detail else "")


def _names(files: Sequence[FilePlan]) -> str:
    return "   " + ", ".join(_named(file) for file in files)


def _work(files: Sequence[FilePlan]) -> tuple[int, str]:
    embed = sum(len(embeds(file)) for file in files)
    rows = sum(len(f.action.keys) if isinstance(f.action, Write) else f.action.rows for f in files)
    if all(isinstance(file.action, Prune) for file in files):
        return rows, f"{_plural(rows, 'row')} to prune"
    if all(isinstance(file.action, Write) for file in files) and files[0].reason in METADATA:
        return rows, f"{_plural(rows, 'row')} to rewrite, {embed or 'nothing'} to embed"
    kept = rows - embed
    tail = f", {kept} kept" if kept and not all(file.reason is Reason.NEW for file in files) else ""
    return embed, f"{_plural(embed, 'chunk')} to embed{tail}"


def left_out_lines(excluded: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A line for each rule that left something out; `excluded` is (path, rule)."""
    by_rule: dict[str, list[str]] = {}
    for path, why in excluded:
        by_rule.setdefault(why, []).append(path)
    for why, paths in sorted(by_rule.items()):
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        yield _columns(". left out", f"{', '.join(map(printable, paths[:NAMED]))}{more} ({printable(why)})")


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def report_lines(report: Report) -> Iterator[str]:
    """What an ingest did."""
    yield f"{report_line(report)}; {report.store_count} passages in all"
    yield (
        f"  {report.texts_embedded} texts embedded, {report.texts_reused} reused;"
        f" {report.chunks_added} rows added, {report.chunks_deleted} removed, {report.rows_rewritten} rewritten"
    )
    if report.chunks_deduped:
        yield f"  {report.chunks_deduped} more repeat the snapshot before them in a dated series, and are not shown"
    if report.rebuilt:
        yield f"  the index was rebuilt: {printable(report.rebuilt)}"
    yield from left_out_lines([(path.path, path.reason) for path in report.excluded])
    if report.held:
        yield f"  {len(report.held)} could not be read; what was stored of them was kept:"
    for held in report.held:
        yield f"    {printable(held.path)} ({printable(held.reason)})"
    for warning in report.warnings:
        yield f"  warning: {printable(warning)}"


def report_line(report: Report) -> str:
    """The same on one line."""
    moved = f" {report.files_moved} moved," if report.files_moved else ""
    return (
        f"generation {report.generation}: {report.files_ingested - report.files_moved} ingested,{moved}"
        f" {report.files_unchanged} unchanged, {report.files_pruned - report.files_moved} pruned,"
        f" {len(report.held)} held, {report.texts_embedded} texts embedded; corpus {printable(report.corpus.label)}"
    )
