"""What a store was made from, file by file; and what an answer that found nothing close says it could not search."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from attrs import evolve
from storecheck import ingest, parts, write_corpus

from rag_mcp import Index, Refused
from rag_mcp.pure.check_render import manifest_lines
from rag_mcp.pure.errors import EmptyStore
from rag_mcp.pure.reply import success
from rag_mcp.search import search_knowledge

ROOT = Path(__file__).parent.parent
FAR = "who won the regatta of 1987"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "notes", pages=3, sections=2)
    return tmp_path


def rag(home: Path, *words: str, code: int = 0) -> str:
    world = {name: value for name, value in os.environ.items() if not name.startswith("RAG_MCP_")}
    command = [sys.executable, "-m", "rag_mcp.cli", *words, "--corpus", "notes", "--db", "store"]
    done = subprocess.run(command, cwd=home, env={**world, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    return done.stdout


def test_the_manifest_names_every_file_with_the_hash_of_its_bytes_and_what_it_was_made_by(home: Path) -> None:
    (home / "notes" / "empty.md").write_text("\n")
    (home / "notes" / "old.md").write_bytes("# Caf\u00e9\n\nUn caf\u00e9 \u00e0 la cr\u00e8me.\n".encode("cp1252"))
    ingest(home / "notes", home / "store")
    shape = json.loads(rag(home, "manifest", "--json"))
    on_disk = {str(path.relative_to(home / "notes")): path.read_bytes() for path in (home / "notes").rglob("*.md")}
    assert [entry["path"] for entry in shape["entries"]] == sorted(on_disk)
    for entry in shape["entries"]:
        data = on_disk[entry["path"]]
        assert (entry["sha256"], entry["size"]) == (hashlib.sha256(data).hexdigest(), len(data))
        assert (entry["recipe"], entry["labels"]) == (shape["settings"]["recipe"], shape["settings"]["labels"])
        assert entry["doc_class"] == "note"
    by_path = {entry["path"]: entry for entry in shape["entries"]}
    assert by_path["empty.md"]["passages"] == 0
    assert by_path["old.md"]["warnings"]
    assert by_path["part0/page0.md"]["title"] == "Page 0"
    assert (shape["generation"], shape["embedder"]["name"], shape["embedder"]["dim"]) == (1, "hash", 384)
    assert shape["settings"]["chunking"]["budget"] == 224
    table = rag(home, "manifest").splitlines()
    assert sum("warning: " in line for line in table) == 1
    assert table[-1] == f"5 files, {sum(entry['passages'] for entry in shape['entries'])} passages"


def test_a_manifest_of_nothing_is_refused_and_a_table_is_safe_for_a_terminal(home: Path) -> None:
    with Index(parts(home / "notes", home / "store")) as index:
        index._parts.writer().close()
        with pytest.raises(Refused) as refused:
            index.manifest()
        assert isinstance(refused.value.failure, EmptyStore)
        index.ingest()
        listed = index.manifest()
    odd = evolve(listed.entries[0], path="a\x1b.md", title="t\x07", warnings=("w\u202e",))
    assert not any(c in "\n".join(manifest_lines(evolve(listed, entries=(odd,)))) for c in "\x1b\x07\u202e")


def test_an_answer_that_found_nothing_close_says_what_could_not_be_searched(home: Path) -> None:
    (home / "notes" / "bytes.md").write_bytes(b"%PDF-1.4\n\xe2\xe3\xcf\xd3\n")
    (home / "notes" / "lease.pdf").write_bytes(b"%PDF-1.4\n")
    (home / "notes" / ".ragignore").write_text("private.md\n")
    (home / "notes" / "private.md").write_text("# Mine\n\nMy own.\n")
    (home / "notes" / ".git").mkdir()
    ingest(home / "notes", home / "store")
    told = {
        "not_searchable": 3,
        "by_reason": {"undecodable": 1, "excluded": 2},
        "examples": ["bytes.md", "lease.pdf"],
    }
    shape = search_knowledge(FAR, store=home / "store", corpus_root=home / "notes")
    assert (shape["nothing_close"], shape["coverage"]) == (True, told)
    close = search_knowledge("pump 2 feeds valve 3 of page 2", store=home / "store", corpus_root=home / "notes")
    assert (close["nothing_close"], "coverage" in close) == (False, False)
    with Index(parts(home / "notes", home / "store")) as index:
        assert success(index.search(FAR))["coverage"] == told
    shown = rag(home, "query", FAR)
    assert "not searchable: 1 undecodable, 2 excluded, such as bytes.md, lease.pdf; the whole list: " in shown
    assert "private" not in shown


def test_where_all_is_searchable_nothing_is_said(home: Path) -> None:
    ingest(home / "notes", home / "store")
    shape = search_knowledge(FAR, store=home / "store", corpus_root=home / "notes")
    assert (shape["nothing_close"], "coverage" in shape) == (True, False)


def test_the_note_is_part_of_the_published_reply(home: Path) -> None:
    from rag_mcp.adapters.server.replies import to_wire
    from rag_mcp.adapters.server.schemas import SEARCH_GIVES

    (home / "notes" / "lease.pdf").write_bytes(b"%PDF-1.4\n")
    ingest(home / "notes", home / "store")
    with Index(parts(home / "notes", home / "store")) as index:
        result = to_wire(success(index.search(FAR)))
    jsonschema.validate(result.structured_content, SEARCH_GIVES)
    assert result.structured_content and result.structured_content["coverage"]["examples"] == ["lease.pdf"]
