"""A run compared with itself is quiet; what got worse is named; and a baseline reads back as it was written."""

import json
import random
from collections.abc import Callable
from typing import Any
from unicodedata import category

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Success

from rag_mcp.pure.comparing import BAD, Moved, Tolerance, compared, tolerance
from rag_mcp.pure.golden_codec import BASELINE_VERSION, baseline_from_json, baseline_to_json
from rag_mcp.pure.golden_render import comparison_lines, run_lines, verdict_line
from rag_mcp.pure.identity import Setup
from rag_mcp.pure.judging import DIGITS, Judged, Run
from rag_mcp.pure.metrics import ndcg

K = 10
SETUP = Setup("mini", "f", ("r",), "c", 63)
texts = st.text(st.characters(), max_size=6)
shares = st.floats(0, 1).map(lambda x: round(x, DIGITS))


def answerable(name: str, *ranks: int | None, recall: float | None = 1.0) -> Judged:
    gains = [float(ranks.count(n)) for n in range(1, K + 1)]
    value = round(ndcg(gains, [1.0] * len(ranks), K), DIGITS)
    return Judged(name, f"{name}?", "w", False, K, ranks, value, recall, recall, recall, False, 0.5, ("a.md:1-2",))


def unanswerable(name: str, silent: bool) -> Judged:
    return Judged(name, f"{name}?", "w", True, K, (), 0.0, None, None, None, silent, 0.2, ("a.md:1-2",))


ranks = st.lists(st.none() | st.integers(1, K), min_size=1, max_size=3)
cases = st.one_of(
    st.builds(lambda r, s: answerable("x", *r, recall=s), ranks, st.none() | shares),
    st.builds(lambda s: unanswerable("x", s), st.booleans()),
)
numbered = st.lists(cases, min_size=1, max_size=6).map(
    lambda some: tuple(evolve(case, id=f"c{n}", question=f"c{n}?") for n, case in enumerate(some))
)
setups = st.builds(
    Setup, texts, texts, st.lists(texts).map(tuple), texts, st.integers(0, 99), st.dictionaries(texts, texts)
)
runs = st.builds(Run, st.integers(1, 20), setups, numbered)


def run(*some: Judged, **setup: Any) -> Run:
    return Run(K, evolve(SETUP, **setup), some)


@given(runs)
def test_a_run_compared_with_itself_is_quiet(one: Run) -> None:
    found = compared(one, one)
    assert (found.worse, found.moves, found.changes) == (False, (), ())
    assert [delta.change for delta in found.deltas] == [0] * len(found.deltas)
    assert verdict_line(found) == "nothing moved"


@given(runs, runs, st.randoms(use_true_random=False))
def test_the_order_of_cases_is_no_matter(one: Run, other: Run, chance: random.Random) -> None:
    mixed = evolve(other, cases=tuple(chance.sample(other.cases, len(other.cases))))
    assert compared(one, mixed) == compared(one, other)


@given(runs, runs)
def test_what_is_lost_one_way_is_found_the_other_way(one: Run, other: Run) -> None:
    there, back = compared(one, other), compared(other, one)
    turned = {Moved.LOST: Moved.FOUND, Moved.FOUND: Moved.LOST, Moved.NEW: Moved.GONE, Moved.GONE: Moved.NEW}
    kinds = {move.id: move.kind for move in back.moves}
    for move in there.moves:
        assert kinds.keys() >= {move.id}
        if move.kind in turned:
            assert kinds[move.id] is turned[move.kind]
        if move.kind is Moved.BETTER:
            assert kinds[move.id] is Moved.WORSE
    assert [-delta.change for delta in there.deltas] == pytest.approx([delta.change for delta in back.deltas])


@given(runs, runs, st.floats(0, 1), st.floats(0, 1))
def test_who_allows_more_is_told_of_no_more(one: Run, other: Run, some: float, more: float) -> None:
    strict, lax = (compared(one, other, Tolerance(t)).worse for t in sorted((some, more)))
    assert strict or not lax
    assert not compared(one, other, Tolerance(1)).worse


@given(numbered, st.data())
def test_a_case_that_loses_rank_is_named_and_makes_the_run_worse(some: tuple[Judged, ...], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(some) - 1))
    before = answerable(some[place].id, data.draw(st.integers(1, K)))
    rank = data.draw(st.none() | st.integers((before.rank or K) + 1, K + 1))
    after = answerable(before.id, None if rank is None or rank > K else rank)
    others = some[:place] + some[place + 1 :]
    found = compared(run(before, *others), run(after, *others))
    assert found.worse
    assert [(move.id, move.kind in BAD) for move in found.moves] == [(before.id, True)]
    assert any(delta.worse for delta in found.deltas)
    assert any(before.id in line for line in comparison_lines("g", "b", found))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (answerable("x", 3), answerable("x", None), Moved.LOST),
        (answerable("x", None), answerable("x", 9), Moved.FOUND),
        (answerable("x", 1, 2), answerable("x", 1, None), Moved.WORSE),
        (answerable("x", 1, recall=0.9), answerable("x", 1, recall=0.8), Moved.WORSE),
        (answerable("x", 2), answerable("x", 1, recall=0.9), Moved.WORSE),
        (answerable("x", 1), evolve(answerable("x", 1), silent=True), Moved.WORSE),
        (unanswerable("x", True), unanswerable("x", False), Moved.WORSE),
        (unanswerable("x", False), unanswerable("x", True), Moved.BETTER),
        (answerable("x", 1), evolve(answerable("x", 1), iou=0.1, precision=0.1), None),
        (answerable("x", 1), evolve(answerable("x", 9), wording="other"), Moved.EDITED),
        (answerable("x", 1), evolve(answerable("x", 1), k=5), Moved.EDITED),
    ],
)
def test_how_a_case_moves(before: Judged, after: Judged, kind: Moved | None) -> None:
    found = compared(run(before), run(after))
    assert [move.kind for move in found.moves] == ([kind] if kind else [])


