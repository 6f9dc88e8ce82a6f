"""`rag_mcp.search.search_knowledge` answers with a dictionary, whatever it is given and whatever the store does."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from properties.test_query import anything
from storecheck import BY_INDEX, ingest, parts, write_corpus

from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.index import Index
from rag_mcp.search import search_knowledge

WHAT_BREAKS = [
    ValueError("a bug"), RuntimeError(), OSError(5, "Input/output error"), MemoryError(), KeyError("x"),
    RecursionError("too deep"), AssertionError("no"), UnicodeDecodeError("utf-8", b"x", 0, 1, "why"),
]  # fmt: skip


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("asked to speak")


class Broken:
    """Every attribute is a function that raises; as text it raises as well."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> Any:
            raise self._error

        return fail

    def __str__(self) -> str:
        raise self._error

    __fspath__ = __str__


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("world")
    corpus = write_corpus(home / "corpus", pages=3, sections=2)
    ingest(corpus, home / "store")
    return corpus, home / "store"


def sound(reply: Any) -> bool:
    """True for a success; a failure must have the promised shape."""
    json.dumps(reply)
    if reply["ok"]:
        assert reply["count"] == len(reply["results"])
    else:
        assert reply["results"] == [] and {"type", "message"} <= set(reply["error"])
    return bool(reply["ok"])


@given(query=anything, k=anything, doc_class=anything)
def test_any_arguments_give_an_answer_or_a_reason(world: tuple[Path, Path], query: Any, k: Any, doc_class: Any) -> None:
    corpus, store = world
    sound(search_knowledge(query, k, store=store, corpus_root=corpus, doc_class=doc_class))


@given(store=anything, corpus=anything)
def test_any_store_and_corpus_give_an_answer_or_a_reason(store: Any, corpus: Any) -> None:
    assert not sound(search_knowledge("valve", store=store, corpus_root=corpus))


@pytest.mark.parametrize("error", [*WHAT_BREAKS, Unspeakable()], ids=lambda error: type(error).__name__)
def test_a_store_whose_every_method_fails_is_unreachable(
    world: tuple[Path, Path], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, store = world
    reply = search_knowledge("valve", store=Broken(error), corpus_root=corpus)  # type: ignore[arg-type]
    assert not sound(reply) and reply["error"]["type"] == "store_unreachable" and reply["k"] == 5
    for part in ("corpus", "embedder", "index"):
        index = Index(parts(corpus, store), BY_INDEX)
        whole = index._parts
        index._parts = evolve(whole, **{part: Broken(error)})
        reply = search_knowledge("valve", store=index, corpus_root=corpus)
        assert not sound(reply) and reply["error"]["type"] == "store_unreachable"
    index = Index(parts(corpus, store), BY_INDEX)
    monkeypatch.setattr(Index, "reader", Broken(error))
    assert search_knowledge("valve", store=index, corpus_root=corpus)["error"]["type"] == "store_unreachable"


def test_an_open_index_is_used_again(world: tuple[Path, Path]) -> None:
    corpus, store = world
    with Index(parts(corpus, store, embedder=HashEmbedder())) as index:
        first = search_knowledge("valve", 2, store=index, corpus_root=corpus)
        assert sound(first) and first["count"] == 2
        assert search_knowledge("valve", 2, store=index, corpus_root=corpus) == first
