"""Laws of the coverage list: what is not searchable is in it with its reason, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st
from properties.worlds import document

from rag_mcp.pure.check_render import coverage_lines
from rag_mcp.pure.coverage import LONGEST, NAMED, NO_TEXT, NOT_MARKDOWN, Uncovered, brief, coverage, unseen
from rag_mcp.pure.identity import EmbedderIdentity, RunIdentity
from rag_mcp.pure.ignore import NO_NOTES, READ_THERE, nothing_lost
from rag_mcp.pure.values import Excluded, Gap, Lack, Listing, Unreadable

RUN = RunIdentity(EmbedderIdentity("mini", "", "", 4, "mean", "", "", 256))
paths = st.sampled_from(("a.md", "b.md", "c/d.md", "\udcff.md", ""))
whys = st.sampled_from(("Permission denied", "not text", "a rule"))
lacks = st.sampled_from((Lack.UNREADABLE, Lack.UNDECODABLE, Lack.TOO_LARGE))
refused = st.builds(Unreadable, paths, whys, lacks)
looks = st.builds(
    Listing,
    st.just("/corpus"),
    st.just(()),
    st.lists(refused, max_size=3).map(tuple),
    st.lists(st.builds(Excluded, paths, whys), max_size=3).map(tuple),
    st.lists(st.builds(Gap, paths, whys), max_size=3).map(tuple),
)
lifecycles = st.sampled_from(("current", "superseded"))
entries = st.lists(st.tuples(paths, st.integers(0, 2), st.lists(whys, max_size=2).map(tuple), lifecycles), max_size=4)


@given(looks, st.dictionaries(paths, refused | st.builds(Excluded, paths, whys)))
def test_all_that_a_look_or_a_reading_could_not_have_is_listed_with_its_reason_and_nothing_else(look, prepared):
    prepared = {**prepared, "read.md": document("read.md", ("text",), RUN)}
    found = unseen(look, prepared)
    others = [read for read in prepared.values() if read is not prepared["read.md"]]
    missed = {(u.path, u.lack, u.why) for u in (*look.unreadables, *others) if isinstance(u, Unreadable)}
    missed |= {(asked.path, Lack.EXCLUDED, asked.why) for asked in others if isinstance(asked, Excluded)}
    missed |= {(gap.path, Lack.UNSEEN, gap.why) for gap in look.gaps}
    missed |= {(left.path, Lack.EXCLUDED, left.why) for left in look.excluded}
    assert {(each.path, each.lack, each.why) for each in found} == missed
    assert len(found) == len(missed)


@given(looks, entries)
def test_a_file_with_passages_and_no_warning_is_not_listed_and_every_other_is(look, stored):
    known = unseen(look, {})
    found = coverage(known, stored)
    assert set(known) <= set(found)
    stored = [held for held in stored if held[0] not in {each.path for each in known}]
    lacking = {path for path, passages, *_ in stored if not passages}
    lacking |= {path for path, _, warnings, lifecycle in stored if warnings or lifecycle != "current"}
    assert {each.path for each in set(found) - set(known)} == lacking
    retired = {path for path, _, _, lifecycle in stored if lifecycle == "superseded"}
    assert {each.path for each in found if each.lack is Lack.RETIRED} == retired
    assert all(each.why == NO_TEXT for each in found if each.lack is Lack.EMPTY)


@given(looks, entries)
def test_the_list_is_ordered_by_what_lacks_and_each_kind_is_shown_once_with_its_number(look, stored):
    found = coverage(unseen(look, {}), stored)
    order = list(Lack)
    assert [(order.index(e.lack), e.path, e.why) for e in found] == sorted(
        (order.index(e.lack), e.path, e.why) for e in found
    )
    lines = list(coverage_lines(found))
    heads = [line for line in lines if line.startswith("coverage")]
    assert len(lines) == len(heads) + len(found) or not found
    assert len(heads) == max(1, len({each.lack for each in found}))


def test_what_is_shown_is_safe_for_a_terminal_and_names_the_root():
    listed = (Uncovered("", Lack.UNSEEN, "Permission\x1b[31m denied"), Uncovered("\x1b.md", Lack.EMPTY, NO_TEXT))
    assert list(coverage_lines(listed)) == [
        "coverage    1 out of sight",
        "            the corpus (Permission\\x1b[31m denied)",
        "coverage    1 without text",
        "            \\x1b.md (nothing in it can be searched)",
    ]
    assert list(coverage_lines(())) == ["coverage    every file is wholly searchable"]


@given(st.lists(st.sampled_from(("a.png", "b.png", "x/a.png", "x/c.png", "x/d", "LICENSE", ".hidden")), unique=True))
def test_files_that_are_no_markdown_are_listed_once_for_each_folder_and_ending(others):
    found = unseen(Listing("/corpus", others=tuple(sorted(others))), {})
    named = {each.path for each in found}
    assert all(path in named or f"{path[:-5]}*.png" in named for path in others)
    assert len(found) == len({(path.rpartition("/")[0], path.endswith(".png") or path) for path in others})
    assert all(each.lack is Lack.EXCLUDED for each in found)


reasons = st.sampled_from(
    ("Permission denied", ".ragignore: private/", NO_NOTES, f"a link to b.md, {READ_THERE}", f"it is {NOT_MARKDOWN}")
)
listed = st.lists(st.builds(Uncovered, st.one_of(paths, st.just("x" * 999)), st.sampled_from(list(Lack)), reasons))


@given(listed)
def test_a_brief_counts_what_an_answer_may_miss_names_a_few_paths_and_none_that_a_rule_leaves_out(uncovered):
    short = brief(uncovered)
    missed = [each for each in uncovered if each.lack is not Lack.WARNED and not nothing_lost(each.why)]
    if not missed:
        assert short is None
        return
    assert short.not_searchable == len(missed) == sum(short.by_reason.values())
    assert all(short.by_reason.values())
    assert len(short.examples) <= NAMED
    assert all(len(path) <= LONGEST + 1 for path in short.examples)
    nameable = [each for each in missed if each.lack is not Lack.EXCLUDED or each.why.endswith(NOT_MARKDOWN)]
    assert len(short.examples) == min(NAMED, len(nameable))
    assert brief(uncovered, retired=True) == brief(each for each in uncovered if each.lack is not Lack.RETIRED)
    only_rules = brief([Uncovered("private/", Lack.EXCLUDED, ".ragignore: private/")])
    assert (only_rules.not_searchable, only_rules.examples) == (1, ())


def test_a_stored_file_that_cannot_be_read_now_is_told_once() -> None:
    unread = Uncovered("a.md", Lack.UNREADABLE, "Permission denied")
    assert coverage([unread], [("a.md", 0, ("odd",), "current")]) == (unread,)
