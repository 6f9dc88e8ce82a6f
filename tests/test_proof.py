"""A run adds no vector to a store before its embedder gave a stored one anew."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from storecheck import parts, write_corpus

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.pure import errors


class Forged(HashEmbedder):
    """What bears the name and gives vectors of something else."""

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        return super().embed([f"other {text[::-1]}" for text in texts])


def test_an_embedder_that_only_bears_the_name_adds_nothing_and_a_full_run_is_the_way_out(tmp_path: Path) -> None:
    corpus, store = write_corpus(tmp_path / "notes", pages=3, sections=2), tmp_path / "store"
    with Index(parts(corpus, store)) as index:
        index.ingest()
        before = index.stats()
    (corpus / "more.md").write_text("# More\n\nA text that nobody has seen.\n")
    with Index(parts(corpus, store, embedder=Forged())) as index:
        with pytest.raises(Refused, match="its vector of a stored passage is not the stored one") as refused:
            index.ingest()
        assert isinstance(refused.value.failure, errors.EmbedderFailed)
        assert (index.stats().generation, index.stats().vectors) == (before.generation, before.vectors)
        assert index.ingest(full=True).exit_code == 0
        assert index.verify().ok
