"""The corpus profile's decisions: bounds of a question, passages joined to a file, replies within their budget."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import chunks, texts
from returns.result import Failure, Success

from rag_mcp.pure import errors
from rag_mcp.pure.citations import Answer, Citation, Hit
from rag_mcp.pure.corpus import FileText, Found, Stamp, joined, parse_asked, parse_path
from rag_mcp.pure.corpus_reply import PROMISED, file_shape, found_shape, refusal
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.profiles import TOOLS, parse_profiles
from rag_mcp.pure.reply import compact
from rag_mcp.pure.revisions import at_commit

ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)


@given(ANYTHING, ANYTHING)
def test_whatever_is_sent_is_a_question_in_bounds_or_refused(text: object, k: object) -> None:
    match parse_asked(text, k):
        case Success(query):
            assert query.text == text and query.text.strip() and query.k == (5 if k is None else k)
            assert 1 <= query.k <= 20 and not isinstance(k, bool)
        case Failure(refused):
            assert refusal(refused)["error"]["type"] == "invalid_argument"


@pytest.mark.parametrize("k", [0, 21, -1, 10**400, 2.5, float("inf"), float("nan"), "5", True, [], {}])
def test_a_k_out_of_bounds_is_refused_with_its_limits(k: object) -> None:
    said = parse_asked("pumps", k).failure().message
    assert "1 to 20" in said and "5" in said


@pytest.mark.parametrize(("k", "taken"), [(1, 1), (20, 20), (7.0, 7), (None, 5)])
def test_a_k_in_bounds_is_taken(k: object, taken: int) -> None:
    assert parse_asked("pumps", k).unwrap().k == taken


@pytest.mark.parametrize("text", ["x" * 4000, " pumps "])
def test_a_question_of_the_limit_is_taken(text: str) -> None:
    assert parse_asked(text, 5).unwrap().text == text


@pytest.mark.parametrize("text", ["", " \n", "x" * 4001, None, 7, ["x"]])
def test_a_question_that_is_none_is_refused(text: object) -> None:
    assert refusal(parse_asked(text, 5).failure())["error"]["type"] == "invalid_argument"


@pytest.mark.parametrize("path", ["", "x" * 4097, None, 7, ["a.md"]])
def test_a_path_that_is_no_text_is_refused(path: object) -> None:
    assert refusal(parse_path(path).failure())["error"]["type"] == "invalid_argument"


def test_every_failure_has_a_promised_type_a_sentence_and_a_next_step() -> None:
    made = [
        errors.InvalidQuery("m"), errors.StoreMissing("s"), errors.EmptyStore("s"), errors.StoreUnreachable("s", "w"),
        errors.ConfigError("m"), errors.EmbedderMismatch("a", 1, "b", 2), errors.EmbedderFailed("e", "w"),
        errors.WarmingUp(20), errors.SourceUnavailable("s"), errors.PathChanged("s"), errors.InvalidArgument("m"),
        errors.CorpusMissing("r", "w"),
    ]  # fmt: skip
    shapes = [refusal(failure) for failure in made]
    assert all(list(shape) == ["error"] for shape in shapes)
    assert all(shape["error"]["message"] and shape["error"]["next_step"] for shape in shapes)
    seen = {shape["error"]["type"] for shape in shapes} | {refusal(made[3], unexpected=True)["error"]["type"]}
    assert seen == set(PROMISED)


@given(texts(), st.integers(8, 40), st.integers(0, 6))
def test_joined_passages_hold_what_they_hold_once_in_order_and_on_their_lines(text: Any, window: int, lap: int) -> None:
    source = text.source
    found = chunks(source, window=window, chunking=Chunking(overlap=lap)) if lap else chunks(source, window=window)
    whole = joined(found)
    covered = "".join(
        char
        for at, char in enumerate(source)
        if any(chunk.start <= at < chunk.end for chunk in found) and not char.isspace()
    )
    assert "".join(whole.split()) == "".join(covered.split())
    assert joined(reversed(found)) == whole
    lines = whole.split("\n")
    for chunk in found:
        assert chunk.text in whole
        assert chunk.text.split("\n")[0] in lines[chunk.start_line - found[0].start_line]


@given(st.lists(st.text(max_size=400), max_size=6), st.integers(600, 2000))
def test_passages_keep_within_the_budget_and_say_what_was_left_out(many: list[str], limit: int) -> None:
    hits = tuple(
        Hit(text, Citation("a.md", None, number, (), 1, 1, "sha256:0"), 0.5) for number, text in enumerate(many)
    )
    shape = found_shape(Found(Answer("q", 5, hits), {"a.md": "A"}, Stamp(at_commit("abc", changed=False), "m")), limit)
    assert len(compact(shape["results"])) <= limit
    assert shape["count"] == len(shape["results"]) and shape["truncated"] == (len(many) > shape["count"])
    assert [hit["text"] for hit in shape["results"]] == many[: shape["count"]]
    assert shape["index"]["corpus_commit"] == "abc" and shape["index"]["uncommitted_changes"] is False


@given(st.text(max_size=3000), st.integers(50, 1500))
def test_a_file_is_whole_or_cut_and_says_so(text: str, limit: int) -> None:
    shape = file_shape(FileText("a.md", None, text, "disk", "current", "2031-01-01", False), limit)
    assert text.startswith(shape["text"]) and len(json.dumps(shape["text"], ensure_ascii=False)) <= limit + 2
    assert shape["truncated"] == (shape["text"] != text)
    assert ("cut after" in shape.get("note", "")) == shape["truncated"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, ("knowledge",)), ("", ("knowledge",)), (" , ", ("knowledge",)), ("knowledge", ("knowledge",)),
        ("corpus", ("corpus",)), ("corpus, knowledge", ("knowledge", "corpus")), ("corpus,corpus", ("corpus",)),
    ],
)  # fmt: skip
def test_profiles_are_named_with_commas_in_any_order(said: str | None, meant: tuple[str, ...]) -> None:
    assert parse_profiles(said) == Success(meant)


@pytest.mark.parametrize("said", ["Corpus", "all", "knowledge,none", "knowledge;corpus"])
def test_a_profile_that_nobody_knows_is_refused_with_those_that_there_are(said: str) -> None:
    message = parse_profiles(said).failure().message
    assert all(name in message for name in TOOLS)
