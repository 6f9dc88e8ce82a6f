"""Which passage is right for what is expected, and what a case may say."""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.citations import Answer, Citation, Hit, Place
from rag_mcp.pure.golden import Case, Expectation, Page, flaw, located, proposed, quoted, unified
from rag_mcp.pure.golden_codec import cases_of_jsonl, cases_of_toml
from rag_mcp.pure.judging import Judged, judged

PAGE = "\n".join(
    [
        "# Pumps",  # 1
        "",
        "## Service interval",  # 3
        "",
        "Grease every 400",  # 5
        "running hours.",
        "",
        "### Exceptions",  # 8
        "",
        "The bilge pump is never greased.",  # 10
        "",
        "## Log",  # 12
        "",
        "Greased on Monday.",  # 14
    ]
)
documents = st.lists(st.sampled_from(["", "one", "two three", "four five six", "- seven"]), min_size=1, max_size=12)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])


def passage(text: str, first: int, last: int, source: str = "a.md", copies: tuple[Place, ...] = ()) -> Hit:
    """The passage that a search would bring for these lines of a document."""
    start, end = Page.of(text).lines(first, last)
    return Hit(unified(text)[start:end], Citation(source, None, 0, (), first, last, "", also_in=copies), 0.5)


def judge(expect: Expectation | tuple[Expectation, ...], *hits: Hit, page: str | None = PAGE, k: int = 10) -> Judged:
    expected = expect if isinstance(expect, tuple) else (expect,)
    pages = {one.source: None if page is None else Page.of(page) for one in expected if one.source}
    return judged(Case("q", expected), Answer("q", 20, hits), pages, k, silent=not hits)


def lines_of(expectation: Expectation) -> str:
    match located(expectation, Page(PAGE)):
        case Success((start, end)):
            return PAGE[start:end]
        case other:
            raise AssertionError(other)


def test_heading_lines_and_quote_narrow_each_other() -> None:
    assert lines_of(Expectation("a.md", lines="5-6")) == "Grease every 400\nrunning hours."
    assert lines_of(Expectation("a.md", quote="every 400 running  hours")) == "every 400\nrunning hours"
    section = lines_of(Expectation("a.md", heading=" service  INTERVAL"))
    assert section.startswith("## Service interval") and section.endswith("never greased.")
    assert lines_of(Expectation("a.md", heading="Log", quote="reased")) == "reased"
    assert lines_of(Expectation("a.md", heading="Service interval", lines="8-14")).startswith("### Exceptions")
    for absent in (
        Expectation("a.md", heading="Lag"),
        Expectation("a.md", heading="Log", quote="every 400"),
        Expectation("a.md", heading="Log", lines="1-3"),
        Expectation("a.md", lines="15-20"),
    ):
        assert isinstance(located(absent, Page(PAGE)), Failure)


