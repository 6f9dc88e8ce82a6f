"""On Windows an open file cannot be removed: making a store anew shows that each handle was let go."""

import shutil
import sys
from pathlib import Path

import pytest

PAGE = "# Pumps\n\nEach pump is greased every {hours} running hours.\n"


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere an open file can be removed, so nothing would be shown")
def test_a_store_that_was_searched_can_be_made_anew_and_removed(tmp_path: Path) -> None:
    from rag_mcp.adapters import wiring
    from rag_mcp.adapters.settings import Settings
    from rag_mcp.index import Index
    from rag_mcp.pure.stages import SearchPolicy

    notes, store = tmp_path / "notes", tmp_path / "store"
    notes.mkdir()
    (notes / "pumps.md").write_text(PAGE.format(hours=400))
    by_chroma = SearchPolicy(exact_up_to=0)

    def opened() -> Index:
        return Index(wiring.assemble(Settings(store=store, corpus=notes, embedder="hash")), by_chroma)

    with opened() as index:
        index.ingest()
        assert "400" in index.search("how often are pumps greased?", 1).results[0].text
    for hours in (500, 600):
        (notes / "pumps.md").write_text(PAGE.format(hours=hours))
        with opened() as index:
            index.ingest(clean=True)
            answer = index.search("how often are pumps greased?", 1)
            assert answer.degraded is None
            assert str(hours) in answer.results[0].text
    shutil.rmtree(store)
    assert not store.exists()
