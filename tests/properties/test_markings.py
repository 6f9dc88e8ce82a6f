"""Keys of front matter: what they hide is hidden however it is written, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import run, words

from rag_mcp.pure.documents import left_out, read_document
from rag_mcp.pure.frontmatter import split
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.markings import ASKED, HIDING, LONGEST, SMALL, Markings, markings
from rag_mcp.pure.values import CURRENT, SUPERSEDED, Document, Excluded


def read(text, window=200, chunking=Chunking(), measure=words):
    return read_document("a.md", text.encode(), "d", run(window, chunking), measure)


def asked(inner: str, rule: str = "---") -> Markings:
    return markings(split(f"{rule}\n{inner}\n{rule}\n\nBody.\n"))


def cased(word: str):
    """The word in any mixture of cases, quoted or not, with blanks around where it is quoted."""
    mixed = st.lists(st.booleans(), min_size=len(word), max_size=len(word)).map(
        lambda up: "".join(c.upper() if u else c for c, u in zip(word, up, strict=True))
    )
    quoted = st.sampled_from(('"{}"', "'{}'", '" {} "'))
    return st.one_of(mixed, st.builds(lambda form, said: form.format(said), quoted, mixed))


@given(cased("rag"), st.sampled_from(("false", "no", "off")).flatmap(cased))
def test_rag_that_is_false_leaves_a_file_out_in_any_case_quoted_or_not(key, value):
    key = key.replace(" ", "")
    assert asked(f"title: t\n{key}: {value}").left_out == ASKED
    assert read(f"---\n{key}: {value}\n---\n\nBody.\n") == Excluded("a.md", ASKED)
    assert left_out("a.md", f"---\n{key}: {value}\n---\n\nBody.\n".encode())


@given(cased("superseded"))
def test_superseded_retires_a_file_in_any_case_quoted_or_not(value):
    found = read(f"---\nlifecycle: {value}\n---\n\nBody.\n")
    assert isinstance(found, Document)
    assert (found.lifecycle, found.warnings, len(found.chunks)) == (SUPERSEDED, (), 1)


@pytest.mark.parametrize("inner", ["title: t", "rag: true", "rag: yes", "rag:", "lifecycle:", "lifecycle: Current", ""])
def test_what_hides_nothing_is_indexed_as_current_without_a_warning(inner):
    assert asked(inner) == Markings()


@pytest.mark.parametrize("value", ["0", "1", "maybe", "[false]", "2026-01-31", "n"])
def test_rag_that_is_neither_true_nor_false_hides_nothing_and_is_named_in_a_warning(value):
    found = read(f"---\nrag: {value}\n---\n\nBody.\n")
    assert isinstance(found, Document) and found.chunks
    assert len(found.warnings) == 1 and "neither true nor false" in found.warnings[0]


@pytest.mark.parametrize(
    "value", ["obsolete", "retired", "[superseded]", "superseded by b.md", "'superseded!'", "false"]
)
def test_an_unknown_lifecycle_is_current_and_is_named_in_a_warning(value):
    found = read(f"---\nlifecycle: {value}\n---\n\nBody.\n")
    assert isinstance(found, Document) and found.lifecycle == CURRENT
    (warning,) = found.warnings
    assert value.strip("'[]") in warning and "counts as current" in warning


def test_toml_and_json_are_obeyed_as_yaml_is():
    assert asked("rag = false", "+++").left_out == ASKED
    assert asked('lifecycle = "superseded"', "+++").lifecycle == SUPERSEDED
    assert markings(split('---json\n{"rag": false}\n---\nBody.\n')).left_out == ASKED


def test_of_a_key_that_is_written_in_two_ways_the_one_that_hides_counts():
    for order in ("rag: false\nRag: true", "Rag: true\nrag: false"):
        assert asked(order).left_out == ASKED


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [\nrag: false\n---\n\nBody.\n",
        "---\ntitle: [\nlifecycle: superseded\n---\n\nBody.\n",
        "---\ntitle: x\nrag:false\n---\n\nBody.\n",
        "---\ntitle:x\nrag:false\n---\n\nBody.\n",
        "---\ntitle: [\n# rag: No\n---\n\nBody.\n",
        "---\ntitle: *a\nrag: &b false\n---\n\nBody.\n",
        '---json\n{"title": [, "rag": false}\n---\nBody.\n',
        "+++\ntitle = [\nrag = false\n+++\nBody.\n",
        '+++\ntitle = [\nlifecycle = "superseded"\n+++\nBody.\n',
        "---\nrag: false\n\n# Not closed\n\nBody.\n",
        "---\ntitle: t\nLifecycle: Superseded\nBody.\n",
        "\n---\nrag: false\n---\n\nBelow a blank line.\n",
        "----\nrag: false\n----\n\nBody.\n",
        f"---\nrag: false\nnoise: {'x' * 70_000}\n---\n\nBody.\n",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_front_matter_that_cannot_be_read_and_may_hide_its_file_leaves_it_out_and_says_why(text, end):
    found = read(text.replace("\n", end))
    assert isinstance(found, Excluded)
    assert "cannot be read" in found.why and HIDING.search(found.why)
    assert left_out("a.md", text.replace("\n", end).encode())


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [\n---\n\nrag: false\n",
        "---\ntitle: [\nragged: false\nstorage: no\n---\n\nBody.\n",
        "---\ntitle: [\nrag: true\nlifecycle: current\n---\n\nBody.\n",
        "---\ntitle: t\n---\n\n---\nrag: false\n---\n",
        "# Rag\n\nrag: false\n",
        "---\n\nWrite `rag: false` above a file.\n",
        "---\nnote: write rag:false here, and lifecycle:superseded\n---\n\nBody.\n",
        "```\n---\nrag: false\n---\n```\n",
    ],
)
def test_what_is_said_elsewhere_hides_no_file(text):
    assert isinstance(read(text), Document)
    assert not left_out("a.md", text.encode())


@given(st.text(alphabet="-+rag: \nfalse=[{'\"#x", max_size=60), st.sampled_from(("---", "+++", "")))
def test_a_file_is_left_out_by_reading_and_by_looking_alike(inner, rule):
    text = f"{rule}\n{inner}\n{rule}\nBody.\n"
    assert left_out("a.md", text.encode()) == isinstance(read(text), Excluded)


# By headings

BY_HEADINGS = "---\nrag_chunk: headings\n---\n"


def section(name: str, characters: int) -> str:
    return f"## {name}\n\n{'word. ' * (characters // 6)}\n\n"


def texts(source: str, window: int, measure=words) -> list[str]:
    found = read(source, window, measure=measure)
    assert isinstance(found, Document) and not found.warnings
    return [chunk.text for chunk in found.chunks]


def test_by_headings_small_neighbours_share_a_passage_and_others_stand_alone():
    body = section("A", 300) + section("B", 300) + section("C", 900) + section("D", 300) + section("E", 900)
    assert [t.count("## ") for t in texts(BY_HEADINGS + body, 5_000)] == [2, 1, 1, 1]
    assert len(texts(body, 5_000)) == 5


def test_by_headings_a_section_of_just_the_bound_is_not_small():
    below, at = "x" * (SMALL - 7), "x" * (SMALL - 6)
    assert len(texts(f"{BY_HEADINGS}## A\n\n{below}\n\n## B\n\n{below}\n", 5_000)) == 1
    assert len(texts(f"{BY_HEADINGS}## A\n\n{at}\n\n## B\n\n{at}\n", 5_000)) == 2


@given(st.lists(st.integers(10, 9_000), min_size=1, max_size=4), st.sampled_from((60, 400, 5_000)))
def test_by_headings_no_passage_outgrows_the_window_or_the_longest(sizes, window):
    source = BY_HEADINGS + "".join(section(f"S{n}", size) for n, size in enumerate(sizes))
    found = texts(source, window)
    assert all(len(text) <= LONGEST and len(text.split()) <= window for text in found)
    assert "".join("".join(found).split()) == "".join(source.removeprefix(BY_HEADINGS).split())


def test_by_headings_a_section_is_cut_by_the_window_and_not_by_the_budget_of_others():
    body = section("A", 3_000)
    assert len(texts(body, 5_000)) > 1
    assert len(texts(BY_HEADINGS + body, 5_000)) == 1
    assert len(texts(BY_HEADINGS + section("A", 4_500), 5_000)) == 2


def test_headings_in_code_cut_nothing():
    assert len(texts(f"{BY_HEADINGS}## A\n\n```\n## no\n\n{'x ' * 300}\n## nor this\n```\n", 5_000)) == 1


def test_another_value_is_named_in_a_warning_and_changes_nothing():
    plain, odd = (read(f"{head}{section('A', 3_000)}") for head in ("", "---\nrag_chunk: pages\n---\n"))
    assert [c.text for c in plain.chunks] == [c.text for c in odd.chunks]
    assert "rag_chunk: 'pages'" in odd.warnings[0]
