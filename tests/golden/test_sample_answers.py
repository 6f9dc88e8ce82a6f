"""The bundled corpus, the real model, real Chroma: each question brings the file that answers it first."""

from pathlib import Path

import pytest
from storecheck import BY_INDEX

from rag_mcp import Index
from rag_mcp.pure.stages import SearchPolicy

SAMPLE = Path(__file__).parents[2] / "rag_mcp" / "sample"
EXPECTED = (
    ("how do I replace a signing key without logging everybody out?", "runbooks/key-rotation.md"),
    ("what must be done when a key has leaked?", "runbooks/key-rotation.md"),
    ("how many minutes of bookings can a restore lose?", "runbooks/backups.md"),
    ("who tries the restore each quarter?", "runbooks/backups.md"),
    ("the tide office sends no new water levels", "runbooks/tide-feed.md"),
    ("why are bookings and berths in the same database?", "decisions/DEC-0012-one-database.md"),
    ("what does demurrage mean?", "glossary.md"),
    ("how quickly must the pager be answered?", "README.md"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "store"
    with Index.open(SAMPLE, store=folder, embedder="default", environ={}) as index:
        index.ingest()
    return folder


@pytest.mark.parametrize("policy", [SearchPolicy(), BY_INDEX], ids=["exact scan", "Chroma"])
@pytest.mark.parametrize(("question", "source"), EXPECTED)
def test_the_file_that_answers_comes_first(store: Path, question: str, source: str, policy: SearchPolicy) -> None:
    with Index.open(SAMPLE, store=store, environ={}, policy=policy) as index:
        answer = index.search(question, 3)
    assert answer.degraded is None
    assert answer.results[0].citation.source == source
