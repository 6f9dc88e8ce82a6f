"""Three ways in, one server; what they refuse; and what holds while another writes. Real processes."""

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve
from storecheck import BY_INDEX, ingest, parts, write_corpus
from test_cli import rag
from wires import ROOT, request, serving, world

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.absent import present_or_absent
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.ingest import ingest as promised
from rag_mcp.pure.errors import EmbedderFailed, StoreUnreachable
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.search import search_knowledge


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "notes", pages=3, sections=2)


def script() -> tuple[str, ...]:
    """What pip makes of the console script `rag-mcp`."""
    module, _, function = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"][
        "rag-mcp"
    ].partition(":")
    return ("-c", f"import sys; from {module} import {function}; sys.argv[0] = 'rag-mcp'; sys.exit({function}())")


@pytest.mark.parametrize(
    "command", [(str(ROOT / "run_server.py"),), ("-m", "rag_mcp"), script()], ids=["run_server", "module", "script"]
)
def test_each_way_in_starts_the_same_server(tmp_path: Path, corpus: Path, command: tuple[str, ...]) -> None:
    ingest(corpus, tmp_path / "store")
    settings = {"RAG_MCP_CORPUS_ROOT": str(corpus), "RAG_MCP_DB_PATH": str(tmp_path / "store")}
    with serving(tmp_path, *command, **settings) as server:
        server.shake_hands()
        (tool,) = server.ask(request("tools/list", {}, 2))["result"]["tools"]
        assert tool["name"] == "search_knowledge"
        assert server.found(3, query="which pump feeds valve 3")["count"] == 5
        assert server.end() == 0


