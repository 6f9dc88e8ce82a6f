"""Copies of a passage are known by what they say; what says something else is never taken for one."""

from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure.copies import grouped, said

words = st.lists(st.sampled_from(["pump", "valve", "400", "300", "not", "is", "on"]), min_size=1, max_size=6)
bodies = words.map(" ".join)


def groups(*texts: str) -> list[list[int]]:
    return [list(members) for members in grouped((text, at) for at, text in enumerate(texts))]


@given(
    bodies, bodies, st.integers(1, 6), st.integers(1, 6), st.integers(1, 99), st.sampled_from(["---", "* * *", "___"])
)
def test_a_section_moved_renumbered_and_ruled_off_says_the_same(
    name: str, body: str, depth: int, other: int, number: int, rule: str
) -> None:
    text = f"{'#' * depth} {name}\n\n{body}"
    moved = f"{'#' * other} {number}. {name}  ##\n\n\n{body.replace(' ', chr(10))}\n\n{rule}"
    assert said(text) == said(moved)
    assert groups(text, moved) == [[0, 1]]


@given(st.lists(bodies, min_size=1, max_size=8))
def test_texts_of_other_words_are_never_one_group(texts: list[str]) -> None:
    for members in groups(*texts):
        assert len({texts[at] for at in members}) == 1


@given(st.lists(st.tuples(st.sampled_from(["", "## A\n\n", "## B\n\n"]), bodies), max_size=12))
def test_grouping_keeps_every_passage_once_and_in_order(parts: list[tuple[str, str]]) -> None:
    found = groups(*(outer + "### Service\n\n" + body for outer, body in parts))
    assert sorted(at for members in found for at in members) == list(range(len(parts)))
    assert all(members == sorted(members) for members in found)
    assert [members[0] for members in found] == sorted(members[0] for members in found)


def test_equal_lines_below_different_outer_headings_are_two_facts_and_a_copy_without_one_goes_with_the_first() -> None:
    service = "### Service\n\nevery 400 hours"
    assert groups("## Pump A\n\n" + service, "## Pump B\n\n" + service) == [[0], [1]]
    assert groups(service, "## Pump A\n\n" + service, "## Pump B\n\n" + service) == [[0, 1], [2]]


def test_a_name_that_begins_with_a_number_keeps_it() -> None:
    assert groups("## 2024 results\n\nnone", "## 2025 results\n\nnone", "## 2.0 results\n\nnone") == [[0], [1], [2]]


def test_passages_of_rules_and_blanks_alone_are_told_apart() -> None:
    assert groups("---", "***", "---\n") == [[0, 2], [1]]


def test_a_hash_within_code_is_text() -> None:
    assert groups("#include <a.h>\nint x;", "#include <b.h>\nint x;") == [[0], [1]]
