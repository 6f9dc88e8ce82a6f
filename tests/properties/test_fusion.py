"""Fusion keeps to the candidates, to 0..1, and to what either list says when the other is silent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure.fusion import MODES, Mode, fuse

rids = st.sampled_from("abcdefgh")
cosines = st.dictionaries(rids, st.floats(-1, 1), min_size=1)
bm25 = st.dictionaries(rids, st.floats(0, 50))


@given(cosines, bm25, st.sampled_from(MODES), st.floats(0, 1))
def test_no_candidate_is_invented_or_lost_and_scores_stay_in_bounds(
    near: dict[str, float], words: dict[str, float], mode: Mode, weight: float
) -> None:
    fused = fuse(near, words, mode, weight)
    assert set(fused) == set(near)
    assert all(0 <= trace.score <= 1 for trace in fused.values())
    for rid, trace in fused.items():
        assert (trace.cosine, trace.bm25) == (None if mode == "keyword" else near[rid], words.get(rid))
        by_meaning = 0.0 if trace.cosine is None else max(0.0, trace.cosine)
        assert trace.score == pytest.approx(trace.weight * by_meaning + (1 - trace.weight) * trace.words)


@given(cosines, bm25)
def test_one_list_alone_orders_by_that_list(near: dict[str, float], words: dict[str, float]) -> None:
    by_meaning, by_words = fuse(near, words, "semantic"), fuse(near, words, "keyword")
    assert all(by_meaning[rid].score == max(0.0, near[rid]) for rid in near)
    for one in near:
        for other in near:
            if words.get(one, 0.0) > words.get(other, 0.0):
                assert by_words[one].score >= by_words[other].score


@given(cosines, bm25, rids, rids)
def test_what_is_better_by_both_is_never_worse(
    near: dict[str, float], words: dict[str, float], one: str, other: str
) -> None:
    if one in near and other in near and near[one] >= near[other] and words.get(one, 0) >= words.get(other, 0):
        fused = fuse(near, words)
        assert fused[one].score >= fused[other].score


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_fused_to_nothing(mode: Mode) -> None:
    assert fuse({}, {"a": 1.0}, mode) == {}
