"""The bakery's notes, the real model, forty questions: answers are no worse than recorded, and a fault is seen.

After a change that is meant to move answers, look at what moved and record anew:

    rag-mcp ingest tests/golden/bakery --db STORE
    rag-mcp golden compare tests/golden/golden.toml --db STORE
    rag-mcp golden record tests/golden/golden.toml --db STORE
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_mcp import Index, golden
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.embedders.models import MINILM
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder
from rag_mcp.pure import chunking

NOTES = Path(__file__).parent / "bakery"
CASES = Path(__file__).parent / "golden.toml"
SMALL = 0.03
"""What another processor or another version of the runtime may move: the rank of a case or so."""

pytestmark = pytest.mark.model


class Unlowered(OnnxEmbedder):
    """The model behind a tokenizer that no longer lowers its letters: words with capitals are unknown to it."""

    def _tokenizer(self) -> Any:
        from tokenizers import normalizers

        tokenizer = super()._tokenizer()
        tokenizer.normalizer = normalizers.NFC()
        return tokenizer


class Forged(OnnxEmbedder):
    """What bears the model's name and hashes, and gives vectors of something else."""

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        return HashEmbedder(MINILM.dim).embed(texts)

    def embed_query(self, text: str) -> bytes:
        return HashEmbedder(MINILM.dim).embed_query(text)


def answered(store: Path, embedder: Any = "default", **ingest: Any) -> golden.Run:
    """The answers of a store, ingested before they are asked for."""
    with Index.open(NOTES, store=store, embedder=embedder, environ={}) as index:
        index.ingest(**ingest)
        return golden.run(index, golden.load(CASES))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bakery") / "store"


@pytest.fixture(scope="module")
def sound(store: Path) -> golden.Run:
    return answered(store)


def test_answers_are_no_worse_than_recorded(sound: golden.Run) -> None:
    found = golden.compare(golden.baseline(CASES), sound, SMALL)
    assert not found.worse, found
    assert (found.common, found.changes) == (40, ())


def test_every_case_expects_what_the_notes_hold(sound: golden.Run) -> None:
    assert [problem for case in sound.cases for problem in case.problems] == []


@pytest.mark.parametrize("how", ["full", "clean"])
def test_a_rebuild_moves_nothing(store: Path, sound: golden.Run, tmp_path: Path, how: str) -> None:
    shutil.copytree(store, tmp_path / "store")
    found = golden.compare(sound, answered(tmp_path / "store", **{how: True}))
    assert (found.worse, found.moves, found.changes) == (False, (), ())


def test_embedding_without_the_headings_above_is_seen(
    sound: golden.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunking, "embedded_text", lambda chunk, own_date=None: chunk.text)
    found = golden.compare(sound, answered(tmp_path / "store"))
    assert found.worse
    assert found.changes == ()


def test_a_broken_tokenizer_is_seen(sound: golden.Run, tmp_path: Path) -> None:
    found = golden.compare(sound, answered(tmp_path / "store", Unlowered()))
    assert found.worse
    assert found.changes == ()


@pytest.mark.parametrize(
    ("embedder", "said"),
    [("hash", ["the embedder is another: minilm-l6-v2 -> hash"]), (Forged(), [])],
    ids=["hash", "forged"],
)
def test_a_swapped_embedder_is_seen(sound: golden.Run, tmp_path: Path, embedder: Any, said: list[str]) -> None:
    found = golden.compare(sound, answered(tmp_path / "store", embedder))
    assert found.worse
    assert list(found.changes)[: len(said)] == said
