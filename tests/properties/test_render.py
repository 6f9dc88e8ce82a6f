"""What a person reads: the plan in its columns, and no character that a terminal would obey."""

from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.worlds import World, damaged

from rag_mcp.pure.answer_render import answer_lines
from rag_mcp.pure.changes import Version
from rag_mcp.pure.check_render import finding_lines, stats_lines
from rag_mcp.pure.citations import Answer, Citation, Hit, Place
from rag_mcp.pure.errors import PruneRefused
from rag_mcp.pure.findings import Finding, Severity
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reason, Reembed, Regroup, Write
from rag_mcp.pure.render import plan_lines, report_line, report_lines
from rag_mcp.pure.statistics import Stats
from rag_mcp.pure.summary import Work, report
from rag_mcp.pure.values import Excluded

GOLDEN = Path(__file__).parent.parent / "golden"
HOSTILE = "\x1b[31m \x07 \x9b5n \u202e \u200b \x00 \r\n \udcff \u2028 \ue000 \x7f"
texts = st.text(st.characters(), max_size=6).map(lambda text: text + HOSTILE)


def keys(prefix: str, number: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{n}" for n in range(number))


def example() -> Plan:
    files = [
        FilePlan("new/1.md", Reason.NEW, Write(keys("a", 20), keys("a", 20)), "d"),
        FilePlan("new/2.md", Reason.NEW, Write(keys("b", 20), keys("b", 20)), "d"),
        FilePlan("new/3.md", Reason.NEW, Write(keys("c", 1), keys("c", 1)), "d"),
        FilePlan("plan.md", Reason.CHANGED, Write(keys("d", 7), keys("d", 2)), "d"),
        *(FilePlan(f"stale/{n}.md", Reason.METADATA_STALE, Write(keys(f"e{n}", 1), ()), "d") for n in range(9)),
        FilePlan("gone.md", Reason.GONE, Prune(4)),
        FilePlan("private/keys.md", Reason.UNREADABLE, Hold(3), None, "Permission denied"),
        *(FilePlan(f"same/{n}.md", Reason.UNCHANGED, Keep(2), "d") for n in range(204)),
    ]
    return Plan("/home/user/notes", 41, "minilm-l6-v2", 384, "r", tuple(files))


def test_a_plan_reads_as_the_golden_one() -> None:
    assert "\n".join(plan_lines(example(), name="./notes")) + "\n" == (GOLDEN / "plan.txt").read_text()


@pytest.mark.parametrize("number", [1, 9, 10, 99, 100, 999, 1_000, 25_000])
def test_numbers_of_any_width_end_at_the_same_place(number: int) -> None:
    plan = Plan("/r", 0, "e", 4, "r", (FilePlan("a.md", Reason.NEW, Write(keys("a", number), keys("a", number))),))
    line = list(plan_lines(plan))[1]
    assert line[:32].endswith(str(number))
    assert line[32:] == (" chunk to embed" if number == 1 else " chunks to embed")


def test_a_quiet_plan_says_that_there_is_nothing_to_do() -> None:
    plan = Plan("/r", 7, "e", 4, "r", (FilePlan("a.md", Reason.UNCHANGED, Keep(1), "d"),))
    assert list(plan_lines(plan)) == ["plan for /r   generation 7   embedder e (4)", "  = 1 unchanged", "nothing to do"]


@given(damaged())
def test_every_reason_and_every_count_of_a_plan_is_shown(pair: tuple[World, World]) -> None:
    plan = pair[1].plan()
    lines = list(plan_lines(plan))
    for reason in {file.reason for file in plan.files}:
        count = sum(1 for file in plan.files if file.reason is reason)
        assert any(f" {count} {reason.value}" in line for line in lines)
    for path, _ in plan.gaps:
        assert any("could not look into" in line and path in line for line in lines)
    assert all(line[28:29].isspace() or reason_is_long(line) for line in lines[1:] if line.startswith("  + "))


def reason_is_long(line: str) -> bool:
    return len(line.split("  ")[1]) > 27


def obeyed(lines: list[str]) -> list[str]:
    """Characters that would move a cursor, change a colour, or reorder text."""
    return [char for line in lines for char in line if category(char)[0] == "C" or char in "\u2028\u2029"]


kinds = st.one_of(
    st.builds(Write, st.just(("k",)), st.just(())),
    st.builds(Hold, st.integers(0, 2)),
    st.builds(Prune, st.integers(0, 2)),
    st.builds(Reembed, st.integers(0, 2), st.just(())),
    st.builds(Keep, st.integers(0, 2)),
)
file_plans = st.builds(FilePlan, texts, st.sampled_from(Reason), kinds, st.none(), texts)
one = st.lists(texts, min_size=1, max_size=2).map(tuple)
plans = st.builds(
    Plan,
    texts,
    st.just(1),
    texts,
    st.just(4),
    texts,
    st.lists(file_plans, min_size=1, max_size=5).map(tuple),
    st.lists(st.builds(Excluded, texts, texts), max_size=4).map(tuple),
    st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    one,
    st.none() | texts,
    st.booleans(),
    one,
    st.booleans(),
    st.none() | st.builds(PruneRefused, st.just(1), st.just(2), st.just(0)),
    st.booleans(),
    st.none() | st.builds(Regroup, texts, st.integers(0, 2), st.integers(0, 2)),
)


@given(plans, texts)
def test_nothing_in_a_plan_or_report_is_obeyed_by_a_terminal(plan: Plan, name: str) -> None:
    done = report(plan, Work())
    assert obeyed([*plan_lines(plan, name=name), *plan_lines(plan), *report_lines(done), report_line(done)]) == []


citations = st.builds(
    Citation, texts, texts, st.just(0), one, st.just(1), st.just(2), texts, st.booleans(),
    st.lists(st.builds(Place, texts, st.just(0), st.just(1), st.just(1)), max_size=5).map(tuple),
    st.none() | st.just("2026-01-01"), st.none() | st.just("2026-01-02,2026-01-03"), st.none() | st.integers(1, 3),
)  # fmt: skip
versions = st.builds(Version, texts, st.just("2026-01-01"), st.just("2026-01-02"), st.just(2), st.none() | texts)


@given(
    st.lists(st.builds(Hit, texts, citations, st.just(0.5)), max_size=2).map(tuple),
    st.none() | texts,
    st.lists(versions, max_size=3),
)
def test_nothing_in_an_answer_is_obeyed_by_a_terminal(
    hits: tuple[Hit, ...], degraded: str | None, changes: list[Version]
) -> None:
    answer = Answer("q", 5, hits, 1, degraded)
    lines = list(answer_lines(answer, changes=[changes for _ in hits]))
    assert obeyed(lines) == []
    assert sum(1 for line in lines if line[:1].isdigit() and ". " in line[:4]) >= len(hits)


@given(texts, texts, texts)
def test_nothing_in_findings_or_counts_is_obeyed_by_a_terminal(a: str, b: str, c: str) -> None:
    stats = Stats(a, b, c, 1, a, b, 4, 1, 1, 1, 1, 1, 1, 1, 1, {c: 1})
    assert obeyed([*finding_lines([Finding(Severity.ERROR, a, b, c)]), *stats_lines(stats)]) == []


def test_a_passage_is_shown_line_by_line() -> None:
    citation = Citation("a.md", "H", 0, ("T", "H"), 3, 5, "k", also_in=(Place("b.md", 0, 7, 7),))
    answer = Answer("q", 5, (Hit("one\r\n\ttwo\rthree", citation, 0.25),))
    assert list(answer_lines(answer)) == [
        "1. a.md:3-5   0.2500   T > H",
        "     one",
        "         two",
        "     three",
        "     also in b.md:7",
        "",
    ]
