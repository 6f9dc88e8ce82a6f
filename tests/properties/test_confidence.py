"""Confidence is in bounds, grows with what was found, and says when nothing is close."""

from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure.citations import Citation, Hit
from rag_mcp.pure.confidence import LOOKED_AT, confidence, nothing_close
from rag_mcp.pure.fusion import Trace
from rag_mcp.pure.words import coverage


def hit(text: str, cosine: float | None) -> Hit:
    cited = Citation("a.md", None, 0, (), 1, 1, "sha256:0")
    return Hit(text, cited, 0.5, (), Trace(cosine, None, 0.0, 0.6, 0.5, 1, None))


hits = st.lists(st.builds(hit, st.text(max_size=30), st.none() | st.floats(-1, 1)), max_size=8)


@given(st.text(), hits)
def test_it_is_in_bounds_and_nothing_found_is_nothing_close(question: str, found: list[Hit]) -> None:
    assert 0 <= confidence(question, found) <= 1
    assert nothing_close(confidence(question, []))


@given(st.text(min_size=1), st.text(), st.floats(-1, 1), st.floats(-1, 1))
def test_a_nearer_passage_never_makes_it_less_sure(question: str, text: str, one: float, other: float) -> None:
    near, far = max(one, other), min(one, other)
    assert confidence(question, [hit(text, near)]) >= confidence(question, [hit(text, far)])


@given(st.text(), hits, hits)
def test_only_the_first_few_passages_count(question: str, first: list[Hit], rest: list[Hit]) -> None:
    padded = (first + [hit("", 0.0)] * LOOKED_AT)[:LOOKED_AT]
    assert confidence(question, padded) == confidence(question, padded + rest)


def test_what_a_passage_plainly_says_is_close_and_what_none_speaks_of_is_not() -> None:
    said = "Each pump is stripped and greased every 400 running hours."
    assert not nothing_close(confidence("how often is a pump greased", [hit(said, 0.6)]))
    assert nothing_close(confidence("who won the race of 1987", [hit(said, 0.05)]))
    assert not nothing_close(confidence("pump greased hours", [hit(said, None)]))
    assert nothing_close(confidence("who won the race of 1987", [hit(said, None)]))


@given(st.text(), st.text())
def test_coverage_is_a_share_and_a_text_covers_itself(question: str, text: str) -> None:
    assert 0 <= coverage(question, text) <= 1
    assert coverage(question, question) in (0.0, 1.0)
