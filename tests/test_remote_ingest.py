"""Stores made through a service: whole commands and a server, over a real service on loopback, and when it fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from embedding_server import Running
from wires import serving

from rag_mcp import Index, Refused
from rag_mcp.effects import embed
from rag_mcp.pure import errors

ROOT = Path(__file__).parents[1]
BAKERY = ROOT / "tests" / "golden" / "bakery"
SECRET = "sk-very-secret-0123456789"
GEMMA, OTHER = "ollama:embeddinggemma", "openai:plain"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Forty notes, each of one passage."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(40):
        (folder / f"note{n:02}.md").write_text(f"# Pump {n}\n\nPump {n} is greased in week {n}.\n", encoding="utf-8")
    return folder


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_MCP_", "XDG_"))}
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT)}


def cli(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_mcp.cli", *arguments],
        cwd=home,
        env=environment(home) | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def opened(notes: Path, server: Running, name: str | None = GEMMA, **variables: str) -> Index:
    environ = server.variables(name or GEMMA) | variables
    return Index.open(notes, store=notes.parent / "store", embedder=name, environ=environ)


def failed(index: Index) -> errors.EmbedderFailed:
    with pytest.raises(Refused) as refused:
        index.ingest()
    assert isinstance(refused.value.failure, errors.EmbedderFailed)
    return refused.value.failure


def test_a_service_is_asked_again_also_by_a_run_that_began_with_an_older_note(
    tmp_path: Path, notes: Path, server: Running
) -> None:
    """The same words were typed when the store was still made by hashed words, and a run found nothing to do."""
    assert cli(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash").returncode == 0
    for _ in range(2):
        assert cli(tmp_path, "ingest", "notes", "--db", "store").returncode == 0
    assert list((tmp_path / ".cache" / "rag-mcp" / "unchanged").iterdir())
    switched = cli(tmp_path, "ingest", "notes", "--db", "store", "--embedder", GEMMA, **server.variables(GEMMA))
    assert switched.returncode == 0, switched.stderr
    away = cli(tmp_path, "ingest", "notes", "--db", "store", OLLAMA_HOST="127.0.0.1:9")
    assert (away.returncode, away.stdout) == (1, "")
    assert f"embedder {GEMMA} failed" in away.stderr or "embedder of the store failed" in away.stderr


@pytest.mark.parametrize("name", [GEMMA, OTHER])
def test_ingest_query_and_golden_cases_through_a_service(tmp_path: Path, server: Running, name: str) -> None:
    shutil.copytree(BAKERY, tmp_path / "bakery")
    shutil.copy(ROOT / "tests" / "golden" / "golden.toml", tmp_path)
    variables = server.variables(name)
    made = cli(tmp_path, "ingest", "bakery", "--embedder", name, **variables)
    assert made.returncode == 0, made.stderr
    assert "warning" not in made.stderr

    asked = len(server.seen)
    again = cli(tmp_path, "ingest", "bakery", **variables)
    assert again.returncode == 0, again.stderr
    assert len(server.seen) == asked

    found = cli(tmp_path, "query", "sourdough starter", "--corpus", "bakery", "--json", **variables)
    assert json.loads(found.stdout)["results"]
    assert server.texts[-1].endswith("sourdough starter")
    run = cli(tmp_path, "golden", "run", "golden.toml", "--corpus", "bakery", "--json", **variables)
    assert run.returncode == 0, run.stderr


def test_a_service_that_fails_half_way_leaves_the_answers_and_keeps_what_it_gave(notes: Path, server: Running) -> None:
    with opened(notes, server) as index:
        index.ingest()
        before = index.search("pump 7 greased", 1)
        for path in notes.iterdir():
            path.write_text(path.read_text("utf-8").replace("week", "month"), encoding="utf-8")
        server.control(faults=["ok", "ok", "no json"])  # the first proves the service on a stored passage
        assert "no JSON" in failed(index).message
        assert len(server.texts) == 1 + 2 * embed.BATCH
        after = index.search("pump 7 greased", 1)
        assert [hit.text for hit in after.results] == [hit.text for hit in before.results]

        server.control()
        assert index.ingest().exit_code == 0
        assert len(server.texts) == 1 + 40 - embed.BATCH
        assert "month" in index.search("pump 7 greased", 1).results[0].text


def test_a_passage_that_is_too_long_is_named_by_its_file_and_its_size(notes: Path, server: Running) -> None:
    (notes / "long.md").write_text("# Long\n\n" + "a b c d e f g h i j k l " * 10, encoding="utf-8")
    server.tell({"window": 60})
    with opened(notes, server, "ollama:plain") as index:
        said = failed(index).message
    assert "failed on long.md: a passage of " in said
    assert "too long" in said


def test_an_ingest_by_what_was_last_heard_of_a_model_is_refused_and_words_still_find(
    notes: Path, server: Running
) -> None:
    with opened(notes, server) as index:
        index.ingest()
    server.tell({"models": {}})
    with opened(notes, server, None) as index:
        assert "ollama pull embeddinggemma" in failed(index).message
        assert index.stats().files == 40
        assert index.search("pump 7", 1, mode="keyword").results
        with pytest.raises(Refused, match="ollama pull embeddinggemma"):
            index.search("pump 7", 1)


def test_two_states_of_a_model_are_never_mixed(notes: Path, server: Running) -> None:
    with opened(notes, server) as index:
        index.ingest()
        server.control(models={"embeddinggemma:latest": "9" * 64})
        with pytest.raises(Refused, match="is not the one it was"):
            index.search("pump 7", 1)
        with pytest.raises(Refused, match="another state of 'ollama:embeddinggemma'"):
            index.search("pump 7", 1)
        assert index.ingest().exit_code == 0
        assert len([text for text in server.texts if text.startswith("title: none")]) == 40
        assert index.search("pump 7", 1).results


def test_an_index_that_stays_open_does_not_skip_by_a_model_that_is_gone(notes: Path, server: Running) -> None:
    with opened(notes, server) as index:
        index.ingest()
        assert index.ingest().texts_embedded == 0
        server.control(models={"embeddinggemma:latest": "9" * 64})
        assert index.ingest().texts_embedded == 40
        server.tell({"models": {}})
        assert "ollama pull" in failed(index).message


def test_another_model_of_the_same_name_is_found_out_before_its_vectors_are_stored(
    notes: Path, server: Running
) -> None:
    with opened(notes, server, OTHER) as index:
        index.ingest()
        server.control(lasting="another model")
        assert index.ingest().exit_code == 0  # nothing to embed, nobody asked
        assert server.seen == []
        (notes / "new.md").write_text("# New\n\nThe marlinspike is in locker 7.\n", encoding="utf-8")
        assert "not the stored one" in failed(index).message
        assert index.stats().files == 40
        assert index.ingest(full=True).exit_code == 0
        assert index.search("marlinspike", 1).results[0].citation.source == "new.md"


def test_a_setting_that_is_missing_is_named_before_anything_is_done(notes: Path) -> None:
    for name, variable in ((OTHER, "OPENAI_API_KEY"), ("azure:a", "AZURE_OPENAI_ENDPOINT"), ("huggingface:m", "/v1")):
        done = cli(notes.parent, "ingest", "notes", "--embedder", name)
        assert done.returncode == 2
        assert variable in done.stderr
    done = cli(notes.parent, "ingest", "notes", "--embedder", "nobody:m")
    assert "or SERVICE:MODEL with one of ollama, openai" in done.stderr


def test_texts_that_would_leave_this_machine_are_warned_of_before_they_do(notes: Path) -> None:
    nowhere = {"OPENAI_API_KEY": SECRET, "RAG_MCP_EMBED_DIM": "8", "RAG_MCP_EMBED_URL": "http://host.invalid/v1"}
    done = cli(notes.parent, "ingest", "notes", "--embedder", OTHER, **nowhere)
    warning, failure = done.stderr.splitlines()
    assert warning.startswith("rag-mcp: warning: embedder openai:plain is at http://host.invalid/v1, which is not this")
    assert "does not answer" in failure
    assert SECRET not in done.stderr + done.stdout


def test_every_verb_that_sends_texts_away_or_has_them_sent_says_so(notes: Path, server: Running) -> None:
    with opened(notes, server, OTHER) as index:
        index.ingest()
    away = server.variables(OTHER) | {"RAG_MCP_EMBED_URL": "http://host.invalid/v1", "RAG_MCP_DB_PATH": "store"}
    told = "is at http://host.invalid/v1, which is not this machine"
    assert told in cli(notes.parent, "schedule", "notes", **away).stderr
    assert told in cli(notes.parent, "cutover", "--embedder", "openai:other", RAG_MCP_EMBED_DIM="8", **away).stderr
    quiet = cli(notes.parent, "tick", "notes", "--log", "log", **away)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert told in (notes.parent / "log").read_text()
    with subprocess.Popen(
        [sys.executable, "-m", "rag_mcp.cli", "watch", "notes"],
        cwd=notes.parent,
        env=environment(notes.parent) | away,
        stderr=subprocess.PIPE,
        text=True,
    ) as watch:
        assert watch.stderr and told in watch.stderr.readline()
        watch.kill()


def test_the_server_answers_through_a_service_and_says_what_is_amiss(notes: Path, server: Running) -> None:
    with opened(notes, server) as index:
        index.ingest()
    store = {"RAG_MCP_CORPUS_ROOT": str(notes), "RAG_MCP_DB_PATH": str(notes.parent / "store")}
    with serving(notes.parent, **store, **server.variables(GEMMA)) as asked:
        asked.shake_hands()
        assert asked.found(2, query="pump 7")["ok"]
        server.tell({"models": {}})
        error = asked.found(3, query="pump 8")["error"]
        assert error["type"] == "embedder_failed"
        assert "ollama pull embeddinggemma" in error["message"]
        server.control()
        assert asked.found(4, query="pump 9")["ok"]
        assert asked.end() == 0
    assert asked.stderr == b""


def test_a_server_says_at_its_start_that_questions_leave_this_machine(notes: Path, server: Running) -> None:
    named = {"RAG_MCP_EMBEDDER": OTHER, "RAG_MCP_EMBED_URL": "http://host.invalid/v1", "RAG_MCP_EMBED_DIM": "8"}
    with serving(notes.parent, **named, RAG_MCP_CORPUS_ROOT=str(notes), RAG_MCP_EMBED_KEY=SECRET) as asked:
        asked.shake_hands()
        assert asked.found(2, query="pump 7")["error"]["type"] == "store_missing"
        assert asked.end() == 0
    [line] = asked.stderr.decode().splitlines()
    assert line.startswith("rag-mcp WARNING embedder openai:plain is at http://host.invalid/v1, which is not this")


def test_a_client_is_given_the_address_and_never_the_key(notes: Path, server: Running) -> None:
    variables = server.variables(OTHER) | {"RAG_MCP_EMBED_KEY": SECRET, "OPENAI_API_KEY": SECRET}
    done = cli(notes.parent, "install", "cursor", "--corpus", "notes", "--embedder", OTHER, **variables)
    assert done.returncode == 0, done.stderr
    written = (notes.parent / ".cursor" / "mcp.json").read_text("utf-8")
    assert server.root in written
    assert SECRET not in written + done.stdout + done.stderr
    assert "key was not written" in done.stdout
