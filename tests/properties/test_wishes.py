"""What is said now wins, what is not said stays, and characters are counted as tokens by one measure."""

from hypothesis import example, given
from hypothesis import strategies as st
from properties.worlds import wished
from returns.result import Failure, Success

from rag_mcp.pure.classify import doc_class
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.identity import Choices, Chunking, Labelling
from rag_mcp.pure.wishes import Wishes, in_characters, wishes

names = st.text("abc.-", min_size=1, max_size=6)
folders = st.lists(st.text("abc", min_size=1, max_size=3), max_size=2).map(
    lambda parts: "".join(p + "/" for p in parts)
)
labellings = st.builds(Labelling, folders, st.lists(names, max_size=3).map(tuple))
choices = st.builds(Choices, st.builds(Chunking, st.none() | st.integers(16, 400)), labellings)
asked = st.builds(
    Wishes,
    st.none() | st.builds(Chunking, st.integers(16, 400)),
    st.none() | folders,
    st.none() | st.lists(names, min_size=1, max_size=3).map(tuple),
)


@given(choices)
def test_who_asks_for_nothing_gets_what_the_store_has(own: Choices) -> None:
    assert Wishes().over(own) == own


@given(asked, choices)
def test_a_wish_wins_and_what_was_not_wished_for_stays(wish: Wishes, own: Choices) -> None:
    made = wish.over(own)
    assert made.chunking == (wish.chunking or own.chunking)
    assert made.labelling.mirror_dir == (own.labelling.mirror_dir if wish.mirror_dir is None else wish.mirror_dir)
    assert made.labelling.mirror_basenames == (wish.mirror_basenames or own.labelling.mirror_basenames)


@given(asked, choices)
def test_a_run_that_asks_for_nothing_undoes_nothing(wish: Wishes, own: Choices) -> None:
    told = wish.over(own)
    assert Wishes().over(told) == told
    assert wish.over(told) == told


@given(choices, choices)
def test_choices_can_be_asked_for_just_as_they_are(kept: Choices, own: Choices) -> None:
    assert wished(kept).over(own) == kept


@given(folders)
def test_a_folder_is_one_however_it_is_written(folder: str) -> None:
    spellings = {folder, folder.rstrip("/"), "./" + folder, folder.replace("/", "\\")} | (
        {".", ""} if not folder else set()
    )
    made = {wishes(spelling, None).unwrap().over(Choices()).labelling for spelling in spellings}
    assert made == {Labelling(folder)}
    assert doc_class(f"{folder}active.md", {}, made.pop()) == "handoff"


def test_a_folder_outside_the_corpus_or_a_path_for_a_name_is_refused() -> None:
    for folder in ("/etc", "../up", "a/../../b", "C:\\x"):
        assert isinstance(wishes(folder, None), Failure), folder
    for name in ("", "a/b.md", "a\\b.md"):
        assert isinstance(wishes(None, (name,)), Failure), name


@given(st.integers(-5, 3000), st.integers(-5, 3000))
@example(1000, 150)
@example(150, 150)
def test_characters_are_tokens_in_proportion_and_an_overlap_is_smaller_than_its_window(
    chars: int, overlap: int
) -> None:
    match in_characters(chars, overlap):
        case Success(made):
            assert 0 <= overlap < chars
            assert made == Chunking(budget=max(1, round(chars * 0.224)), overlap=round(overlap * 0.224))
        case Failure(wrong):
            assert isinstance(wrong, ConfigError)
            assert chars < 1 or not 0 <= overlap < chars


def test_a_thousand_characters_are_the_default_budget() -> None:
    assert in_characters(1000).unwrap() == Chunking()