@given(documents, st.data())
def test_a_quote_is_found_where_it_was_taken_whatever_its_white_space(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assume(text[start:end].strip())
    quote = data.draw(st.sampled_from(["\n", " ", " \t\n "])).join(text[start:end].split())
    found = located(Expectation("a.md", quote=quote), Page(text)).unwrap()
    assert text[found[0] : found[1]].split() == quote.split()
    assert found[0] <= len(text[:start]) + len(text[start:end]) - len(text[start:end].lstrip())


@given(documents, line_ends, st.data())
def test_a_passage_is_right_when_it_shares_half_of_the_shorter_of_the_two(
    lines: list[str], end: str, data: st.DataObject
) -> None:
    text = end.join(lines)
    whole = unified(text)
    numbers = st.tuples(st.integers(1, len(lines)), st.integers(1, len(lines))).map(sorted)
    wanted, given_ = data.draw(numbers), data.draw(numbers)
    place = located(Expectation("a.md", lines="{}-{}".format(*wanted)), Page(whole))
    assume(isinstance(place, Success))
    hit = passage(text, *given_)
    assume(hit.text)
    result = judge(Expectation("a.md", lines="{}-{}".format(*wanted)), hit, page=text)
    expected = set(range(*place.unwrap()))
    returned = set(range(*Page(whole).lines(*given_)))
    shared = len(expected & returned)
    assert (result.rank == 1) == (shared > 0 and 2 * shared >= min(len(expected), len(returned)))
    assert result.recall == pytest.approx(shared / len(expected), abs=1e-6)
    assert result.precision == pytest.approx(shared / len(returned), abs=1e-6)
    assert result.iou == pytest.approx(shared / len(expected | returned), abs=1e-6)


def test_a_passage_of_a_long_section_and_one_that_holds_a_short_section_are_right() -> None:
    section = Expectation("a.md", heading="Service interval")
    assert judge(section, passage(PAGE, 5, 6)).rank == 1
    assert judge(section, passage(PAGE, 1, 14)).rank == 1
    assert judge(Expectation("a.md", heading="Log"), passage(PAGE, 1, 12)).rank is None
    assert judge(section, passage(PAGE, 12, 14), passage(PAGE, 10, 10)).ranks == (2,)


def test_a_copy_is_right_where_the_passage_is() -> None:
    elsewhere = passage(PAGE, 5, 6, "copy.md", (Place("a.md", 0, 5, 6),))
    assert judge(Expectation("a.md", quote="every 400 running hours"), elsewhere).rank == 1
    assert judge(Expectation("a.md", quote="every 400 running hours"), passage(PAGE, 5, 6, "copy.md")).rank is None


def test_a_quote_without_a_source_may_stand_anywhere() -> None:
    result = judge(Expectation(quote="every 400 running hours"), passage(PAGE, 14, 14), passage(PAGE, 5, 6, "z.md"))
    assert (result.rank, result.recall) == (2, 1.0)
    assert judge(Expectation(quote="every 500"), passage(PAGE, 5, 6)).recall == 0.0


def test_each_expectation_is_found_once_and_a_passage_may_hold_two() -> None:
    both = (Expectation("a.md", quote="every 400"), Expectation("a.md", quote="never greased", grade=3))
    together = judge(both, passage(PAGE, 5, 10))
    assert (together.ranks, together.ndcg) == ((1, 1), 1.0)
    apart = judge(both, passage(PAGE, 5, 6), passage(PAGE, 5, 6), passage(PAGE, 10, 10))
    assert apart.ranks == (1, 3)
    assert apart.ndcg == pytest.approx((1 + 3 / 2) / (3 + 1 / 1.5849625), abs=1e-5)


@pytest.mark.parametrize("page", [None, "# Other\n\nNothing of it."])
def test_what_the_corpus_does_not_hold_is_told_and_never_found(page: str | None) -> None:
    expected = Expectation("a.md", heading="Service interval")
    result = judge(expected, passage(PAGE, 5, 6), page=page)
    assert (result.rank, result.recall, result.ndcg) == (None, 0.0, 0.0)
    assert "a.md" in result.problems[0]


def test_passages_below_k_are_not_looked_at() -> None:
    hits = [passage(PAGE, 14, 14)] * 3 + [passage(PAGE, 5, 6)]
    expected = Expectation("a.md", quote="every 400")
    assert judge(expected, *hits, k=3).rank is None
    assert judge(expected, *hits, k=4).rank == 4


@given(st.text(max_size=12), st.text(max_size=12))
@example("", "(")
def test_a_quote_is_letters_and_never_a_pattern(before: str, quote: str) -> None:
    assume(quote.strip())
    assert quoted(quote).search(f"{before} {quote} ") is not None


GOOD: dict[str, Any] = {"question": "how often?", "expect": [{"source": "a.md", "quote": "every 400"}]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"qestion": "x"}, "qestion"),
    "an unknown key within": ({"expect": [{"sorce": "a.md"}]}, "expect[0]"),
    "a number for a question": ({"question": 5}, "question"),
    "a blank question": ({"question": " "}, "question must be a non-empty string"),
    "digits for k": ({"k": "5"}, "k"),
    "k of nothing": ({"k": 0}, "k must be 1 to 20"),
    "a text for tags": ({"tags": "abc"}, "tags must be a list"),
    "a table for expect": ({"expect": {"source": "a.md"}}, "expect must be a list"),
    "nothing expected": ({"expect": []}, "nothing is expected"),
    "an expectation of nothing": ({"expect": [{}]}, "it needs a source or a quote"),
    "a heading of no document": ({"expect": [{"heading": "H", "quote": "q"}]}, "need a source"),
    "a path that leads out": ({"expect": [{"source": "../a.md"}]}, "below the corpus"),
    "lines that end before they begin": ({"expect": [{"source": "a.md", "lines": "9-3"}]}, "lines must be like"),
    "a number for lines": ({"expect": [{"source": "a.md", "lines": 9}]}, "expected str"),
    "a grade of nothing": ({"expect": [{"source": "a.md", "grade": 0}]}, "grade must be 1 to 10"),
    "an answer to what has none": ({"none": True}, "none = true"),
    "a class that does not exist": ({"doc_class": "novel"}, "doc_class must be one of"),
}


@pytest.mark.parametrize(("change", "why"), BAD.values(), ids=list(BAD))
def test_a_case_with_anything_amiss_is_refused_and_says_which_and_why(change: dict[str, Any], why: str) -> None:
    item = GOOD | change
    if "qestion" in change:
        del item["question"]
    for where, refused in (
        ("case 2, line 9: ", cases_of_toml({"case": [GOOD, item]}, [1, 9])),
        ("line 3: ", cases_of_jsonl(f"{json.dumps(GOOD)}\n\n{json.dumps(item)}\n")),
    ):
        said = refused.failure()
        assert said.startswith(where)
        assert why in said


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "no case"), ("\n \n", "no case"), ("{", "line 1 is not JSON"), ("[]\n", "line 1: a case is a table")],
)
def test_what_holds_no_case_is_refused(text: str, why: str) -> None:
    assert why in cases_of_jsonl(text).failure()


def test_two_cases_of_one_name_are_refused() -> None:
    said = cases_of_jsonl(f"{json.dumps(GOOD)}\n{json.dumps({**GOOD, 'question': 'How often?!'})}").failure()
    assert said == "line 2: its id 'how-often' is that of line 1; give one of them another id"


def test_a_table_beside_the_cases_is_refused() -> None:
    assert "'cases'" in cases_of_toml({"cases": [GOOD]}, []).failure()
    assert "two brackets" in cases_of_toml({"case": GOOD}, []).failure()


def test_a_name_stays_when_other_cases_come_and_the_wording_tells_what_was_asked() -> None:
    case = Case("How often?", (Expectation("a.md"),))
    assert case.name == "how-often"
    assert Case("Wie häufig?", id="x").name == "x"
    assert Case("???").name == "case"
    others = [Case("How often?"), Case("How often?", (Expectation("b.md"),)), Case("How often?", case.expect, k=3)]
    assert case.wording not in {other.wording for other in others}
    assert case.wording == Case("How often?", case.expect, id="other", tags=("t",)).wording


@given(st.lists(st.sampled_from(["# A", "## B", "## ", "text of more than forty letters, so it says something", ""])))
def test_what_is_proposed_is_a_sound_case_whose_answer_is_there(lines: list[str]) -> None:
    text = "\n".join(lines)
    case = proposed("a.md", text)
    if case is not None:
        assert flaw(case) is None
        assert "text of more" in text[slice(*located(case.expect[0], Page(text)).unwrap())]
