"""Laws of corpus-relative paths."""

import ntpath
import posixpath
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.pure.paths import inside, is_markdown, is_under, printable

names = st.text(st.characters(blacklist_characters="/\0"), min_size=1, max_size=6)
parts = st.one_of(st.sampled_from(["..", ".", "", "a", "b.md", "C:", "..\\..", "\\", "%2e%2e"]), names)
paths = st.lists(parts, max_size=6).map("/".join)


def leaves(path, module):
    plain = module.normpath(path).replace("\\", "/")
    return plain in (".", "..") or plain.startswith("../")


@given(paths)
@example("../../etc/hostname")
@example("a/../../a/x.md")
def test_a_path_that_normalises_to_a_place_outside_is_not_inside(path):
    if posixpath.isabs(path) or leaves(path, posixpath):
        assert not inside(path)


@given(paths)
@example("a\\..\\..\\x.md")
def test_a_path_that_another_system_reads_as_outside_is_not_inside(path):
    drive, rest = ntpath.splitdrive(path)
    if rest.startswith(("/", "\\")) or (leaves(path, ntpath) and not drive):
        assert not inside(path)


@given(st.lists(names.filter(lambda n: n.strip(".") and "\\" not in n and n[1:2] != ":"), min_size=1, max_size=5))
def test_a_path_of_plain_names_is_inside(plain):
    assert inside("/".join(plain))


@pytest.mark.parametrize(
    "path",
    ["", ".", "..", "a/..", "/etc/hostname", "//host/x", "C:\\Windows\\win.ini", "c:/x", "C:", "\\x", "\\\\host\\x",
     "a.md\0.txt", "link/../../x.md", "..\\x.md"],
)  # fmt: skip
def test_what_is_outside_on_any_system_is_outside(path):
    assert not inside(path)


@pytest.mark.parametrize(
    "path",
    ["a.md", "a/../b.md", "./a.md", "a..b/...md", "%2e%2e/x.md", "back\\slash.md", "Q: why?.md", "~/a.md", "-rf.md"],
)
def test_odd_names_are_inside(path):
    assert inside(path)


@given(paths, names)
def test_what_is_joined_to_a_folder_lies_under_it_and_the_folder_does_not(folder, name):
    joined = f"{folder}/{name}" if folder else name
    assert is_under(joined, folder)
    assert is_under(joined, "")
    assert not is_under(folder, folder)


@given(names, names)
def test_a_folder_does_not_hold_what_only_begins_with_its_name(folder, more):
    assert not is_under(folder + more, folder)


def test_markdown_is_told_by_the_end_of_the_name_in_any_case():
    assert all(map(is_markdown, ["a.md", "A.MD", "b.Markdown", ".hidden.md", "a.b.md"]))
    assert not any(map(is_markdown, ["a.mdx", "md", "a.md.bak", "a.txt", "markdown"]))


@given(st.text(st.characters(codec=None, exclude_categories=())))
@example("new\nline\u2028\u2029\x85.md")
@example("\x1b[31m\u202e\u200b\udcff\ue000")
def test_what_is_printed_is_one_line_without_controls(text):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert {unicodedata.category(c) for c in shown}.isdisjoint({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})
    assert all(c in "\u200c\u200d" for c in shown if unicodedata.category(c) == "Cf")
    shown.encode()


@given(st.text(st.characters(codec=None, exclude_categories=(), exclude_characters="\\")), st.data())
def test_two_texts_without_backslashes_are_shown_alike_only_if_they_are_equal(text, data):
    at = data.draw(st.integers(0, len(text)))
    added = data.draw(st.sampled_from(["\n", "\u200b", "\u202e", "\x1b", "\udc80", "x", "\U000e0001", "u"]))
    assert printable(text[:at] + added + text[at:]) != printable(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_shown_as_it_is_and_so_is_what_was_shown_once(text):
    assert printable(text) == text


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_showing_twice_shows_the_same(text):
    assert printable(printable(text)) == printable(text)


def test_joiners_stay_where_a_script_or_an_emoji_needs_them_and_nowhere_else():
    scientist, persian = "\U0001f469\u200d\U0001f52c", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert printable(scientist) == scientist
    assert printable(persian) == persian
    assert printable("a\u200db") == "a\\u200db"
    assert printable("\u00e9\u200d\u200d\u00e9") == "\u00e9\\u200d\\u200d\u00e9"
