"""The search policy ends, stays in its bounds and never shortens an answer; citing neither invents nor loses."""

import random

from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.pure.citations import Row, cite, content_hash, marked_stale, passages, united
from rag_mcp.pure.query import Query
from rag_mcp.pure.stages import Ask, Enough, Heard, Scan, SearchPolicy, Step, next_step, without_index

policies = st.builds(SearchPolicy, st.sampled_from((0, 0, 3, 50)), st.integers(1, 8), st.integers(1, 200))


@st.composite
def searches(draw: st.DrawFn) -> tuple[SearchPolicy, Query, list[str | None], set[int]]:
    """A policy, a question, what each vector (best first) shows (None: filtered out), what an index fails to find."""
    runs = draw(st.lists(st.tuples(st.none() | st.sampled_from("abcdefgh"), st.integers(1, 30)), max_size=8))
    shown = [passage for passage, length in runs for _ in range(length)]
    lost = draw(st.sets(st.integers(0, 79), max_size=10))
    return draw(policies), Query("q", draw(st.integers(1, 6))), shown, lost


def carried_out(
    policy: SearchPolicy, query: Query, shown: list[str | None], lost: set[int], *, broken: bool
) -> tuple[list[Step], set[str]]:
    """The steps taken, and the passages at hand in the end."""
    total, allowed = len(shown), sum(1 for passage in shown if passage)
    steps: list[Step] = []
    heard: Heard | None = None
    at_hand: list[str | None] = []
    while not isinstance(step := next_step(policy, query, total, allowed, heard), Enough):
        step = without_index(step, query) if broken else step
        steps.append(step)
        assert len(steps) < 100, "it never ends"
        assert not isinstance(step, Enough)
        every = [p for n, p in enumerate(shown) if n not in lost] if isinstance(step, Ask) else [p for p in shown if p]
        at_hand = every[: step.n]
        heard = Heard(step, len({p for p in at_hand if p}), exhausted=len(at_hand) < step.n)
    return steps, {p for p in at_hand if p}


@example((SearchPolicy(0, 1, 1_000), Query("q", 5), ["a", "a", "a"], set()), False)
@given(searches(), st.booleans())
def test_a_search_ends_and_no_filter_shortens_it(
    search: tuple[SearchPolicy, Query, list[str | None], set[int]], broken: bool
) -> None:
    policy, query, shown, lost = search
    steps, found = carried_out(policy, query, shown, lost, broken=broken)
    passing = {passage for passage in shown if passage}
    assert len(found) >= min(query.k, len(passing))
    asked = [step.n for step in steps]
    assert asked == sorted(asked) or broken


@given(searches(), st.booleans())
def test_the_index_is_asked_no_deeper_than_it_may_be(
    search: tuple[SearchPolicy, Query, list[str | None], set[int]], broken: bool
) -> None:
    policy, query, shown, lost = search
    steps, _ = carried_out(policy, query, shown, lost, broken=broken)
    depths = [step.n for step in steps if isinstance(step, Ask)]
    assert all(1 <= depth <= min(policy.depth_max, len(shown)) for depth in depths)
    assert len(set(depths)) == len(depths), "the same question was asked twice"
    assert not (depths and broken)
    if sum(1 for passage in shown if passage) <= policy.exact_up_to:
        assert not depths


def test_where_nothing_passes_nothing_is_asked() -> None:
    assert next_step(SearchPolicy(), Query("q"), 1_000, 0, None) == Enough()


def test_a_rare_class_is_looked_for_deeper_at_once() -> None:
    step = next_step(SearchPolicy(exact_up_to=10), Query("q", 5), 1_000, 20, None)
    assert step == Ask(750)
    assert next_step(SearchPolicy(exact_up_to=10), Query("q", 5), 10_000, 20, None) == Scan(7_500)


names = st.sampled_from(["a.md", "b.md", "c/d.md"])


