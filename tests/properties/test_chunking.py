"""Laws of passages: nothing lost, every passage a slice of its file, none over the window, and cuts that stay put."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from random import Random

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st
from properties.markdown_texts import LINE_ENDS, MEASURES, chunks, document, paragraphs, run, texts, words

from rag_mcp.pure.blocks import LINE_END
from rag_mcp.pure.boundaries import cuts
from rag_mcp.pure.chunking import content_key, embedded_text
from rag_mcp.pure.documents import read_document
from rag_mcp.pure.frontmatter import split
from rag_mcp.pure.identity import Chunking

measures = st.sampled_from(MEASURES)
windows = st.sampled_from((16, 17, 24, 40, 400))
ends = st.sampled_from(LINE_ENDS)
PLAIN = Chunking()
ways = st.sampled_from(
    (PLAIN, Chunking(merge_below=12), Chunking(merge_below=1_000), Chunking(overlap=6), Chunking(None, 0.4, 30, 3))
)
awkward = st.lists(
    st.sampled_from(
        [
            "# H",
            "```",
            "~~~",
            "- a",
            "> b",
            "|a|b|",
            "|-|-|",
            "---",
            "===",
            "x" * 50,
            "e\u0301" * 40,
            "漢字。",
            "a\u2028b",
            " ",
            "\t",
            "",
            "<div>",
            "word " * 9,
            "\u00a0",
            "👩\u200d👩\u200d👧" * 9,
        ]
    )
).map("\n".join)
sources = texts().map(lambda text: text.source) | awkward


@example("---\n---", "\n", 16, words, PLAIN)
@example("---\na: [\n---\nb", "\r", 16, words, PLAIN)
@given(sources, ends, windows, measures, ways)
def test_every_line_that_is_not_blank_is_in_a_passage_with_all_its_characters(source, end, window, measure, way):
    source = source.replace("\n", end)
    front = split(source)
    covered = [n < front.body and not (front.kept and n in range(*front.kept)) for n in range(len(source))]
    for chunk in chunks(source, window, measure, way):
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert "".join(c for c, hit in zip(source, covered, strict=True) if not hit).strip() == ""


@example(" \n- a\n" + "x" * 50, "\n", 16, MEASURES[1], Chunking(overlap=6))
@given(sources, ends, windows, measures, ways)
def test_a_passage_is_an_exact_slice_in_order_and_apart_without_blank_ends(source, end, window, measure, way):
    source = source.replace("\n", end)
    cut = chunks(source, window, measure, way)
    assert [chunk.ordinal for chunk in cut] == list(range(len(cut)))
    for chunk, following in zip_longest(cut, cut[1:]):
        assert chunk.text == source[chunk.start : chunk.end]
        assert chunk.text == chunk.text.rstrip()
        assert LINE_END.split(chunk.text)[0].strip()
        assert following is None or chunk.start < following.start
        assert way.overlap or following is None or chunk.end <= following.start


@given(sources, ends, windows, ways)
def test_the_lines_a_passage_names_hold_it(source, end, window, way):
    source = source.replace("\n", end)
    lines = LINE_END.split(source)
    for chunk in chunks(source, window, chunking=way):
        named = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert LINE_END.sub("\n", chunk.text) in named
        assert chunk.start_line == len(LINE_END.findall(source[: chunk.start])) + 1
        assert chunk.end_line == chunk.start_line + len(LINE_END.findall(chunk.text))


@given(sources, windows, measures, ways)
def test_no_passage_is_over_the_window_and_its_tokens_are_those_of_what_is_embedded(source, window, measure, way):
    for chunk in chunks(source, window, measure, way):
        assert chunk.tokens == measure([embedded_text(chunk)])[0]
        assert chunk.tokens <= window


@given(sources, windows)
def test_with_a_document_prefix_there_is_room_for_it(source, window):
    identity = run(window + 3)
    identity = evolve(identity, embedder=evolve(identity.embedder, document_prefix="passage of text: "))
    for chunk in read_document("a.md", source.encode(), "d", identity, words).chunks:
        assert words(["passage of text: " + embedded_text(chunk)])[0] <= window + 3


@given(texts(), ends, windows)
def test_every_word_stands_under_the_heading_path_of_the_model(text, end, window):
    cut = chunks(text.with_ends(end), window)
    for word, path in text.paths.items():
        (home,) = [chunk for chunk in cut if re.search(rf"\b{word}\b", chunk.text)]
        if path[-1:] == (word,):  # a heading; without a body it goes with the first section below it
            assert home.heading_path[: len(path)] == path
        else:
            assert home.heading_path == path
        assert home.heading == (home.heading_path[-1] if home.heading_path else None)


@given(texts(), windows)
def test_no_passage_starts_inside_a_fence_that_fits(text, window):
    cut = chunks(text.source, window, words)
    for fence in text.fences:
        start = text.source.index(fence)
        inside = [chunk for chunk in cut if start < chunk.start < start + len(fence)]
        if words([fence])[0] + window // 4 <= window:
            assert not inside
        else:
            assert all(text.source[chunk.start - 1] == "\n" for chunk in inside if words([chunk.text])[0])


@given(sources, windows, measures, ways)
def test_line_ends_change_no_key_and_no_line(source, window, measure, way):
    unix, *others = (
        [(c.key, c.start_line, c.end_line) for c in chunks(source.replace("\n", e), window, measure, way)]
        for e in LINE_ENDS
    )
    assert others == [unix, unix]


@given(sources, windows)
def test_the_key_hashes_what_is_embedded_and_nothing_else(source, window):
    cut = document(source, window).chunks
    moved = document(source, window, path="else/where.md").chunks
    assert [chunk.key for chunk in cut] == [chunk.key for chunk in moved]
    texts_of = {chunk.key: embedded_text(chunk) for chunk in cut}
    assert all(len(key) == 32 and set(key) <= set("0123456789abcdef") for key in texts_of)
    assert len(set(texts_of.values())) == len(texts_of)
    assert all(content_key(chunk) == chunk.key for chunk in cut)


@given(texts(), st.sampled_from((40, 400)))
def test_a_heading_above_a_passage_is_in_its_crumb_or_in_its_text_and_never_in_both(text, window):
    for chunk in chunks(text.source, window):
        crumb = chunk.crumb.split("\n")[0].split(" > ") if chunk.crumb else []
        said = [name for name in chunk.heading_path if re.search(rf"\b{name}\b", chunk.text)]
        assert not set(crumb) & set(said)
        assert window < 400 or {*crumb, *said} == set(chunk.heading_path)
        assert words([chunk.crumb])[0] <= window // 4


def test_the_later_passages_of_a_section_name_its_heading_in_their_crumb():
    first, *later = chunks("# A\n\nText.\n\n## B\n\n" + "Six words are in this sentence. " * 20, 30)[1:]
    assert (first.crumb, first.text.startswith("## B")) == ("A", True)
    assert {chunk.crumb for chunk in later} == {"A > B"}


@pytest.mark.parametrize(("before", "after"), [("```", "```"), ("<div>", "</div>"), ("| a |\n|---|", "")])
def test_code_html_and_tables_that_do_not_fit_are_cut_between_their_lines_and_not_after_full_stops(before, after):
    source = "\n".join((before, *(f"| Line {n}. Not a sentence. Nor this. |" for n in range(40)), after))
    cut = chunks(source, 30)
    assert len(cut) > 5
    assert all(chunk.start == 0 or source[chunk.start - 1] == "\n" for chunk in cut)


@given(texts(), st.sampled_from(("", "---\ntitle: The\n---\n")))
def test_the_title_stands_in_front_where_no_first_level_heading_does(text, front):
    levels = {heading: level for level, heading in re.findall(r"(?m)^ *(#{1,6}) (q\d+)\b", text.source)}
    levels |= dict.fromkeys(re.findall(r"(?m)^(q\d+)\n===$", text.source), "#")
    for chunk in chunks(front + text.source):
        titled = bool(front) and levels.get(chunk.heading_path[0] if chunk.heading_path else "") != "#"
        assert chunk.crumb.startswith("The") is titled


# Cuts.

sizes = st.lists(
    st.tuples(st.integers(1, 12), st.tuples(st.integers(0, 3), st.binary(min_size=2, max_size=2))),
    min_size=1,
    max_size=120,
)


@given(sizes, st.integers(16, 60), st.floats(0, 1))
def test_cuts_are_in_order_and_no_stretch_of_small_pieces_is_over_the_budget(pieces, budget, floor):
    edges = cuts(pieces, budget, floor)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, len(pieces))
    for first, last in pairwise(edges):
        assert sum(size for size, _ in pieces[first:last]) <= budget


def long_section(kind: str, random: Random) -> list[str]:
    sentence = lambda: " ".join(f"w{random.randrange(400)}" for _ in range(random.randint(3, 30))) + "."  # noqa: E731
    return {
        "paragraphs": lambda: [line for _ in range(40) for line in (sentence(), "")],
        "lines": lambda: [sentence() for _ in range(60)],
        "list": lambda: [f"- {sentence()}" for _ in range(60)],
        "rows": lambda: ["| a |", "|---|", *(f"| {sentence()} |" for _ in range(60))],
        "fence": lambda: ["```", *(sentence() for _ in range(60)), "```"],
    }[kind]()


@pytest.mark.parametrize("kind", ["paragraphs", "lines", "list", "rows", "fence"])
def test_a_line_put_into_a_long_section_changes_three_passages_at_most_nearly_always(kind):
    random = Random(kind)
    new = []
    for _ in range(40):
        lines = ["# H", "", *long_section(kind, random), ""]
        before = {chunk.key for chunk in chunks("\n".join(lines), 80)}
        assert len(before) > 5
        at = random.randrange(3, len(lines) - 1)
        edited = [*lines[:at], "An inserted line about nothing much.", *lines[at:]]
        new.append(len({chunk.key for chunk in chunks("\n".join(edited), 80)} - before))
    assert sum(count <= 3 for count in new) >= 0.95 * len(new), new
    assert max(new) <= 6


@given(texts(block=paragraphs, max_size=40), st.integers(0, 10_000))
def test_an_edit_far_away_in_another_section_changes_nothing(text, at):
    source = f"# One\n\n{text.source}\n\n# Two\n\n"
    before = {chunk.key for chunk in chunks(source + "End.\n", 24)}
    after = {chunk.key for chunk in chunks(source + f"End {at}.\n", 24)}
    assert len(after - before) <= 1


# A table's header.

SENTENCES = " ".join(f"Sentence {n} has six words here." for n in range(60))
ROWS = "\n".join(f"| row {n} of it | {n} bar |" for n in range(40))


@pytest.mark.parametrize(("lead", "names"), [("", []), ("# Parts\n\n", ["Parts"]), ("# P\n\nText.\n\n", ["P"])])
def test_the_later_parts_of_a_table_say_its_columns_in_their_crumb_and_only_they(lead, names):
    source = f"{lead}| no | part name |\n|---:|:---|\n{ROWS}\n\nAfter the table. {'More of it. ' * 8}"
    cut = chunks(source, 40)
    inside = [chunk for chunk in cut if chunk.text.startswith("| row")]
    assert len(inside) > 5
    assert {chunk.crumb for chunk in inside} == {"\n".join([*names, "no | part name"])}
    assert [chunk for chunk in cut if chunk.text.startswith("After")]
    assert not [chunk for chunk in cut if chunk not in inside and "part name" in chunk.crumb]
    assert not [chunk for chunk in cut if chunk.text.endswith("|---:|:---|")]


@pytest.mark.parametrize("measure", MEASURES)
def test_a_table_within_quotes_and_lists_says_its_columns_too(measure):
    rows = "\n".join(f"> | {n} | bar |" for n in range(60))
    cut = chunks(f"> | no | part |\n> |--|--|\n{rows}\n", 40, measure)
    assert [chunk.crumb for chunk in cut] == ["", *["no | part"] * (len(cut) - 1)]
    assert len(cut) > 3


def test_a_header_that_would_take_a_quarter_of_the_window_is_not_repeated():
    wide = " | ".join(f"column number {n}" for n in range(9))
    cut = chunks(f"| {wide} |\n|{'--|' * 9}\n" + f"| {wide} |\n" * 9, 80)
    assert len(cut) > 2
    assert {chunk.crumb for chunk in cut} == {""}


def test_a_table_that_fits_is_not_cut_and_costs_its_section_no_room():
    table = "| no | part |\n|--|--|\n| 1 | bar |"
    assert len(chunks(f"# A\n\n{'word ' * 25}\n\n{table}\n", 40)) == 1


def test_code_that_fits_is_whole_also_beside_a_table_that_is_cut_and_where_passages_overlap():
    code = "```\n" + "one line of code\n" * 8 + "```"
    table = "| no | part of it |\n|--|--|\n" + ROWS
    for source in (f"{table}\n\n{code}", f"{code}\n\n{SENTENCES}"):
        assert [chunk for chunk in chunks(source, 36, chunking=Chunking(overlap=8)) if code in chunk.text]


# Sections packed together.


def tiny(names: Sequence[object], level: int = 2) -> str:
    return "".join(f"{'#' * level} Item {name}\n\nRow {name} says this.\n\n" for name in names)


def test_small_neighbours_are_packed_up_to_the_budget_and_keep_the_crumb_of_their_parent():
    source = "# Index\n\n" + tiny(range(300))
    cut = chunks(source, 100, chunking=Chunking(merge_below=30))
    assert len(chunks(source, 100)) == 300
    assert 30 <= len(cut) <= 90
    assert {(chunk.heading_path, chunk.crumb) for chunk in cut[1:]} == {(("Index",), "Index")}
    assert (cut[0].text.startswith("# Index"), cut[0].crumb) == (True, "")


def test_a_section_that_is_not_small_stays_alone_and_parts_its_neighbours():
    long = f"## Long\n\n{'word ' * 40}\n\n"
    cut = chunks(f"{tiny('ab')}{long}{tiny('cd')}", 400, chunking=Chunking(merge_below=20))
    assert [(c.heading, c.text.count("##")) for c in cut] == [(None, 2), ("Long", 1), (None, 2)]


def test_no_section_is_packed_with_one_of_another_parent():
    source = f"# A\n\n{tiny('ab')}# B\n\n{tiny('cd')}"
    cut = chunks(source, 20, chunking=Chunking(merge_below=15))
    for chunk in cut:
        above = {"a": "A", "b": "A", "c": "B", "d": "B"}
        for name in re.findall(r"Item (.)", chunk.text):
            assert f"# {above[name]}" in chunk.text or chunk.crumb == above[name]


def test_a_section_higher_up_is_not_packed_under_the_parent_of_the_one_before():
    source = f"# A\n\n{'word ' * 30}\n\n{tiny('a')}# B\n\nRow b says this.\n"
    cut = chunks(source, 100, chunking=Chunking(merge_below=20))
    assert [(chunk.heading_path, chunk.crumb) for chunk in cut] == [(("A",), ""), (("A", "Item a"), "A"), (("B",), "")]


@given(texts(), ends, windows, ways)
def test_every_word_stands_under_its_headings_in_crumb_and_text_however_sections_are_packed(text, end, window, way):
    for chunk in chunks(text.with_ends(end), 400, chunking=way):
        for word, path in text.paths.items():
            at = re.search(rf"\b{word}\b", chunk.text)
            if at and window < 400:  # every name fits into the crumb here
                said = {*chunk.crumb.split("\n")[0].split(" > "), *re.findall(r"\bq\d+\b", chunk.text[: at.end()])}
                assert set(path) <= said
                assert chunk.heading_path == path[: len(chunk.heading_path)] or path[-1:] == (word,)


@pytest.mark.parametrize("edit", ["a line inside", "a section more", "a section less", "a long section"])
def test_an_edit_among_small_sections_embeds_three_passages_at_most_nearly_always(edit):
    random, way, new = Random(edit), Chunking(merge_below=60), []
    for _ in range(40):
        names = [random.randrange(10**6) for _ in range(120)]
        source = tiny(names)
        before = {chunk.key for chunk in chunks(source, 100, chunking=way)}
        assert len(before) < 60
        at = random.randrange(1, 119)
        edited = {
            "a line inside": source.replace(f"Row {names[at]} says", f"A line.\nRow {names[at]} says"),
            "a section more": tiny([*names[:at], "new", *names[at:]]),
            "a section less": tiny(names[:at] + names[at + 1 :]),
            "a long section": tiny(names[:at]) + f"## Long\n\n{'word ' * 70}\n\n" + tiny(names[at:]),
        }[edit]
        new.append(len({chunk.key for chunk in chunks(edited, 100, chunking=way)} - before))
    most = 3 + (edit == "a long section")  # which is one more itself
    assert sum(count <= most for count in new) >= 0.9 * len(new), new
    assert max(new) <= 6


# Overlap.


def repeats(source: str, chunking: Chunking, window: int = 60) -> list[str]:
    cut = chunks(source, window, chunking=chunking)
    return [source[after.start : before.end] for before, after in pairwise(cut)]


def test_where_running_text_is_cut_the_end_of_the_passage_before_is_repeated_in_whole_sentences():
    repeated = repeats(SENTENCES, Chunking(overlap=13))
    assert len(repeated) > 3
    assert all(text.count("Sentence") in (1, 2) and text.startswith("Sentence") for text in repeated)
    assert all(text == "" for text in repeats(SENTENCES, PLAIN))


def test_of_a_sentence_longer_than_the_overlap_the_last_words_are_repeated():
    repeated = repeats(SENTENCES, Chunking(overlap=3))
    assert all(0 < len(text.split()) <= 3 and text.endswith("here.") for text in repeated)


@pytest.mark.parametrize(
    "source",
    [
        "\n\n".join(f"Paragraph {n} has just six words." for n in range(40)),
        "\n".join(f"- item {n} has just six words" for n in range(40)),
        "```\n" + "\n".join(f"code line {n} has just six words" for n in range(40)) + "\n```",
        f"| no | it |\n|--|--|\n{ROWS}",
        "".join(f"# H{n}\n\nSix words under each of these.\n\n" for n in range(20)),
    ],
)
def test_between_blocks_items_rows_lines_of_code_and_sections_nothing_is_repeated(source):
    assert len(repeats(source, Chunking(overlap=10))) > 3
    assert not any(text.strip() for text in repeats(source, Chunking(overlap=10)))


# Places inside long runs.


def joined_badly(text: str) -> bool:
    return bool(text) and (
        unicodedata.category(text[0])[0] == "M" or text[0] in "\u200d\ufe0f\U0001f3fd" or text[-1] in "\u200dเแโใไ"
    )


@pytest.mark.parametrize("unit", ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "漢字", "เก้าอี้ตัวนี้", "नमस्ते"])
def test_no_cut_lies_inside_a_character_that_is_put_together(unit):
    cut = chunks(unit * 600, 40, MEASURES[1])
    assert len(cut) > 3
    assert not [chunk for chunk in cut if joined_badly(chunk.text)]
    assert "".join(chunk.text for chunk in cut) == unit * 600


def test_a_combined_character_without_end_is_cut_all_the_same():
    assert max(len(chunk.text) for chunk in chunks("e" + "\u0301" * 5_000, 40, MEASURES[1])) < 1_000


def test_a_paragraph_is_cut_after_sentences_and_a_text_without_blanks_after_its_full_stops():
    english = " ".join(f"Sentence {n} has six words here." for n in range(40))
    assert all(chunk.text.endswith(".") for chunk in chunks(english, 30))
    chinese = "".join(f"这是第{n}句话，里面没有空格。" for n in range(60))
    assert all(chunk.text.endswith("。") for chunk in chunks(chinese, 60, MEASURES[1]))
    clauses = "".join(f"第{n}句的前半部分是很长很长的一段文字，" for n in range(60))
    assert all(chunk.text.endswith("，") for chunk in chunks(clauses, 200, MEASURES[1]))


@pytest.mark.parametrize("measure", MEASURES)
def test_an_inline_image_is_in_no_passage_and_what_stands_around_it_is(measure):
    data = "data:image/png;base64," + "iVBORw0KGgo" * 5_000 + "=="
    read = document(f"# A\n\nbefore ![x]({data}) after\n\nEnd.\n", 40, measure)
    assert [chunk.text for chunk in read.chunks] == ["# A\n\nbefore ![x](", ") after\n\nEnd."]
    assert [(chunk.start_line, chunk.end_line, chunk.crumb) for chunk in read.chunks] == [(1, 3, ""), (3, 5, "A")]
    assert read.warnings == (f"line 3: an inline image of {len(data)} characters was left out",)


def test_a_small_inline_image_stays():
    assert "base64,AAAA" in chunks("![x](data:image/gif;base64,AAAA)")[0].text


# Rows of the table of cases.


@pytest.mark.parametrize("opener", ["```sh", "```js {1,3}", "```{r}", "```c#", '```py title="x"'])
def test_b1_a_fence_and_what_follows_it_are_one_section(opener):
    (only,) = chunks(f"# Setup\n\n{opener}\n# install\nmake\n```\n\nAfter.\n")
    assert only.heading_path == ("Setup",)
    assert only.text.endswith("After.")


def test_b4_nothing_after_a_fence_that_never_closes_is_lost():
    (only,) = chunks("# Open\n\n```yaml\nkey: 1\n\n## Important\n\nThe sealant cures in 9 hours.\n")
    assert only.heading_path == ("Open",)
    assert only.text.endswith("The sealant cures in 9 hours.")


def test_b11_text_before_a_heading_a_file_without_one_and_a_heading_without_text_are_found():
    cut = chunks("Preamble first.\n\n# Deploy\n\n## Rollback\n\n## T ##\n\nText.\n")
    assert [(c.text, c.heading, c.crumb) for c in cut] == [
        ("Preamble first.", None, ""),
        ("# Deploy\n\n## Rollback", "Rollback", ""),
        ("## T ##\n\nText.", "T", "Deploy"),
    ]
    assert [chunk.text for chunk in chunks("No heading at all.\n")] == ["No heading at all."]


def test_b13_tabs_blank_lines_and_no_break_spaces_survive():
    source = "# C\n\n```\nif x:\n\tpass\n\n\n\treturn\n```\n\n- a\n  - b\u00a0c\n    - d\n\nOne.\n\nTwo.\n"
    assert [chunk.text for chunk in chunks(source)] == [source.rstrip()]
    assert all(source[chunk.start : chunk.end] == chunk.text for chunk in chunks(source, 16))


@pytest.mark.parametrize("source", ["# L\n\n" + "x" * 21_000, "word " * 20_000])
def test_b14_a_line_without_end_is_cut_into_passages_of_bounded_length(source):
    cut = chunks(source, 64)
    assert sum(len("".join(chunk.text.split())) for chunk in cut) == len("".join(source.split()))
    assert max(len(chunk.text) for chunk in cut) <= 64 * 9


@example("# A\n\n" + "> " * 60 + "x")
@given(st.text(st.sampled_from("#->`|\n 1.x"), max_size=200))
def test_any_marks_at_all_are_read_to_the_end(source):
    assert "".join("".join(chunk.text for chunk in chunks(source + "\n\nzeppelin")).split()).endswith("zeppelin")
