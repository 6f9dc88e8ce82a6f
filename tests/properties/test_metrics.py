"""Measures of a ranking are those of ir-measures; measures of characters are those of sets of characters."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.pure.citations import Answer, Citation, Hit
from rag_mcp.pure.golden import Case, Expectation, Page
from rag_mcp.pure.judging import judged
from rag_mcp.pure.metrics import Span, cover, dcg, hit, ndcg, overlap, reciprocal_rank

gains = st.lists(st.integers(0, 4).map(float), max_size=12)
depths = st.integers(1, 12)
spans = st.lists(
    st.builds(lambda s, a, n: Span(s, a, a + n), st.sampled_from("xy"), st.integers(0, 30), st.integers(0, 12))
)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[dict[str, int], list[str]]:
    """Grades of some documents (at least one above 0), and a ranking of some of all documents."""
    names = [f"d{n}.md" for n in range(12)]
    grades = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 10), min_size=1))
    ranking = draw(st.permutations(names))
    return grades, ranking[: draw(st.integers(1, 12))]


def by_ir_measures(grades: dict[str, int], ranking: Sequence[str], k: int) -> dict[str, float]:
    ir = pytest.importorskip("ir_measures", reason="ir-measures is not installed: pip install -e '.[test]'")
    measures = {"hit@1": ir.Success @ 1, "hit@k": ir.Success @ k, "mrr": ir.RR @ k, "ndcg": ir.nDCG @ k}
    run = [ir.ScoredDoc("q", name, float(-place)) for place, name in enumerate(ranking)]
    qrels = [ir.Qrel("q", name, grade) for name, grade in grades.items()]
    values = {found.measure: found.value for found in ir.iter_calc(set(measures.values()), qrels, run)}
    return {name: values[measure] for name, measure in measures.items()}


@given(rankings(), depths)
def test_measures_of_a_ranking_are_those_of_ir_measures(world: tuple[dict[str, int], list[str]], k: int) -> None:
    grades, ranking = world
    by_rank = [float(grades.get(name, 0)) for name in ranking]
    mine = {
        "hit@1": hit(by_rank, 1),
        "hit@k": hit(by_rank, k),
        "mrr": reciprocal_rank(by_rank, k),
        "ndcg": ndcg(by_rank, map(float, grades.values()), k),
    }
    assert mine == pytest.approx(by_ir_measures(grades, ranking, k))


@given(rankings(), depths)
def test_a_case_that_expects_whole_documents_is_judged_as_ir_measures_judges_a_ranking(
    world: tuple[dict[str, int], list[str]], k: int
) -> None:
    grades, ranking = world
    hits = tuple(Hit("text", Citation(name, None, 0, (), 1, 1, ""), 0.5) for name in ranking)
    case = Case("which?", tuple(Expectation(name, grade=grade) for name, grade in grades.items()))
    result = judged(case, Answer("which?", 20, hits), dict.fromkeys(grades, Page("text")), k, silent=False)
    theirs = by_ir_measures(grades, ranking, k)
    assert {name: result.scores[name] for name in theirs} == pytest.approx(theirs, abs=1e-6)


def test_the_formulas_by_hand() -> None:
    assert dcg([3, 0, 1], 3) == pytest.approx(3 + 1 / 2)
    assert ndcg([0, 3, 0, 1], [1, 3, 2], 4) == pytest.approx((3 / 1.584963 + 1 / 2.321928) / (3 + 2 / 1.584963 + 1 / 2))
    assert ndcg([2], [1, 1], 5) == 1.0
    assert ndcg([], [0], 5) == 0.0
    assert reciprocal_rank([0, 0, 1], 2) == 0.0
    covered = cover([Span("x", 0, 10)], [Span("x", 5, 25)], 20)
    assert (covered.recall, covered.precision, covered.iou) == pytest.approx((0.5, 0.25, 0.2))


@given(gains, depths)
def test_no_measure_leaves_0_to_1_and_looking_deeper_finds_no_less(by_rank: list[float], k: int) -> None:
    for measure in (hit, reciprocal_rank):
        assert 0 <= measure(by_rank, k) <= measure(by_rank, k + 1) <= 1
    assert 0 <= ndcg(by_rank, by_rank, k) <= 1
    assert ndcg(sorted(by_rank, reverse=True), by_rank, k) == pytest.approx(float(any(by_rank)))


@given(spans, spans)
@example([Span("x", 0, 4), Span("x", 2, 6)], [Span("x", 1, 3), Span("x", 1, 3), Span("y", 1, 3)])
def test_characters_are_counted_as_in_sets(expected: list[Span], returned: list[Span]) -> None:
    wanted, got = ({(s.source, c) for s in some for c in range(s.start, s.end)} for some in (expected, returned))
    length = sum(span.end - span.start for span in returned)
    covered = cover(expected, returned, length)
    both = len(wanted & got)
    assert covered.recall == pytest.approx(both / len(wanted) if wanted else 1.0)
    assert covered.precision == pytest.approx(both / length if length else 0.0)
    union = length + len(wanted - got)
    assert covered.iou == pytest.approx(both / union if union else 0.0)


@given(spans, spans)
def test_overlap_is_the_same_both_ways(some: list[Span], others: list[Span]) -> None:
    for one, other in zip(some, others, strict=False):
        assert overlap(one, other) == overlap(other, one) >= 0
        assert overlap(one, one) == one.end - one.start
