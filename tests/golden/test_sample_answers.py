"""The bundled corpus, the real model, real Chroma: each question brings the file that answers it first."""

from pathlib import Path

import pytest
from storecheck import BY_INDEX

from rag_mcp import Index
from rag_mcp.pure.stages import SearchPolicy

SAMPLE = Path(__file__).parents[2] / "sample-corpus"
EXPECTED = (
    ("who gets paged in a most severe incident", "oncall.md"),
    ("who is called when nobody can book a berth?", "oncall.md"),
    ("how do I replace a signing key without logging everybody out?", "runbooks/operations.md"),
    ("what must be done when a key has leaked?", "runbooks/operations.md"),
    ("how many minutes of bookings can be lost?", "runbooks/backups.md"),
    ("who tries the restore each quarter?", "runbooks/backups.md"),
    ("the tide office sends no new water levels", "runbooks/operations.md"),
    ("what does demurrage mean?", "runbooks/operations.md"),
    ("how quickly must the pager be answered?", "oncall.md"),
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
