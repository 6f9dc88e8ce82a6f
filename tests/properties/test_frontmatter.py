"""Laws of front matter: what is metadata, what stays text, and that nothing of the user's is lost."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import LINE_ENDS, chunks, document

from rag_mcp.pure.frontmatter import LIMIT, split

keys = st.text(st.sampled_from("abcé_"), min_size=1, max_size=5)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.sampled_from("xy #:-'\"[{é"), max_size=8))
mappings = st.dictionaries(keys, scalars | st.lists(scalars, max_size=3), min_size=1, max_size=4)
yaml_like = st.lists(
    st.sampled_from(
        ["a: 1", "a: b: c", "- x", "# note", "\t- x", "{{x}}", "x", "", "a: [", "'", "&a *a", "? :", "a: 'b"]
    )
).map("\n".join)


def fronted(inner: str, body: str = "Body.\n", closer: str = "---") -> str:
    return f"---\n{inner}{'' if inner.endswith(chr(10)) or not inner else chr(10)}{closer}\n{body}"


@given(mappings, st.sampled_from(LINE_ENDS), st.sampled_from(("---", "...")))
def test_plain_metadata_reads_back_equal_whatever_ends_the_lines(mapping, end, closer):
    text = fronted(yaml.safe_dump(mapping, allow_unicode=True), closer=closer).replace("\n", end)
    front = split(text)
    assert (front.metadata, front.warnings, front.kept) == (mapping, (), None)
    assert text[front.body :] == f"Body.{end}"


@given(yaml_like, st.sampled_from(LINE_ENDS))
def test_no_front_matter_costs_the_body_and_none_that_fails_costs_its_own_text(inner, end):
    text = fronted(inner).replace("\n", end)
    front = split(text)
    assert text[front.body :].endswith(f"Body.{end}")
    if not front.metadata and inner.strip():
        assert front.body == 0 or front.kept == (3 + len(end), text.index(f"---{end}Body"))


@given(st.text(st.sampled_from("-.\n\r a:#"), max_size=40))
def test_any_text_is_split_at_the_start_of_a_line(text):
    body = split(text).body
    assert body == 0 or text[body - 1] in "\r\n" or body == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: open\n\n# Real\n\nBody.\n",
        " ---\na: 1\n---\n",
        "\n---\na: 1\n---\n",
        "----\na: 1\n---\n",
        "---js\n{}\n---\n",
        "+++\na = 1\n",
        "+++\na = 1\n---\n",
        "+++json\n{}\n+++\n",
        "---\na: 1\n+++\n",
        "---\na: 1\n--- x\n",
    ],
)
def test_what_is_not_closed_or_not_at_the_very_top_is_text(text):
    assert split(text).body == 0


@pytest.mark.parametrize("inner", ["Words between rules.", "# Title", "- a\n- b", "2024", "'a'"])
def test_text_between_two_rules_that_is_no_mapping_stays_text(inner):
    assert split(fronted(inner)).body == 0
    assert inner.splitlines()[0] in "\n".join(chunk.text for chunk in chunks(fronted(inner)))


@pytest.mark.parametrize("inner", ["", "\n", "  \n\n"])
def test_nothing_between_the_rules_is_an_empty_mapping(inner):
    front = split(fronted(inner))
    assert (front.metadata, front.warnings, fronted(inner)[front.body :]) == ({}, (), "Body.\n")


BROKEN = {"title: a: b": 2, "year: {{date:YYYY}}": 2, "tags:\n\t- x": 3, "# a comment\nx: [": 4, "a: *b": 2}


@pytest.mark.parametrize(("inner", "line"), BROKEN.items())
def test_b8_broken_yaml_gives_a_warning_with_its_line_and_stays_searchable(inner, line):
    read = document(fronted(inner, "\nBody one.\n"))
    (warning,) = read.warnings
    assert warning.startswith("front matter could not be used (")
    assert f"line {line}" in warning or "aliases" in warning
    assert [chunk.text for chunk in read.chunks] == [inner, "Body one."]
    assert {chunk.heading for chunk in read.chunks} == {None}


def test_b8_of_two_equal_keys_the_last_counts_with_a_warning():
    front = split("---\ntags: [x]\ntags: [y]\n---\n\nBody four.\n")
    assert front.metadata == {"tags": ["y"]}
    assert front.warnings == ("front matter names 'tags' twice (line 3); the last one counts",)


def test_b8_an_open_front_matter_is_text_and_its_heading_a_heading():
    read = document("---\ntitle: open\n\n# Real\n\nBody five.\n")
    assert read.chunks[-1].heading_path == ("Real",)
    assert "title: open" in read.chunks[0].text
    assert read.title == "Real"


def test_b9_each_key_has_one_plain_type_and_what_is_not_plain_is_left_out():
    text = (
        "---\ndate: 2024-01-02\ntags: [a, b]\nx: null\nn: .nan\nm: {a: {b: [1]}}\nflag: yes\nb: !!binary aGk=\n---\nx\n"
    )
    first, second = split(text).metadata, split(text).metadata
    assert repr(first) == repr(second)
    assert {key: type(value).__name__ for key, value in first.items()} == {
        "date": "str",
        "tags": "list",
        "x": "NoneType",
        "n": "float",
        "flag": "bool",
    }
    assert first["date"] == "2024-01-02"


@pytest.mark.parametrize("value", ["2024-02-30", "1" * 5000, "2024-01-02 25:00:00"])
def test_a_date_or_number_that_cannot_be_is_the_text_as_written(value):
    front = split(f"---\na: {value}\ntitle: T\n---\n")
    assert (front.metadata, front.warnings) == ({"a": value, "title": "T"}, ())


BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))


@pytest.mark.parametrize(
    ("inner", "why"),
    [
        (BOMB, "it uses aliases"),
        ("a: " + "x" * LIMIT, "characters, more than"),
        ("a: " + "[" * 30_000, "nesting"),
        ("a:\n  " + "- " * 30_000 + "x", "nesting"),
        ("a: 1\nb: \x01", "not YAML"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
    ],
)
def test_yaml_that_is_too_much_is_refused_with_the_reason(inner, why):
    front = split(fronted(inner))
    assert front.metadata == {}
    assert why in front.warnings[0]
    assert fronted(inner)[front.body :] == "Body.\n"


def test_comments_between_blank_lines_before_broken_yaml_are_read_in_step_with_their_number():
    assert split(fronted("#a\n\n" * 5_000 + "- x: [")).body == 0


@pytest.mark.parametrize("end", LINE_ENDS)
@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        ('---json\n{\n  "title": "T",\n  "tags": ["a"]\n}\n---\n', {"title": "T", "tags": ["a"]}),
        ("---yaml\ntitle: T\n---\n", {"title": "T"}),
        ("---json\n{}\n---\n", {}),
        ("+++\n+++\n", {}),
        (
            '+++\n# a comment\ntitle = "T"\ndate = 2024-01-02\nat = 10:00:00\ntags = ["a", "b"]\n[extra]\nx = 1\n+++\n',
            {"title": "T", "date": "2024-01-02", "at": "10:00:00", "tags": ["a", "b"]},
        ),
    ],
)
def test_json_and_toml_between_their_rules_are_metadata(text, metadata, end):
    front = split((text + "Body.\n").replace("\n", end))
    assert (front.metadata, front.warnings, front.kept) == (metadata, (), None)
    assert document(text + "Body.\n").chunks[0].text == "Body."


@pytest.mark.parametrize(
    ("opener", "inner", "closer", "why"),
    [
        ("+++", "title = \n# no heading", "+++", "line 2: Invalid value"),
        ("+++", 'a = 1\nb = "open\n# no heading', "+++", "line 3: "),
        ("+++", f'a = "{"x" * LIMIT}"', "+++", "characters, more than"),
        ("---json", '{ "title": "T", \n# no heading', "---", "line "),
    ],
)
def test_json_and_toml_that_are_broken_stay_searchable_and_are_no_markdown(opener, inner, closer, why):
    read = document(f"{opener}\n{inner}\n{closer}\n\nBody one.\n")
    assert why in read.warnings[0]
    assert "".join(chunk.text for chunk in read.chunks).startswith(inner[:9])
    assert {chunk.heading for chunk in read.chunks} == {None}
    assert read.chunks[-1].text == "Body one."


@pytest.mark.parametrize("inner", ["Words between pluses.", "# Title", "- a\n- b"])
def test_text_between_two_lines_of_pluses_that_is_no_toml_stays_text(inner):
    assert split(f"+++\n{inner}\n+++\nBody.\n").body == 0
