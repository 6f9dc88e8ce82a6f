"""A service that others wrote: llama.cpp's server, which speaks OpenAI's dialect; skipped where it is not installed.

To run it: pip install gguf xllamacpp, here or in another environment whose interpreter RAG_MCP_LLAMA_PYTHON names.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_mcp import Index, Refused, golden
from rag_mcp.adapters.embedders.remote import connected
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.services import service
from rag_mcp.pure.vectors import dot

PYTHON = os.environ.get("RAG_MCP_LLAMA_PYTHON", sys.executable)
KEY = "key-of-the-test"
NAME = "openai:tiny"
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def there() -> Iterator[dict[str, str]]:
    """The settings that lead to the server."""
    if subprocess.run([PYTHON, "-c", "import gguf, xllamacpp"], capture_output=True, check=False).returncode:
        pytest.skip("gguf and xllamacpp are not installed: pip install gguf xllamacpp")
    command = [PYTHON, str(Path(__file__).with_name("llama_server.py")), KEY]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield {"RAG_MCP_EMBED_URL": f"{address}/v1", "RAG_MCP_EMBED_KEY": KEY}
        process.communicate()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(20):
        (folder / f"note{n}.md").write_text(f"# Pump {n}\n\nPump {n} is greased in week {n}.\n", encoding="utf-8")
    return folder


def test_a_store_is_made_searched_and_kept_up_to_date(notes: Path, there: dict[str, str]) -> None:
    with Index.open(notes, store=notes.parent / "store", embedder=NAME, environ=there) as index:
        assert index.ingest().exit_code == 0
        hit = index.search("# Pump 7\n\nPump 7 is greased in week 7.", 1, mode="semantic").results[0]
        assert hit.citation.source == "note7.md"
        (notes / "note7.md").write_text("# Pump 7\n\nPump 7 is gone.\n", encoding="utf-8")
        assert index.ingest().exit_code == 0
        assert "gone" in index.search("# Pump 7\n\nPump 7 is gone.", 1, mode="semantic").results[0].text
        assert index.verify().ok


def test_the_golden_cases_are_asked_through_it(tmp_path: Path, there: dict[str, str]) -> None:
    cases = golden.load(GOLDEN / "golden.toml")
    with Index.open(GOLDEN / "bakery", store=tmp_path / "store", embedder=NAME, environ=there) as index:
        assert index.ingest().exit_code == 0
        semantic, hybrid = (golden.run(index, cases, mode=mode) for mode in ("semantic", "hybrid"))
    assert len(hybrid.cases) == len(cases) == 40
    assert hybrid.means["mrr"] > semantic.means["mrr"] > 0  # the model on the spot is small, and the words help it


def test_a_batch_gives_what_its_texts_give_alone(there: dict[str, str]) -> None:
    remote = connected(service(NAME, there).unwrap())
    texts = [f"text {'x' * n}" for n in range(1, 60, 3)]
    together = remote.embed(texts)
    assert all(dot(one, remote.embed([text])[0]) > 0.9999 for one, text in zip(together, texts, strict=True))
    remote.close()


def test_a_passage_beyond_the_real_window_is_refused_and_named(notes: Path, there: dict[str, str]) -> None:
    (notes / "long.md").write_text("# Long\n\n" + "abcdefghijklm " * 60, encoding="utf-8")
    refused = pytest.raises(Refused, match=r"failed on long\.md: a passage of .* is too long for it")
    with Index.open(notes, store=notes.parent / "store", embedder=NAME, environ=there) as index, refused:
        index.ingest()


def test_a_wrong_key_is_named_by_its_variable(there: dict[str, str]) -> None:
    remote = connected(service(NAME, there | {"RAG_MCP_EMBED_KEY": "another"}).unwrap())
    with pytest.raises(EmbedderFault, match=r"status 401.*check the key in .*RAG_MCP_EMBED_KEY"):
        remote.embed(["one"])
    remote.close()