def test_cases_that_came_went_or_were_worded_anew_are_shown_and_not_measured() -> None:
    same = answerable("same", 1)
    before = run(same, answerable("gone", 1), answerable("edited", 1))
    after = run(same, answerable("new", None), evolve(answerable("edited", None), wording="other"))
    found = compared(before, after)
    assert {move.id: move.kind for move in found.moves} == {
        "gone": Moved.GONE,
        "new": Moved.NEW,
        "edited": Moved.EDITED,
    }
    assert (found.worse, found.common) == (False, 1)


def test_a_tolerance_is_for_means_and_single_cases_then_slip() -> None:
    before = run(*(answerable(f"c{n}", 1) for n in range(10)))
    after = run(answerable("c0", 2), *before.cases[1:])
    assert compared(before, after).worse
    assert not compared(before, after, Tolerance(0.1)).worse
    assert "1 case got worse" in verdict_line(compared(before, after, Tolerance(0.1)))
    assert compared(before, after, Tolerance(0.1, {"hit@1": 0.05})).worse
    assert compared(before, after, Tolerance(0, {"hit@1": 0.1, "mrr": 0.1, "ndcg": 0.1})).worse


def test_what_differs_in_the_setups_is_said() -> None:
    said = " ".join(
        compared(
            run(answerable("x", 1)),
            run(
                answerable("x", 1),
                embedder="hash",
                fingerprint="g",
                corpus="d",
                passages=64,
                search={"mode": "keyword"},
            ),
        ).changes
    )
    for word in ("mini -> hash", "other files or texts", "63 -> 64", "the usual ones -> mode=keyword"):
        assert word in said
    assert "cut in another way" in compared(run(), run(recipes=("s",))).changes[0]
    assert "of the same name" in compared(run(), run(fingerprint="g")).changes[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Tolerance()),
        (["0.02", "mrr=0.5"], Tolerance(0.02, {"mrr": 0.5})),
        (["1"], Tolerance(1.0)),
    ],
)
def test_a_tolerance_is_read(words: list[str], expected: Tolerance) -> None:
    assert tolerance(words) == Success(expected)


@pytest.mark.parametrize("word", ["", "x", "mrr=", "-0.1", "1.1", "nan", "inf", "speed=0.1", "=0.1", "mrr=0.1=0.2"])
def test_a_tolerance_that_means_nothing_is_refused(word: str) -> None:
    assert repr(word.rpartition("=")[0]) in (said := tolerance([word]).failure()) or repr(word) in said


@given(runs)
def test_a_baseline_reads_back_equal_and_is_written_the_same_each_time(one: Run) -> None:
    text = baseline_to_json(one)
    assert text.isascii()
    assert baseline_from_json(text) == Success(one)
    assert baseline_to_json(baseline_from_json(text).unwrap()) == text


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda d: d.update(rag_mcp_baseline=BASELINE_VERSION + 1),
    "a version that only equals": lambda d: d.update(rag_mcp_baseline=True),
    "no version": lambda d: d.pop("rag_mcp_baseline"),
    "an extra key": lambda d: d.update(colour="red"),
    "an extra key in a case": lambda d: d["cases"][0].update(colour="red"),
    "a missing part": lambda d: d["cases"][0].pop("tags"),
    "a word for a rank": lambda d: d["cases"][0].update(ranks=["first"]),
    "a text for a list": lambda d: d["cases"][0].update(sources="a.md"),
    "means of other cases": lambda d: d["means"].update(mrr=0.1),
    "no means": lambda d: d.pop("means"),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=list(SPOILT))
def test_a_baseline_with_anything_amiss_is_refused(spoil: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(baseline_to_json(run(answerable("x", 1))))
    spoil(data)
    assert baseline_from_json(json.dumps(data)).failure()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", "[" * 100_000])
def test_what_is_no_baseline_is_refused(text: str) -> None:
    assert baseline_from_json(text).failure()


@given(runs, runs)
def test_no_table_obeys_what_a_file_says(one: Run, other: Run) -> None:
    evil = evolve(
        other, cases=(*other.cases, evolve(answerable("\x1b[31m", 1), question="\x07\u202e", problems=("\x1b",)))
    )
    shown = [*run_lines("g\x1b", evil), *comparison_lines("g", "b\x07", compared(one, evil))]
    assert not any(category(char)[0] == "C" for line in shown for char in line)