@st.composite
def stored_rows(draw: st.DrawFn) -> tuple[list[Row], dict[str, float]]:
    """Rows, some of them of equal content or equal vectors, and a score for each vector."""
    places = draw(st.lists(st.tuples(names, st.integers(0, 4)), unique=True, max_size=10))
    rows = []
    for source, ordinal in places:
        key = draw(st.sampled_from("klmn"))
        rid = {"k": "v1", "l": "v1", "m": "v2", "n": "v3"}[key]
        rows.append(Row(rid, key, source, ordinal, "H", ("T", "H"), ordinal + 1, ordinal + 2, 0, 4, key, "note", "d"))
    return rows, {rid: draw(st.floats(-1, 1)) for rid in ("v1", "v2", "v3")}


def said(row: Row) -> str:
    """The text without what blanks and line breaks make of it."""
    return " ".join(row.text.split())


@given(stored_rows())
def test_grouping_neither_invents_nor_loses_a_row(given_rows: tuple[list[Row], dict[str, float]]) -> None:
    rows, scores = given_rows
    grouped = [row for _, group in passages(rows, scores) for row in group]
    assert sorted(grouped, key=lambda r: (r.source, r.ordinal)) == sorted(rows, key=lambda r: (r.source, r.ordinal))
    assert len(passages(rows, scores)) == len({said(row) for row in rows})


@given(stored_rows(), st.randoms())
def test_the_order_of_the_list_does_not_matter(
    given_rows: tuple[list[Row], dict[str, float]], rng: random.Random
) -> None:
    rows, scores = given_rows
    shuffled = list(rows)
    rng.shuffle(shuffled)
    assert passages(shuffled, scores) == passages(rows, scores)


@given(stored_rows())
def test_passages_stand_best_first_and_ties_by_place(given_rows: tuple[list[Row], dict[str, float]]) -> None:
    ranked = passages(*given_rows)
    order = [(-score, group[0].source, group[0].ordinal) for score, group in ranked]
    assert order == sorted(order)
    for score, group in ranked:
        scores = given_rows[1]
        assert {said(row) for row in group} == {said(group[0])}
        assert score == max(scores[row.rid] for row in group) == scores[group[0].rid]
        assert list(group) == sorted(group, key=lambda row: (-scores[row.rid], row.source, row.ordinal))


@given(stored_rows())
def test_the_first_place_is_cited_and_the_others_stand_in_also_in(
    given_rows: tuple[list[Row], dict[str, float]],
) -> None:
    for score, group in passages(*given_rows):
        hit = cite(score, group)
        cited = [(hit.citation.source, hit.citation.chunk_index)]
        cited += [(place.source, place.chunk_index) for place in hit.citation.also_in]
        assert cited == [(row.source, row.ordinal) for row in group]
        assert (hit.text, hit.citation.content_hash) == (group[0].text, content_hash(group[0].text))
        assert hit.score == max(0.0, round(score, 4)) and 0 <= hit.score <= 1
        assert not hit.citation.stale
        assert marked_stale(hit) == evolve(hit, citation=evolve(hit.citation, stale=True))


@given(st.text("ab\n", min_size=2, max_size=40), st.data())
def test_passages_that_share_text_become_one_slice_and_others_stay_apart(text: str, data: st.DataObject) -> None:
    def cut() -> Row:
        start, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2, unique=True)))
        lines = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
        return Row("v", "k", "a.md", start, "H", (), *lines, start, end, text[start:end], "note", "d")

    one, other = cut(), cut()
    both = united(one, other)
    assert (both is None) == (not set(range(one.start, one.end)) & set(range(other.start, other.end)))
    if both:
        assert both.text == text[both.start : both.end]
        assert (both.start, both.end) == (min(one.start, other.start), max(one.end, other.end))
        first, last = text.count("\n", 0, both.start) + 1, text.count("\n", 0, both.end) + 1
        assert (both.start_line, both.end_line) == (first, last)
    assert united(one, evolve(other, source="b.md")) is None
