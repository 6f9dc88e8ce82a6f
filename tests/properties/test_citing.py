"""Laws of citations: what was quoted is found where it stands, and nothing is found where it does not stand."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.blocks import line_of, line_starts
from rag_mcp.pure.check_render import cited_lines
from rag_mcp.pure.citations import content_hash
from rag_mcp.pure.citing import Cited, Lines, Verdict, judged, lines_of, parse_citation, parse_hash, spellings

ends = st.sampled_from(("\n", "\r\n", "\r"))
words = st.text(st.sampled_from("abc \u00e9\u2028\f"), max_size=4)
texts = st.lists(st.tuples(words, ends), min_size=1, max_size=8).map(lambda ls: "".join(map("".join, ls)))


@given(st.text(min_size=1), st.integers(1, 99), st.integers(0, 9))
@example("C:\\notes\\a.md", 3, 1)
@example("a:1-2.md", 3, 0)
@example("a:7", 3, 0)
@example("a\nb", 1, 1)
def test_what_is_written_as_a_citation_is_read_back_whatever_the_source_is_called(source, first, more):
    last = first + more
    assert parse_citation(f"{source}:{first}-{last}") == Success(Lines(source, first, last))
    assert parse_citation(f"{source}:{first}") == Success(Lines(source, first, first))


@pytest.mark.parametrize("text", ["", "a.md", "a.md:", ":3-4", "a.md:0", "a.md:0-3", "a.md:5-4", "a.md:x", "a.md:-3",
                                  "a.md:3-", "a.md:\u0663", "a.md:1234567890"])  # fmt: skip
def test_what_names_no_lines_is_refused_and_says_how_to_write_it(text):
    refused = parse_citation(text)
    assert isinstance(refused, Failure)
    assert "SOURCE:START-END" in refused.failure().message


def test_a_hash_is_read_with_and_without_its_kind_in_any_case_and_nothing_else_is():
    digest = "0123456789abcdef" * 4
    for text in (digest, digest.upper(), f"sha256:{digest}", f" sha256:{digest}\n"):
        assert parse_hash(text) == Success(f"sha256:{digest}")
    for text in ("", digest[1:], f"md5:{digest}", digest + "0"):
        assert isinstance(parse_hash(text), Failure)


def test_backslashes_are_read_as_they_are_and_then_as_separators():
    assert spellings("a/b.md") == ("a/b.md",)
    assert spellings("a\\b.md") == ("a\\b.md", "a/b.md")


@st.composite
def passages(draw):
    """(text of a file, a passage in it, its first and last line): a slice that does not end in a blank."""
    text = draw(texts)
    start = draw(st.integers(0, len(text) - 1))
    quote = text[start : draw(st.integers(start + 1, len(text)))].rstrip()
    assume(quote)
    starts = line_starts(text)
    return text, quote, line_of(starts, start), line_of(starts, start + len(quote) - 1)


@given(passages())
def test_a_passage_that_stands_where_it_was_cited_holds(passage):
    text, quote, first, last = passage
    cited = judged(Lines("a.md", first, last), text, content_hash(quote), quote, ())
    assert cited.verdict is Verdict.HOLDS
    assert cited.holds
    assert quote in cited.text
    assert cited.text == lines_of(text, first, last)


@example(("a\na\n", "a\na", 1, 2), "a\n")
@given(passages(), texts)
def test_a_passage_that_was_pushed_down_is_found_again_on_its_new_lines(passage, before):
    text, quote, first, last = passage
    moved = before + text
    down = len(line_starts(before)) - 1
    cited = judged(Lines("a.md", first, last), moved, content_hash(quote), quote, ())
    assert cited.verdict in (Verdict.HOLDS, Verdict.MOVED)
    assert quote in lines_of(moved, cited.now.first, cited.now.last)
    once = len(re.findall(f"(?={re.escape(quote)})", moved)) == 1  # one that overlaps itself counts as two
    if once and not before.endswith("\r"):
        assert (cited.now.first, cited.now.last) == (first + down, last + down)


@given(passages(), texts)
def test_what_stands_nowhere_is_changed_or_gone_or_named_where_it_stands_now(passage, other):
    _, quote, first, last = passage
    assume(quote not in other)
    asked, wanted = Lines("a.md", first, last), content_hash(quote)
    assert judged(asked, other, wanted, quote, ()).verdict is Verdict.CHANGED
    assert judged(asked, None, wanted, quote, ()).verdict is Verdict.GONE
    there = Lines("b.md", 3, 4)
    for now in (other, None):
        moved = judged(asked, now, wanted, quote, (there,))
        assert (moved.verdict, moved.now, moved.holds) == (Verdict.MOVED, there, False)


@given(texts, st.integers(1, 8), st.integers(0, 3), texts)
def test_whole_lines_are_found_by_their_hash_alone(text, first, more, before):
    assume(first + more <= len(line_starts(text)))
    quote = lines_of(text, first, first + more).rstrip()
    assume(quote)
    asked, wanted = Lines("a.md", first, first + more), content_hash(quote)
    assert judged(asked, text, wanted, None, ()).verdict is Verdict.HOLDS
    if not before.endswith("\r") and len(line_starts(text)) > first + more:
        moved = judged(asked, before + text, wanted, None, ())
        assert moved.verdict in (Verdict.HOLDS, Verdict.MOVED)
        assert lines_of(before + text, moved.now.first, moved.now.last).rstrip() == quote
    assert judged(asked, "", wanted, None, ()).verdict is Verdict.CHANGED


def test_a_citation_whose_end_was_cut_off_holds_where_it_begins():
    text = "one\ntwo\nthree\n"
    assert judged(Lines("a.md", 1, 2), text, content_hash(text.rstrip()), text.rstrip(), ()).holds
    assert not judged(Lines("a.md", 2, 3), text, content_hash(text.rstrip()), text.rstrip(), ()).holds


@given(texts, st.integers(1, 20), st.integers(0, 5))
def test_without_a_hash_the_lines_are_shown_and_nothing_is_claimed(text, first, more):
    asked = Lines("a.md", first, first + more)
    cited = judged(asked, text, None, None, ())
    assert (cited.verdict, cited.now) == (Verdict.UNCHECKED, None)
    assert cited.holds == bool(lines_of(text, first, first + more))
    assert judged(asked, None, None, None, ()) == Cited(asked, Verdict.GONE)


def test_what_is_shown_names_lines_and_verdict_and_is_safe_for_a_terminal():
    asked = Lines("a\x1b.md", 9, 10)
    lines = list(cited_lines(Cited(asked, Verdict.MOVED, "one\r\ntw\x07o\r\n", Lines("b.md", 1, 2))))
    assert lines == [" 9  one", "10  tw\\x07o", "a\\x1b.md:9-10: moved; what was quoted now stands at b.md:1-2"]
    for verdict in Verdict:
        assert len(list(cited_lines(Cited(asked, verdict)))) == 1
