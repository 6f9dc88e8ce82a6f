"""Laws of the document class: what is a hand-over, and that nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure.classify import ALLOWED_DOC_CLASSES, doc_class, ends_in_token, tags
from rag_mcp.pure.identity import Labelling

DEFAULT = Labelling()
names = st.text(st.sampled_from("ahndof-_. 1É"), min_size=1, max_size=14).filter(lambda name: name.strip(". "))
plain_values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9))


@given(st.dictionaries(st.sampled_from(("type", "tags", "title")), plain_values | st.lists(plain_values)), names)
def test_whatever_stands_in_front_of_a_text_it_has_one_of_the_two_classes(metadata, name):
    assert doc_class(name, metadata, DEFAULT) in ALLOWED_DOC_CLASSES


@pytest.mark.parametrize("kind", ["handoff", "Handoff", " HANDOFF "])
def test_type_handoff_makes_a_hand_over_anywhere_and_in_any_case(kind):
    assert doc_class("deep/in/a.md", {"type": kind}, DEFAULT) == "handoff"


@pytest.mark.parametrize(
    "value",
    [["x", "Handoff"], "x, handoff", "x handoff", "#handoff", ["#HANDOFF"], "x,\n#handoff", ["handoff", 3, None]],
)
def test_a_tag_handoff_makes_a_hand_over(value):
    assert doc_class("a.md", {"tags": value}, DEFAULT) == "handoff"


@pytest.mark.parametrize(
    "metadata",
    [
        {"type": "handoffs"},
        {"type": ["handoff"]},
        {"type": None},
        {"tags": ["handoff-notes"]},
        {"tags": "nohandoff"},
        {"tag": "handoff"},
    ],
)
def test_what_only_resembles_the_label_makes_a_note(metadata):
    assert doc_class("a.md", metadata, DEFAULT) == "note"


MATCH = [
    "handoff-2026-09-03.md",
    "morning-dispatch-handoff.md",
    "handoff.md",
    "Handoff_20310402.md",
    "a b HANDOFF 1.2.md",
]
NO_MATCH = ["handoff-skill-redesign-spec.md", "handoffs.md", "nohandoff.md", "handoff-notes.md", "2026.md", "-.md"]


@pytest.mark.parametrize(("name", "matches"), [*((n, True) for n in MATCH), *((n, False) for n in NO_MATCH)])
def test_the_token_is_anchored_at_the_end_of_the_stem(name, matches):
    assert ends_in_token(name) is matches
    assert doc_class(f"context/{name}", {}, DEFAULT) == ("handoff" if matches else "note")


@given(
    names.map(lambda stem: stem + "-handoff.md"),
    st.sampled_from(("", "sub/", "context/sub/", "Context/", "a/context/")),
)
def test_names_count_directly_in_the_mirror_folder_only(name, folder):
    assert doc_class("context/" + name, {}, DEFAULT) == "handoff"
    assert doc_class(folder + name, {}, DEFAULT) == "note"


@pytest.mark.parametrize("name", ["handoff.md", "active.md", "resume.md", "Active.MD"])
def test_the_three_names_count_in_any_case(name):
    assert doc_class(f"context/{name}", {}, DEFAULT) == "handoff"
    assert doc_class(name, {}, DEFAULT) == "note"


@pytest.mark.parametrize("folder", ["notes/live", "notes/live/"])
def test_given_names_replace_the_default_ones_and_the_slash_is_optional(folder):
    labelling = Labelling(folder, ("Now.md",))
    classes = [doc_class(f"notes/live/{name}", {}, labelling) for name in ("now.md", "active.md", "x-handoff.md")]
    assert classes == ["handoff", "note", "handoff"]


def test_the_root_can_be_the_mirror_folder():
    assert doc_class("active.md", {}, Labelling("")) == "handoff"


@given(st.lists(st.text(st.sampled_from("aB9é-/"), min_size=1), max_size=5))
def test_a_list_of_tags_and_a_line_of_tags_say_the_same(words):
    assert tags(words) == tags(", ".join(words)) == tags(" ".join("#" + word for word in words))
