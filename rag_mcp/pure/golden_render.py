"""Golden cases for people: the file to begin with, the table of a run, the table of what moved."""

import json
from collections.abc import Iterator, Mapping, Sequence

from rag_mcp.pure.comparing import JUDGED, Comparison, Delta, Move
from rag_mcp.pure.golden import PROPOSED, Case
from rag_mcp.pure.judging import Judged, Run
from rag_mcp.pure.paths import printable

WIDE = 40  # columns of a case's name
TEMPLATE = """\
# Questions that your notes answer, and where. Run them with: rag-mcp golden run {name} --corpus NOTES
#
# [[case]]
# question = "how often are the pumps serviced?"           # as you, or your agent, would ask
# expect = [                                               # all that the passages should hold
#     {{ source = "ops/pumps.md", heading = "Service interval" }},
#     {{ source = "ops/log.md", lines = "12-18" }},
#     {{ quote = "every 400 running hours", grade = 2 }},
# ]
# id = "pumps"             # a name that stays when the question is worded anew; else made of the question
# doc_class = "note"       # ask for one class only: note, or handoff
# tags = ["ops"]           # for you
# k = 5                    # look at so many passages, 1 to 20; else as many as the run does
#
# [[case]]
# question = "who won the regatta of 1987?"
# none = true              # the notes do not say; right is an answer that says that nothing is close
#
# What is expected needs a source, a path below the corpus, or a quote. Heading, lines and quote narrow each other; a
# source alone means that any passage of the document will do; a quote alone, that the document does not matter. Grade:
# 1 to 10, 1 where there is none.
"""


def template_lines(name: str, proposed: Sequence[Case]) -> Iterator[str]:
    """A file of cases to begin with; `proposed` cases are written out, to be worded anew."""
    yield TEMPLATE.format(name=printable(name)).rstrip("\n")
    if proposed:
        yield ""
        yield "# Proposed, each from a heading of your notes. A question that repeats its heading proves little:"
        yield f'# EDIT each into what one would ask, then remove its tag "{PROPOSED}".'
    for case in proposed:
        expected = case.expect[0]
        yield ""
        yield "[[case]]"
        yield f"question = {_toml(case.question)}  # EDIT"
        yield f"expect = [{{ source = {_toml(expected.source)}, heading = {_toml(expected.heading)} }}]"
        yield f'tags = ["{PROPOSED}"]'


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def run_lines(name: str, run: Run) -> Iterator[str]:
    """A line for each case, what is wrong with cases, and the means."""
    yield headline(name, run)
    yield f"  {'case':<{WIDE}}  rank  ndcg  recall  first passage"
    for case in run.cases:
        first = printable(case.sources[0]) if case.sources else "nothing came back"
        if case.none:
            said = "no answer, and said so" if case.silent else f"no answer, score {case.top:.2f}:"
            yield f"  {_name(case.id)}     {said} {first}"
        else:
            recall = "     -" if case.recall is None else f"{case.recall:6.2f}"
            yield f"  {_name(case.id)}  {_rank(case):>4}  {case.ndcg:.2f}  {recall}  {first}"
    yield from problem_lines(run.cases)
    yield means_line(run.means)


def problem_lines(cases: Sequence[Judged]) -> Iterator[str]:
    """What is amiss with cases and corpus, and how many are still as proposed."""
    for case in cases:
        for problem in case.problems:
            yield f"  ! {printable(case.id)}: {printable(problem)}"
    if proposed := sum(PROPOSED in case.tags for case in cases):
        yield f'  ! {proposed} of {len(cases)} questions are as they were proposed (tag "{PROPOSED}"): word them anew'


def headline(name: str, run: Run) -> str:
    """Which cases, over what."""
    search = "".join(f"   {printable(key)} {printable(value)}" for key, value in sorted(run.setup.search.items()))
    setup = f"embedder {printable(run.setup.embedder)}   {run.setup.passages} passages{search}"
    return f"{printable(name)}   {_count(len(run.cases), 'case')}   k {run.k}   {setup}"


def means_line(means: Mapping[str, float]) -> str:
    """The means on one line."""
    return "  ".join(f"{metric} {value:.3f}" for metric, value in means.items())


def comparison_lines(name: str, against: str, comparison: Comparison) -> Iterator[str]:
    """What moved, the means side by side, and the verdict."""
    yield f"{printable(name)} against {printable(against)}   {_count(comparison.common, 'case')} compared"
    for change in comparison.changes:
        yield f"  * {printable(change)}"
    for move in comparison.moves:
        yield from _move_lines(move)
    yield f"  {'measure':<10}  before   after   change"
    for delta in comparison.deltas:
        yield _delta_line(delta)
    yield verdict_line(comparison)


def _move_lines(move: Move) -> Iterator[str]:
    case = move.after or move.before
    question = printable(case.question) if case else ""
    if move.kind in JUDGED and move.before and move.after:
        yield f"  {move.kind.value:<7} {_name(move.id)}  {_standing(move.before, move.after)}   {question}"
        yield from (f"          {printable(problem)}" for problem in move.after.problems)
    else:
        yield f"  {move.kind.value:<7} {_name(move.id)}  not compared   {question}"


def _standing(before: Judged, after: Judged) -> str:
    """What moved of a case: its rank, else the first other thing that did."""
    if before.silent != after.silent:
        said = {True: "nothing close", False: "answered"}
        return f"{said[before.silent]} -> {said[after.silent]}"
    if before.rank != after.rank:
        return f"rank {_rank(before)} -> {_rank(after)}"
    if before.ndcg != after.ndcg:
        return f"ndcg {before.ndcg:.2f} -> {after.ndcg:.2f}"
    return f"recall {before.recall or 0.0:.2f} -> {after.recall or 0.0:.2f}"


def _delta_line(delta: Delta) -> str:
    allowed = f" (by more than {delta.allowed:g})" if delta.allowed else ""
    mark = f"   worse{allowed}" if delta.worse else ""
    return f"  {delta.metric:<10}  {delta.before:6.3f}  {delta.after:6.3f}  {delta.change:+7.3f}{mark}"


def verdict_line(comparison: Comparison) -> str:
    """The verdict."""
    fell = [delta.metric for delta in comparison.deltas if delta.worse]
    slipped = _count(len(comparison.slipped), "case")
    if comparison.worse:
        parts = [slipped] if comparison.slipped else []
        parts += [f"{_count(len(fell), 'measure')} ({', '.join(fell)})"] if fell else []
        return f"worse: {' and '.join(parts)}"
    if comparison.slipped:
        return f"within what is allowed; {slipped} got worse"
    return "not worse" if any(move.kind in JUDGED for move in comparison.moves) else "nothing moved"


def _name(name: str) -> str:
    shown = printable(name)
    return f"{shown if len(shown) <= WIDE else shown[: WIDE - 3] + '...':<{WIDE}}"


def _rank(case: Judged) -> str:
    return "-" if case.rank is None else str(case.rank)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
