"""Laws of the outline: what is a heading, where lines begin, where a text may be cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import LINE_ENDS, texts

from rag_mcp.pure.blocks import BLOCK, ITEM, ROW, line_starts, outline


def titles(source: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in outline(source).headings]


@given(texts(), st.sampled_from(LINE_ENDS))
def test_the_headings_are_those_of_the_model_whatever_ends_the_lines(text, end):
    expected = [word for word, path in text.paths.items() if path and path[-1] == word]
    assert [heading.text for heading in outline(text.with_ends(end)).headings] == expected


@given(texts(), st.sampled_from(LINE_ENDS))
def test_a_heading_spans_whole_lines_that_hold_its_text(text, end):
    source = text.with_ends(end)
    shape = outline(source)
    for heading in shape.headings:
        assert heading.start in shape.lines
        assert heading.end in (*shape.lines, len(source))
        assert heading.text in source[heading.start : heading.end]


@given(texts(), st.sampled_from(LINE_ENDS))
def test_every_cut_is_the_start_of_a_line_and_none_lies_inside_a_fence(text, end):
    source = text.with_ends(end)
    shape = outline(source)
    assert set(shape.cuts) <= {*shape.lines, len(source)}
    for fence in text.fences:
        start = source.index(fence.replace("\n", end))
        assert not [at for at in shape.cuts if start < at < start + len(fence.replace("\n", end))]


@given(st.text(st.sampled_from("ab\n\r\x0b\x0c\x1c\x85\u2028\u2029"), max_size=30))
def test_lines_end_at_line_feeds_and_carriage_returns_and_nowhere_else(source):
    shape = outline(source)
    expected = 1
    for at, character in enumerate(source):
        assert shape.line_of(at) == expected
        expected += character == "\n" or (character == "\r" and source[at + 1 : at + 2] != "\n")
    assert shape.lines == line_starts(source)


OPENERS = ("```sh", "```js {1,3}", "```{r}", "```c#", '```py title="x"', "~~~ `x`")


@pytest.mark.parametrize("opener", OPENERS)
def test_b1_a_line_in_a_fence_is_no_heading(opener):
    mark = opener[:3]
    assert titles(f"# Setup\n\n{opener}\n# install\nmake\n{mark}\n\nAfter.\n") == [(1, "Setup")]


def test_b3_fences_in_lists_and_quotes_hold_no_headings_and_four_blanks_make_code():
    source = (
        "# A\n\n1. step\n\n   ```sh\n   # in a list\n   ```\n\n> ```\n> # in a quote\n> ```\n\n"
        "   ## Three spaces\n\n    ## Four spaces\n"
    )
    assert titles(source) == [(1, "A"), (2, "Three spaces")]


def test_b6_a_rule_after_a_list_a_quote_or_a_heading_makes_no_heading():
    source = "Title\n=====\n\nText.\n\n- item\n---\n\n> quote\n---\n\n## H\n---\n\nEnd.\n"
    assert titles(source) == [(1, "Title"), (2, "H")]


def test_closing_hashes_are_no_part_of_a_heading_and_a_setext_heading_of_two_lines_is_one_line():
    assert titles("## T ##\n\nA paragraph\nof two lines\n===\n") == [(2, "T"), (1, "A paragraph of two lines")]


@pytest.mark.parametrize(
    ("source", "rank"),
    [("one\n\ntwo\n", BLOCK), ("- one\n- two\n", ITEM), ("|a|\n|-|\n|one|\n|two|\n", ROW)],
)
def test_a_cut_has_the_rank_of_what_begins_there(source, rank):
    assert outline(source).cuts[source.index("two") - (rank == ITEM) * 2 - (rank == ROW)] == rank


def test_code_html_and_tables_are_solid_and_prose_is_not():
    source = "Prose.\n\n```\ncode\n```\n\n<div>\nhtml\n</div>\n\n|table|\n|-|\n\nMore.\n"
    shape = outline(source)
    assert {word: shape.is_solid(source.index(word)) for word in ("Prose", "code", "html", "table", "More")} == {
        "Prose": False,
        "code": True,
        "html": True,
        "table": True,
        "More": False,
    }


@pytest.mark.parametrize(
    "source",
    [">" * 20_000 + " a", "- " * 5_000 + "a", "".join(" " * 2 * n + "- x\n" for n in range(150)), "[" * 20_000],
)
def test_very_deep_nesting_is_read(source):
    assert outline(source + "\n\n# End\n").headings[-1].text == "End"
