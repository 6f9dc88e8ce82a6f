"""Laws of reading a file: bytes to text, title, class, warnings, and one bad file that stays one bad file."""

import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import chunks, document, run, texts, words

from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.documents import read_document


def test_a_document_carries_what_it_was_read_from():
    read = read_document("x/a.md", b"# T\r\n", "digest", run(20), words)
    assert (read.path, read.digest, read.size, read.title, read.doc_class) == ("x/a.md", "digest", 5, "T", "note")


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \n\t\n", "\u00a0\n\u3000\n".encode(), b"---\n---\n"])
def test_a_file_without_text_is_a_document_without_passages(data):
    assert read_document("a.md", data, "d", run(20), words).chunks == ()


@given(texts())
def test_reading_twice_reads_the_same(text):
    assert document(text.source, 24) == document(text.source, 24)


@given(texts(), st.integers(16, 40))
def test_a_file_is_measured_in_a_few_batches(text, window):
    calls = []

    def counted(many):
        calls.append(len(many))
        return words(many)

    document(text.source * 5, window, counted)
    assert len(calls) <= 12


def test_b5_a_mark_at_the_top_hides_neither_heading_nor_front_matter():
    title = read_document("a.md", b"\xef\xbb\xbf# Title\n\nText.\n", "d", run(20), words)
    front = read_document("b.md", b"\xef\xbb\xbf---\ntitle: T\n---\n\nText.\n", "d", run(20), words)
    assert [chunk.text for chunk in title.chunks] == ["# Title\n\nText."]
    assert (title.title, title.chunks[0].heading, title.chunks[0].start_line) == ("Title", "Title", 1)
    assert (front.title, [(chunk.text, chunk.start_line, chunk.crumb) for chunk in front.chunks]) == (
        "T",
        [("Text.", 5, "T")],
    )


TITLES = {
    "---\ntitle: 'One\n\n  Two'\n---\n# H\n": "One Two",
    "---\ntitle: 2024-01-02\n---\n": "2024-01-02",
    "---\ntitle: 7\n---\n": "7",
    "---\ntitle: [a]\n---\n# H\n": "H",
    "---\ntitle: ''\n---\n## Two\n\n# H\n": "H",
    "#\n\n# H\n": "H",
    "## Two\n": "a",
    "Text.\n": "a",
}


@pytest.mark.parametrize(("source", "title"), TITLES.items())
def test_the_title_is_that_of_the_front_matter_else_the_first_heading_of_level_one_else_the_file_name(source, title):
    assert document(source).title == title


def test_a_file_name_that_is_the_title_is_in_nothing_that_is_embedded():
    here, there = (document("Text.\n\n## Two\n\nMore.\n", path=path) for path in ("x/Pump notes.v2.md", "b.md"))
    assert (here.title, there.title) == ("Pump notes.v2", "b")
    assert [embedded_text(chunk) for chunk in here.chunks] == [embedded_text(chunk) for chunk in there.chunks]


def test_the_class_comes_from_the_front_matter_and_from_the_path():
    assert document("---\ntype: handoff\n---\nx\n").doc_class == "handoff"
    assert document("---\ntype: [\n---\nx\n", path="context/x-handoff.md").doc_class == "handoff"
    assert document("type: handoff\n").doc_class == "note"


# The real model's tokenizer, and real files.


def shared() -> Path:
    root = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parents[3] / "shared")) / "data"
    if not root.is_dir():
        pytest.skip("the shared test data is not here (RAG_MCP_SHARED)")
    return root


@pytest.mark.model
def test_b43_a_text_that_is_dense_in_word_pieces_is_cut_below_the_window(wordpieces):
    random = Random(1)
    dense = " ".join(f"{random.getrandbits(32):08x}" for _ in range(100))
    cut = chunks(f"# Dense\n\n{dense} zeppelin hangar door\n", 254, wordpieces)
    assert len(cut) > 1
    assert max(wordpieces([embedded_text(chunk) for chunk in cut])) <= 254
    assert cut[-1].text.endswith("zeppelin hangar door")


@pytest.mark.model
def test_a_line_above_a_long_file_costs_two_embeddings_at_most_and_one_within_it_three(wordpieces, tmp_path):
    import tarfile

    archives = list(shared().glob("a1-small*"))
    source = next((p for a in archives if a.is_dir() for p in a.rglob("commonmark-spec.md")), None)
    if source is None:
        archive = next((a for a in archives if tarfile.is_tarfile(a)), None)
        if archive is None:
            pytest.skip("the shared data has no a1-small")
        with tarfile.open(archive) as tar:
            member = next(m for m in tar.getmembers() if m.name.endswith("commonmark-spec.md"))
            text = tar.extractfile(member).read().decode()
    else:
        text = source.read_text(encoding="utf-8")

    def keys(source: str) -> set[str]:
        return {chunk.key for chunk in chunks(source, 254, wordpieces)}

    before, line = keys(text), "An inserted line about nothing much.\n"
    assert len(keys(line + text) - before) <= 2
    lines, random = text.splitlines(keepends=True), Random(5)
    for at in random.sample(range(1, len(lines)), 5):
        assert len(keys("".join([*lines[:at], line, *lines[at:]])) - before) <= 3