def test_help_needs_no_settings_and_what_is_unknown_is_a_usage_error(tmp_path: Path) -> None:
    assert "Usage: rag-mcp" in rag(tmp_path, "--help").stdout
    for wrong in (("--nonsense",), ("no-such-verb",), ("ingest", "n", "--nonsense"), ("query",), ("query", "x", "--k")):
        assert "Usage: rag-mcp" in rag(tmp_path, *wrong, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_while_another_writes_a_run_ends_at_once_with_3_and_changes_nothing_not_even_with_clean(
    tmp_path: Path, corpus: Path
) -> None:
    store = tmp_path / "store"
    ingest(corpus, store)
    (corpus / "new.md").write_text("# New\n\nText.\n")
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    handle = os.open(store / "writer.lock", os.O_RDWR)
    os.utime(store / "writer.lock", (1, 1))  # however old the lock is, its holder lives
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for how in ((), ("--full",), ("--clean",)):
            done = rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash", *how, code=3)
            assert "another process" in done.stderr
        assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
    finally:
        os.close(handle)
    rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash")


def test_a_record_of_a_later_version_is_refused_and_kept_and_clean_begins_anew(tmp_path: Path, corpus: Path) -> None:
    store = tmp_path / "store"
    ingest(corpus, store)
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("pragma user_version = 99")
    db.close()
    kept = (store / "record.sqlite3").read_bytes()
    with Index(parts(corpus, store)) as index:
        with pytest.raises(Refused) as refused:
            index.ingest()
        assert isinstance(refused.value.failure, StoreUnreachable) and "schema 99" in refused.value.failure.message
        assert (store / "record.sqlite3").read_bytes() == kept
        assert index.ingest(clean=True).texts_embedded > 0
        assert index.search("valve").count == 5


def test_unclassified_rows_are_notes_to_a_question_until_one_run_classes_them_without_embedding(
    tmp_path: Path, corpus: Path
) -> None:
    (corpus / "over.md").write_text("---\ntype: handoff\n---\n\nThe crane was left unlocked.\n")
    store = tmp_path / "store"
    ingest(corpus, store)
    with sqlite3.connect(store / "record.sqlite3") as db:
        for table in ("rows", "files"):
            with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
                db.execute(f"update {table} set doc_class = null")
            db.execute(f"update {table} set doc_class = ''")
        db.execute("update files set labels = 'of an older version'")
    db.close()
    for policy, mode in product((SearchPolicy(), BY_INDEX), ("hybrid", "semantic", "keyword")):
        with Index(parts(corpus, store), policy) as index:
            as_note = index.search("crane", 20, "note", mode=mode)
            assert as_note == index.search("crane", 20, mode=mode) and as_note.results[0].citation.source == "over.md"
            assert index.search("crane", 20, "handoff", mode=mode).count == 0
    report = ingest(corpus, store)
    assert report.texts_embedded == 0 and report.rows_rewritten == report.store_count
    with Index(parts(corpus, store)) as index:
        assert [hit.citation.source for hit in index.search("crane", 20, "handoff").results] == ["over.md"]
        assert index.search("crane", 20, "note").count == report.store_count - 1


class Own:
    """An embedder with no more than the protocol asks for; it writes down what it is given."""

    query_prefix = "ask: "

    def __init__(self) -> None:
        self.dim = 3
        self.given: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.given += texts
        return [[1.0, 0.0, 0.0] if "pump" in text.lower() else [0.0, 1.0, 0.0] for text in texts]


def test_whatever_has_a_dimension_and_can_be_called_is_an_embedder(tmp_path: Path) -> None:
    corpus, store, own = tmp_path / "notes", tmp_path / "store", Own()
    corpus.mkdir()
    (corpus / "a.md").write_text("The pump.\n")
    (corpus / "b.md").write_text("The lamp.\n")
    assert promised(corpus, store, embedder=own)["texts_embedded"] == 2
    assert sorted(own.given) == ["The lamp.", "The pump."]
    with Index.open(corpus, store=store, embedder=own, environ={}) as index:
        reply = search_knowledge("pump", 2, store=index, corpus_root=corpus)
    assert [hit["citation"]["source"] for hit in reply["results"]] == ["a.md", "b.md"]
    assert own.given[2:] == ["ask: pump"]
    own.dim = 0
    with pytest.raises(Refused, match="dim must be a positive integer"):
        Index.open(corpus, store=store, embedder=own, environ={})


def test_a_summary_for_programs_is_json_and_nothing_else(tmp_path: Path, corpus: Path) -> None:
    shown = rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash", "--json")
    assert json.loads(shown.stdout)["files_seen"] == 3 and shown.stderr == ""
    assert len(rag(tmp_path, "ingest", "notes", "--db", "store", "--quiet").stdout.splitlines()) == 1
    assert len(rag(tmp_path, "ingest", "notes", "--db", "store").stdout.splitlines()) > 1


class Away(HashEmbedder):
    """A model whose files are away until `here`, and which may be another when they come."""

    here, weights = False, ""

    @property
    def identity(self) -> EmbedderIdentity:
        if not self.here:
            raise EmbedderFault("model away is not here")
        return evolve(super().identity, name="away", weights=self.weights)


def test_without_the_stores_model_all_that_needs_no_vector_works_and_the_rest_says_what_is_missing(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no cache"))
    store = tmp_path / "store"

    class Large(HashEmbedder):
        @property
        def identity(self) -> EmbedderIdentity:
            return evolve(super().identity, name="bge-large-en-v1.5")

    ingest(corpus, store, embedder=Large())
    environ = {"RAG_MCP_MODEL_DIR": str(tmp_path / "no models")}
    with Index.open(corpus, store=store, environ=environ) as index:
        assert index.search("valve", mode="keyword").count == 5
        assert index.stats().embedder == "bge-large-en-v1.5" and index.read("part0/page0.md")
        assert index.plan().quiet and index.ingest().texts_embedded == 0
        for mode in ("hybrid", "semantic"):
            with pytest.raises(Refused, match=r"model bge-large-en-v1\.5 is not here") as refused:
                index.search("valve", mode=mode)
            assert isinstance(refused.value.failure, EmbedderFailed)
        (corpus / "new.md").write_text("# New\n\nText.\n")
        with pytest.raises(Refused, match=r"model bge-large-en-v1\.5 is not here"):
            index.ingest()
        assert index.search("valve", mode="keyword").count == 5


def test_a_model_that_comes_back_is_used_and_another_in_its_place_is_not() -> None:
    stored = evolve(HashEmbedder().identity, name="away")
    away = Away()
    absent = present_or_absent(away, stored)
    with pytest.raises(EmbedderFault, match="not here"):
        absent.embed_query("x")
    away.here = True
    assert absent.embed(["x"]) == HashEmbedder().embed(["x"]) and list(absent.measure(["x y"])) == [2]
    away.weights = "other"
    with pytest.raises(EmbedderFault, match="not the one that the store was made by"):
        absent.embed_query("x")
    assert present_or_absent(away, stored) is away


def test_a_command_ends_when_its_work_is_done_whatever_threads_a_library_left(tmp_path: Path, corpus: Path) -> None:
    code = "import sys, threading, time; from rag_mcp.cli import main; "
    code += "threading.Thread(target=time.sleep, args=(3600,)).start(); "
    code += "sys.argv = ['rag-mcp', 'ingest', 'notes', '--db', 'store', '--embedder', 'hash', '--quiet']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=world(tmp_path), cwd=tmp_path, capture_output=True, timeout=120, check=True
    )
    assert b"3 ingested" in done.stdout
