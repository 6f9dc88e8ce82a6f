"""A shelf is a dictionary of documents, wherever they wait."""

import tempfile
from unittest import mock

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from properties.worlds import RUN, document

from rag_mcp.effects import shelf
from rag_mcp.effects.shelf import Shelf
from rag_mcp.pure.values import Document

paths = st.sampled_from(("a.md", "ä.md", "x\udcff.md"))
contents = st.lists(st.text(max_size=9), max_size=3).map(tuple)
changes = st.lists(st.tuples(paths, st.none() | contents))


def made(path: str, content: tuple[str, ...]) -> Document:
    return evolve(document(path, content, RUN), title=path)


@given(changes, st.integers(0, 30))
def test_a_shelf_is_a_dictionary_however_little_stays_in_memory(
    given_changes: list[tuple[str, tuple[str, ...] | None]], near: int
) -> None:
    with mock.patch.object(shelf, "NEAR", near):
        kept, model = Shelf(), dict[str, Document]()
    for path, content in given_changes:
        if content is None:
            assert kept.pop(path, None) == model.pop(path, None)
        else:
            kept[path] = model[path] = made(path, content)
        assert list(kept.items()) == list(model.items())


def test_where_the_disk_has_no_room_documents_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "NEAR", 0)
    with open("/dev/full", "r+b", 0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda buffering: full)
        kept, document = Shelf(), made("a.md", ("the tide",))
        kept["a.md"] = document
        assert kept["a.md"] is document


def test_what_does_not_fit_in_memory_is_read_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "NEAR", 0)
    kept, document = Shelf(), made("a.md", ("the tide",))
    kept["a.md"] = document
    assert kept["a.md"] == document and kept["a.md"] is not document
    monkeypatch.setattr(shelf.zlib, "decompress", None)
    assert "a.md" in kept and "b.md" not in kept, "told without reading it"
