"""The exact scan: the reference that every other way of asking is measured by."""

import heapq
from collections.abc import Sequence
from math import hypot
from struct import pack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.adapters.stores.exact import ExactScan
from rag_mcp.pure.vectors import dot

DIM = 5
NUMBERS = st.integers(-3, 3)
"""Few values, so that equal and opposite vectors, and equal scores of unequal ones, are common."""


def unit(values: Sequence[int]) -> bytes:
    norm = hypot(*values) or 1.0
    return pack(f"<{len(values)}f", *(value / norm for value in values))


VECTORS = st.lists(NUMBERS, min_size=DIM, max_size=DIM).filter(any).map(unit)
WORLDS = st.dictionaries(st.text("0123456789abcdef", min_size=4, max_size=4), VECTORS, max_size=40)


@given(WORLDS, VECTORS, st.integers(0, 50))
def test_the_answer_is_the_best_by_dot_product_and_then_by_rid(
    world: dict[str, bytes], question: bytes, n: int
) -> None:
    found = ExactScan(list(world.items())).query(question, n)
    scores = {rid: max(0.0, dot(question, vector)) for rid, vector in world.items()}
    assert len(found) == min(n, len(world))
    assert [score for _, score in found] == pytest.approx(heapq.nlargest(n, scores.values()), abs=1e-12)
    assert all(score == pytest.approx(scores[rid], abs=1e-12) for rid, score in found)
    assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))


@given(WORLDS, VECTORS, st.integers(1, 50), st.data())
def test_a_filter_confines_the_answer_and_changes_no_score(
    world: dict[str, bytes], question: bytes, n: int, data: st.DataObject
) -> None:
    allowed = data.draw(st.sets(st.sampled_from(sorted({*world, "unknown"}))))
    scan = ExactScan(list(world.items()))
    everything = scan.query(question, len(world))
    assert scan.query(question, n, allowed) == [hit for hit in everything if hit[0] in allowed][:n]


@given(WORLDS, VECTORS, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(world: dict[str, bytes], question: bytes, random: object) -> None:
    pairs = list(world.items())
    before = ExactScan(pairs).query(question, 7)
    random.shuffle(pairs)  # type: ignore[attr-defined]
    assert ExactScan(pairs).query(question, 7) == before


@given(st.integers(2, 300), st.lists(NUMBERS, min_size=384, max_size=384).filter(any).map(unit))
@example(257, unit([1] * 384))
def test_equal_vectors_score_equally_wherever_they_stand(copies: int, vector: bytes) -> None:
    found = ExactScan([(f"{n:04x}", vector) for n in range(copies)]).query(vector, copies // 2)
    assert [rid for rid, _ in found] == [f"{n:04x}" for n in range(copies // 2)]
    assert len({score for _, score in found}) <= 1


def test_opposite_vectors_score_zero_and_nothing_scores_less() -> None:
    scan = ExactScan([("a", unit([-1, 0])), ("b", unit([0, 1])), ("c", unit([1, 1]))])
    found = scan.query(unit([1, 0]), 3)
    assert [rid for rid, _ in found] == ["c", "a", "b"]
    assert [score for _, score in found] == pytest.approx([0.7071067, 0.0, 0.0])


def test_an_empty_scan_answers_with_nothing() -> None:
    assert list(ExactScan([]).query(unit([1, 0]), 5)) == []
    assert list(ExactScan([]).query(unit([1, 0]), 5, ["a"])) == []
    assert list(ExactScan([("a", unit([1, 0]))]).query(unit([1, 0]), 5, [])) == []


def test_a_question_of_another_dimension_is_a_bug_that_raises() -> None:
    with pytest.raises(ValueError):
        ExactScan([("a", unit([1, 0]))]).query(unit([1, 0, 0]), 1)
