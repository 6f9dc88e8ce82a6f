"""Text for people: the plan, the report, an answer, findings. Pure: values in, lines out.

Everything that stems from a file goes through `printable` or `shown`, so no escape sequence reaches a terminal.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rag_mcp.pure.dates import runs
from rag_mcp.pure.paths import printable
from rag_mcp.pure.plans import FilePlan, Hold, Plan, Prune, Reason, Regroup, Write, embeds
from rag_mcp.pure.summary import Report
from rag_mcp.pure.values import CURRENT

if TYPE_CHECKING:  # who shows one of these has made it; who does not need not load it
    from rag_mcp.pure.changes import Version
    from rag_mcp.pure.citations import Answer, Hit
    from rag_mcp.pure.coverage import Brief, Uncovered
    from rag_mcp.pure.findings import Finding
    from rag_mcp.pure.fusion import Trace
    from rag_mcp.pure.statistics import Stats

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


def answer_lines(
    answer: "Answer", *, explain: bool = False, changes: "Sequence[Sequence[Version]]" = ()
) -> Iterator[str]:
    """Numbered passages with their citations; with `explain`, why each ranks where it does; the `changes` of each."""
    if not answer.results:
        yield "nothing was found"
    elif answer.nothing_close:
        yield f"nothing close was found (confidence {answer.confidence:.2f}); the nearest passages:"
    if answer.uncovered:
        yield _missed(answer.uncovered)
    for number, hit in enumerate(answer.results, start=1):
        yield from _hit_lines(number, hit)
        if explain and hit.trace:
            yield f"     why: {_why(hit.trace)}"
        yield from change_lines(changes[number - 1] if changes else ())
        yield ""
    if answer.dropped_out_of_scope:
        yield f"{answer.dropped_out_of_scope} passages lie outside the corpus and are not shown"
    if answer.degraded:
        yield f"the index could not be used ({printable(answer.degraded)}); every vector was compared instead"


def _missed(missed: "Brief") -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in missed.by_reason.items())
    named = f", such as {', '.join(map(printable, missed.examples))}" if missed.examples else ""
    return f"not searchable: {kinds}{named}; the whole list: rag-mcp stats --coverage"


def _hit_lines(number: int, hit: "Hit") -> Iterator[str]:
    cited = hit.citation
    trail = " > ".join(cited.heading_path)
    stale = "   [stale: the file no longer holds this here]" if cited.stale else ""
    where = place(cited.source, cited.start_line, cited.end_line)
    retired = "" if hit.lifecycle == CURRENT else f"   [{printable(hit.lifecycle)}]"
    yield f"{number}. {where}   {hit.score:.4f}   {printable(trail)}{retired}{stale}"
    yield from (f"     {line}" for line in shown(hit.text))
    if cited.also_in:
        more = f" and {len(cited.also_in) - NAMED} more" if len(cited.also_in) > NAMED else ""
        places = ", ".join(place(p.source, p.start_line, p.end_line) for p in cited.also_in[:NAMED])
        yield f"     also in {places}{more}"
    if cited.snapshots_covered and cited.snapshots_covered > 1:
        dates = cited.also_unchanged_on or cited.snapshot_date or ""
        brief = dates if ".." in dates else runs(dates.split(","))
        yield f"     unchanged on {brief} ({cited.snapshots_covered} snapshots)"
    if hit.signals:
        yield f"     take care: {', '.join(hit.signals)}"


def change_lines(changes: "Sequence[Version]") -> Iterator[str]:
    """When a block changed over its dated series, and from what to what."""
    from rag_mcp.pure.changes import difference

    before: str | None = None
    for number, version in enumerate(changes):
        lines = difference(before, version.text) if number and version.text is not None and before is not None else []
        what = (
            "first said" if not number else "gone" if version.text is None else "back" if before is None else "changed"
        )
        span = version.first if version.first == version.last else f"{version.first} to {version.last}"
        yield f"     {what} {span} ({version.snapshots} {_plural(version.snapshots, 'snapshot')})"
        yield from (f"       {printable(line)}" for line in lines)
        before = version.text


def _why(trace: "Trace") -> str:
    """The sum, and what it is made of."""
    parts = []
    if trace.cosine is not None and trace.weight:
        parts.append(
            f"{trace.weight:.2f} x cosine {max(0.0, trace.cosine):.4f} (number {trace.meaning_rank} by meaning)"
        )
    if trace.weight < 1:
        found = (
            "none of its words" if trace.bm25 is None else f"BM25 {trace.bm25:.2f}, number {trace.word_rank} by words"
        )
        parts.append(f"{1 - trace.weight:.2f} x words {trace.words:.4f} ({found})")
    return f"{trace.score:.4f} = {' + '.join(parts)}"


def place(source: str, first: int, last: int) -> str:
    """A citation in the form that editors open: path:line, or path:first-last."""
    return f"{printable(source)}:{first}" if first == last else f"{printable(source)}:{first}-{last}"


def shown(text: str) -> list[str]:
    """The lines of a passage, safe for a terminal."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return [printable(line) for line in unified.split("\n")]


def finding_lines(findings: "Sequence[Finding]") -> Iterator[str]:
    """What a check found, each with what mends it."""
    for finding in findings:
        yield f"{finding.severity.value:<6}{printable(finding.where)}: {printable(finding.what)}"
        yield f"      mend: {printable(finding.mend)}"


def stats_lines(stats: "Stats") -> Iterator[str]:
    """What a store holds."""
    yield f"store       {printable(stats.store)} ({stats.bytes_on_disk / 1e6:.1f} MB)"
    yield f"corpus      {printable(stats.corpus or 'none yet')}"
    yield f"            {printable(stats.revision.label if stats.revision else 'its commit was not noted')}"
    yield f"generation  {stats.generation}" + (f", {printable(stats.finished)}" if stats.finished else "")
    yield f"embedder    {printable(stats.embedder or 'none yet')}" + (f" ({stats.dim})" if stats.dim else "")
    classes = ", ".join(f"{count} {printable(name)}" for name, count in sorted(stats.classes.items()))
    yield f"holds       {stats.files} files, {stats.passages} passages ({classes or 'none'})"
    if stats.repeats:
        yield f"            {stats.repeats} more passages repeat one of these in a dated series, and are not shown"
    if stats.retired:
        yield f"            {stats.retired} of the passages are superseded, and shown when asked for"
    vectors = f"{stats.vectors} distinct vectors, {stats.cached_vectors} cached"
    yield f"            {stats.distinct_texts} distinct texts, {vectors}"


def coverage_lines(uncovered: "Sequence[Uncovered]") -> Iterator[str]:
    """What is not wholly searchable, a line for each path, those that lack the same together."""
    if not uncovered:
        yield "coverage    every file is wholly searchable"
    for lack, alike in groupby(uncovered, lambda each: each.lack):
        paths = list(alike)
        yield f"coverage    {len(paths)} {lack.value}"
        for each in paths:
            yield f"            {printable(each.path) or 'the corpus'} ({printable(each.why)})"
