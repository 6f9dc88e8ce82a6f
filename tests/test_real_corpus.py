"""Two hundred real files (data/a1-small), the hash embedder: what real editing costs, and what citations say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from storecheck import ingest, parts

from rag_mcp import Index

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("RAG_MCP_SHARED", ROOT.parent / "shared")) / "data"
LARGEST = "commonmark/commonmark-spec.md"
LINE = "An inserted line about nothing much.\n"

pytestmark = pytest.mark.skipif(not (SHARED / "unpack.py").is_file(), reason=f"no real corpora at {SHARED}")


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("real")
    shutil.unpack_archive(SHARED / "a1-small.tar.gz", home / "unpacked")
    (notes,) = (path.parent for path in (home / "unpacked").rglob("til") if path.is_dir())
    notes.rename(home / "notes")
    assert ingest(home / "notes", home / "store").files_ingested == 200
    return home


@pytest.fixture
def home(settled: Path, tmp_path: Path) -> Path:
    shutil.copytree(settled / "notes", tmp_path / "notes")
    shutil.copytree(settled / "store", tmp_path / "store")
    assert embedded(tmp_path) == 0
    return tmp_path


def embedded(home: Path) -> int:
    return int(ingest(home / "notes", home / "store").texts_embedded)


def rewrite(path: Path, change: object) -> None:
    with path.open(newline="") as file:
        lines = file.readlines()
    with path.open("w", newline="") as file:
        file.writelines(change(lines))  # type: ignore[operator]


def test_a_quiet_run_writes_no_byte_and_loads_nothing_heavy(home: Path) -> None:
    def hashes() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (home / "store").rglob("*") if path.is_file()}

    before = hashes()
    code = "import sys; from rag_mcp.adapters.cli import cli; cli(sys.argv[1:], standalone_mode=False)\n"
    code += "print([n for n in ('chromadb_rust_bindings', 'onnxruntime', 'numpy', 'tokenizers') if n in sys.modules])"
    command = [sys.executable, "-c", code, "ingest", str(home / "notes"), "--db", str(home / "store"), "--quiet"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert " 0 texts embedded" in done.stdout.split("\n")[0]
    assert done.stdout.split("\n")[1] == "[]"
    assert hashes() == before


def test_touching_rewriting_renaming_moving_and_reverting_embed_nothing(home: Path) -> None:
    notes = home / "notes"
    for path in notes.rglob("*.md"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    assert embedded(home) == 0
    (notes / "til").rename(notes / "til, renamed")
    assert embedded(home) == 0
    (notes / LARGEST).rename(notes / "spec.md")
    assert embedded(home) == 0
    kept = (notes / "spec.md").read_bytes()
    (notes / "spec.md").write_text("# Something else\n")
    assert embedded(home) == 1
    (notes / "spec.md").write_bytes(kept)
    assert embedded(home) == 0


def test_a_line_at_the_top_of_the_largest_file_embeds_at_most_two_texts(home: Path) -> None:
    rewrite(home / "notes" / LARGEST, lambda lines: [LINE, *lines])
    assert 1 <= embedded(home) <= 2


def test_a_line_anywhere_in_the_largest_file_embeds_at_most_three_texts(home: Path) -> None:
    path = home / "notes" / LARGEST
    kept = path.read_bytes()
    for at in (700, 2611, 4000, 6500, 8916):
        path.write_bytes(kept)
        rewrite(path, lambda lines, at=at: [*lines[:at], LINE, *lines[at:]])
        assert 1 <= embedded(home) <= 3, at


def test_every_citation_names_lines_that_hold_the_text(home: Path) -> None:
    asked = ("setext heading underline", "write-ahead log", "borrow a reference", "quoting rules", "cache pip")
    with Index(parts(home / "notes", home / "store")) as index:
        hits = [hit for question in asked for hit in index.search(question, 20).results]
    assert len(hits) == 100
    for hit in hits:
        with (home / "notes" / hit.citation.source).open(newline="", encoding="utf-8-sig") as file:
            lines = file.read().split("\n")
        assert hit.text in "\n".join(lines[hit.citation.start_line - 1 : hit.citation.end_line])


def test_most_of_a_corpus_does_not_vanish_unasked(home: Path) -> None:
    from rag_mcp import Refused
    from rag_mcp.pure.errors import PruneRefused

    gone = sorted((home / "notes").rglob("*.md"))[:160]
    for path in gone:
        path.unlink()
    with Index(parts(home / "notes", home / "store")) as index:
        with pytest.raises(Refused) as refused:
            index.ingest()
        assert isinstance(refused.value.failure, PruneRefused)
        assert index.ingest(allow_prune=160).files_pruned == 160
