"""Answers as lines of text, with what they cite, and why.

Everything that stems from a file goes through `printable` or `shown`, so no escape sequence reaches a terminal.
"""

from collections.abc import Iterator, Sequence

from rag_mcp.pure.changes import Version, difference
from rag_mcp.pure.citations import Answer, Hit
from rag_mcp.pure.coverage import Brief
from rag_mcp.pure.dates import runs
from rag_mcp.pure.fusion import Trace
from rag_mcp.pure.paths import place, printable, shown
from rag_mcp.pure.values import CURRENT

NAMED = 3  # places that a line names before it says "and N more"


def answer_lines(
    answer: Answer, *, explain: bool = False, timing: bool = False, changes: Sequence[Sequence[Version]] = ()
) -> Iterator[str]:
    """Numbered passages with their citations.

    With `explain`, why each ranks where it does; the `changes` of each; with `timing`, what took how long.
    """
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
    for part in answer.lookups if timing else ():
        yield f"{part.name:<10}{part.milliseconds:>9.1f} ms   {part.found} of at most {part.bound}"
    if answer.dropped_out_of_scope:
        yield f"{answer.dropped_out_of_scope} passages lie outside the corpus and are not shown"
    if answer.degraded:
        yield f"the index could not be used ({printable(answer.degraded)}); every vector was compared instead"


def _missed(missed: Brief) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in missed.by_reason.items())
    named = f", such as {', '.join(map(printable, missed.examples))}" if missed.examples else ""
    return f"not searchable: {kinds}{named}; the whole list: rag-mcp stats --coverage"


def _hit_lines(number: int, hit: Hit) -> Iterator[str]:
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


def change_lines(changes: Sequence[Version]) -> Iterator[str]:
    """When a block changed over its dated series, and from what to what."""
    before: str | None = None
    for number, version in enumerate(changes):
        lines = difference(before, version.text) if number and version.text is not None and before is not None else []
        what = (
            "first said" if not number else "gone" if version.text is None else "back" if before is None else "changed"
        )
        span = version.first if version.first == version.last else f"{version.first} to {version.last}"
        yield f"     {what} {span} ({version.snapshots} snapshot{'s' if version.snapshots != 1 else ''})"
        yield from (f"       {printable(line)}" for line in lines)
        before = version.text


def _why(trace: Trace) -> str:
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
