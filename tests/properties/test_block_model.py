"""A document written from a model of blocks reads back to that model, with the right lines."""

import re

import pytest
from hypothesis import given
from properties.block_models import CLOSED, FRONTS, Model, models, words_of
from properties.markdown_texts import document, words

from rag_mcp.pure.blocks import LINE_END, line_of, outline
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.decoding import decode
from rag_mcp.pure.frontmatter import split
from rag_mcp.pure.identity import Chunking

METADATA = {
    "mapping": {"title": "The # title", "tags": ["a", "b"]},
    "dots": {"title": "The # title"},
    "json": {"title": "T"},
    "toml": {"title": "T"},
}


def settled(model: Model) -> bool:
    """False where a line of the model closes a front matter that the model left open."""
    front = model.front
    if front not in ("unterminated", "only a rule"):
        return True
    own = len(FRONTS[front])
    rest = LINE_END.split(model.text)[own:]
    return not any(re.fullmatch(r"(?:---|\.\.\.)[ \t]*", line) for line in rest)


@given(models())
def test_the_headings_are_those_of_the_model_on_the_lines_of_the_model(model):
    if not settled(model):
        return
    front = split(model.text)
    shape = outline(model.text, front.body)
    ends = (*shape.lines, len(model.text))
    found = [
        (heading.level, heading.text, shape.line_of(heading.start) - 1, ends.index(heading.end))
        for heading in shape.headings
    ]
    assert [(level, text, first) for level, text, first, _ in found] == [
        (level, text, first) for level, text, first, _ in model.headings
    ]
    assert all(got[3] in (want[3], len(shape.lines)) for got, want in zip(found, model.headings, strict=True))


@given(models())
def test_code_html_and_tables_are_solid_on_the_lines_of_the_model_and_nothing_else_at_the_top_is(model):
    if not settled(model):
        return
    shape = outline(model.text, split(model.text).body)
    spans = [(shape.line_of(start) - 1, shape.line_of(end - 1)) for start, end in shape.solid]
    lines = LINE_END.split(model.text)
    expected = [(first, last) for first, last in model.solid]
    nested = {at for at, block in model.blocks if not block.solid for at in range(at, at + len(block.lines))}
    outer = [(first, last) for first, last in spans if first not in nested]
    assert [first for first, _ in outer] == [first for first, _ in expected]
    for (first, last), (_, end) in zip(outer, expected, strict=True):
        assert not [line for line in lines[min(last, end) : max(last, end)] if line.strip()], (first, last, end)


@given(models())
def test_every_block_is_found_under_its_headings_on_lines_that_hold_it(model):
    if not settled(model):
        return
    lines = LINE_END.split(model.text)
    path: list[tuple[int, str]] = []
    read = document(model.text, 40, words)
    for word, (at, block) in zip(words_of(model.blocks), model.blocks, strict=True):
        if block.heading:
            path = [above for above in path if above[0] < block.heading[0]] + [(block.heading[0], block.heading[1])]
        homes = [chunk for chunk in read.chunks if re.search(rf"\b{word}\b", chunk.text)]
        assert len(homes) == 1, word
        (home,) = homes
        assert home.heading_path[: len(path)] == tuple(name for _, name in path)
        assert block.heading or len(home.heading_path) == len(path)
        held = [n for n in range(at, at + len(block.lines)) if re.search(rf"\b{word}\b", lines[n])]
        assert home.start_line - 1 <= held[-1] < home.end_line


@given(models())
def test_front_matter_is_metadata_kept_or_text_as_the_model_says(model):
    if not settled(model):
        return
    front, own = split(model.text), FRONTS[model.front]
    assert front.metadata == METADATA.get(model.front, {})
    starts = outline(model.text).lines
    body = line_of(starts, front.body) - 1 if front.body < len(model.text) else len(LINE_END.findall(model.text))
    assert body == (len(own) if model.front in CLOSED else 0)
    kept = None if front.kept is None else [starts.index(at) for at in front.kept]
    assert kept == ([1, len(own) - 1] if "broken" in model.front else None)
    assert len(front.warnings) == ("broken" in model.front)


@given(models())
def test_mixed_line_ends_and_a_byte_order_mark_change_nothing_that_is_embedded(model):
    if not settled(model):
        return
    unix = document(LINE_END.sub("\n", model.text), 40)
    mixed = document("\ufeff" + model.text, 40)
    assert [embedded_text(chunk) for chunk in unix.chunks] == [embedded_text(chunk) for chunk in mixed.chunks]
    assert [(c.start_line, c.end_line) for c in unix.chunks] == [(c.start_line, c.end_line) for c in mixed.chunks]
    text = decode("", model.text.encode()).unwrap()
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in mixed.chunks)


@given(models())
def test_packed_and_overlapping_passages_lose_nothing_of_the_model(model):
    if not settled(model):
        return
    read = document(model.text, 40, words, chunking=Chunking(merge_below=20, overlap=6))
    for word in words_of(model.blocks):
        assert any(re.search(rf"\b{word}\b", chunk.text) for chunk in read.chunks), word


@pytest.mark.parametrize("front", sorted(FRONTS))
def test_the_model_has_every_front_matter_in_it_and_each_is_read(front):
    text = "\n".join((*FRONTS[front], "# After", "", "Text.", ""))
    assert document(text).chunks[-1].heading_path == ("After",)
