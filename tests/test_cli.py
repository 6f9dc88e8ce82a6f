"""The command line as a user types it: real processes over the hash embedder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from storecheck import write_corpus

ROOT = Path(__file__).parent.parent
VERBS = (
    "ingest",
    "apply",
    "query",
    "verify",
    "stats",
    "serve",
    "install",
    "golden",
    "demo",
    "watch",
    "tick",
    "schedule",
    "cutover",
    "model",
    "doctor",
    "cite",
    "manifest",
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "notes", pages=4, sections=3)


def rag(
    cwd: Path, *arguments: str, code: int = 0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in `cwd`, with a data directory of its own; its exit code must be `code`."""
    world = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MCP_")}
    world |= {
        "PYTHONPATH": str(ROOT),
        "XDG_DATA_HOME": str(cwd / "data"),
        "HOME": str(cwd),
        "COLUMNS": "100",
        **(env or {}),
    }
    command = [sys.executable, "-m", "rag_mcp.cli", *arguments]
    done = subprocess.run(command, cwd=cwd, env=world, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def program(cwd: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in `cwd`, which is its home."""
    env = {**os.environ, "HOME": str(cwd), "XDG_STATE_HOME": str(cwd / "state"), "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", script], cwd=cwd, env=env, capture_output=True, text=True)


def test_ingest_then_query_by_corpus_works_with_nothing_configured(tmp_path: Path, corpus: Path) -> None:
    rag(tmp_path, "ingest", "notes", "--embedder", "hash")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "data", "notes"]
    answer = json.loads(
        rag(tmp_path, "query", "which pump feeds valve 3", "--corpus", "notes", "--json", "-k", "2").stdout
    )
    assert (answer["ok"], answer["k"], answer["count"], answer["dropped_out_of_scope"]) == (True, 2, 2, 0)
    hit = answer["results"][0]
    assert set(hit) == {"text", "citation", "score", "similarity"}
    lines = (corpus / hit["citation"]["source"]).read_text().split("\n")
    assert hit["text"] == "\n".join(lines[hit["citation"]["start_line"] - 1 : hit["citation"]["end_line"]])


def test_options_are_accepted_before_and_after_the_verb(tmp_path: Path, corpus: Path) -> None:
    before = rag(tmp_path, "--db", "s", "--embedder", "hash", "--json", "ingest", "notes")
    after = rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "hash", "--json")
    assert json.loads(before.stdout)["files_ingested"] == 4
    assert json.loads(after.stdout)["files_unchanged"] == 4


def test_variables_are_honoured(tmp_path: Path, corpus: Path) -> None:
    env = {
        "RAG_MCP_CORPUS_ROOT": "notes",
        "RAG_MCP_DB_PATH": "s",
        "RAG_MCP_EMBEDDER": "hash",
        "RAG_MCP_COLLECTION": "mine",
    }
    rag(tmp_path, "ingest", env=env)
    assert (tmp_path / "s" / "collections" / "mine" / "record.sqlite3").is_file()
    stats = json.loads(rag(tmp_path, "stats", "--json", env=env).stdout)
    assert (stats["files"], stats["embedder"], stats["collection"]) == (4, "hash", "mine")


def test_the_json_report_carries_the_promised_keys(tmp_path: Path, corpus: Path) -> None:
    report = json.loads(rag(tmp_path, "ingest", "notes", "--embedder", "hash", "--json").stdout)
    assert {
        "files_seen", "files_ingested", "files_unchanged", "files_skipped", "chunks_added", "chunks_deleted",
        "chunks_deduped", "incremental", "store_count", "texts_embedded", "texts_reused", "rows_rewritten", "held",
        "generation",
    } <= report.keys()  # fmt: skip
    assert report["store_count"] == report["chunks_added"] > 0


def test_a_plan_is_shown_saved_applied_and_refused_when_the_world_moved(tmp_path: Path, corpus: Path) -> None:
    shown = rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "hash", "--plan", "--out", "plan.json").stdout
    assert shown.startswith("plan for notes   generation 0   embedder hash (384)\n  + 4 new ")
    assert "nothing has been written; run without --plan to apply" in shown
    assert not (tmp_path / "s").exists()
    rag(tmp_path, "apply", "plan.json")
    refused = rag(tmp_path, "apply", "plan.json", code=1)
    assert "the plan no longer fits" in refused.stderr
    (tmp_path / "plan.json").write_text("{}")
    assert "not a plan" in rag(tmp_path, "apply", "plan.json", code=1).stderr


def test_failures_are_one_sentence_and_a_code(tmp_path: Path, corpus: Path) -> None:
    assert rag(tmp_path, "query", "x", code=2).stderr.startswith("rag-mcp: no store was named")
    assert "there is no store at" in rag(tmp_path, "query", "x", "--db", "none", code=1).stderr
    assert "not one of" in rag(tmp_path, "ingest", "notes", "--embedder", "nonsense", code=2).stderr
    assert "no such folder" in rag(tmp_path, "ingest", "absent", "--embedder", "hash", code=1).stderr
    assert "--allow-prune takes" in rag(tmp_path, "ingest", "notes", "--allow-prune", "some", code=2).stderr
    rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "hash")
    refused = json.loads(rag(tmp_path, "query", " ", "--db", "s", "--json", code=1).stdout)
    assert refused == {
        "ok": False,
        "error": {"type": "invalid_query", "message": "query must be a non-empty string"},
        "results": [],
    }
    mismatch = rag(tmp_path, "query", "x", "--db", "s", "--embedder", "default", code=1).stderr
    assert "the store was embedded by 'hash' (384 dimensions)" in mismatch
    assert "rag-mcp ingest" in mismatch
    assert list(tmp_path.glob("none")) == []


def test_an_emptied_corpus_is_refused_until_allowed(tmp_path: Path, corpus: Path) -> None:
    rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "hash")
    shutil.rmtree(corpus)
    corpus.mkdir()
    assert "--allow-prune 4" in rag(tmp_path, "ingest", "notes", "--db", "s", code=1).stderr
    assert (
        json.loads(rag(tmp_path, "ingest", "notes", "--db", "s", "--allow-prune", "4", "--json").stdout)["files_pruned"]
        == 4
    )


def test_held_files_give_exit_code_4_and_are_named(tmp_path: Path, corpus: Path) -> None:
    (corpus / "binary.md").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe\x00")
    report = json.loads(rag(tmp_path, "ingest", "notes", "--embedder", "hash", "--json", code=4).stdout)
    assert [held["path"] for held in report["held"]] == ["binary.md"]


def test_stats_lists_what_is_not_wholly_searchable_where_asked(tmp_path: Path, corpus: Path) -> None:
    (corpus / "bytes.md").write_bytes(b"%PDF-1.4\n\xe2\xe3\xcf\xd3\n")
    rag(tmp_path, "ingest", "notes", "--embedder", "hash", code=4)
    shown = rag(tmp_path, "stats", "--corpus", "notes", "--coverage").stdout.splitlines()
    assert shown[-2:] == ["coverage    1 undecodable", "            bytes.md (it is a PDF document, not text)"]
    stats = json.loads(rag(tmp_path, "stats", "--corpus", "notes", "--coverage", "--json").stdout)
    assert stats["coverage"] == [{"path": "bytes.md", "lack": "undecodable", "why": "it is a PDF document, not text"}]
    assert "coverage" not in json.loads(rag(tmp_path, "stats", "--corpus", "notes", "--json").stdout)


def test_what_a_file_says_cannot_drive_the_terminal(tmp_path: Path, corpus: Path) -> None:
    (corpus / "evil\x1b[31m.md").write_text(
        "# Title \x1b]0;owned\x07\n\nThe \x1b[2Jmarlinspike \u202egnp.exe is here.\n"
    )
    shown = rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "hash").stdout
    shown += rag(tmp_path, "query", "marlinspike", "--db", "s").stdout
    assert "marlinspike" in shown
    assert not any(c in shown for c in "\x1b\x07\u202e")


def test_help_names_every_verb_and_every_verb_has_help(tmp_path: Path) -> None:
    text = rag(tmp_path, "--help").stdout
    for verb in VERBS:
        assert f"\n  {verb} " in text
        assert "Usage: rag-mcp " + verb in rag(tmp_path, verb, "--help").stdout
    assert "rag-mcp ingest notes --plan           what would be done, and why\n" in text


def test_every_command_of_the_readme_exists() -> None:
    from rag_mcp.adapters.cli import cli

    readme = (ROOT / "README.md").read_text()
    named = {
        word
        for line in readme.split("\n")
        if "`rag-mcp " in line
        for word in line.split("`rag-mcp ")[1].split("`")[0].split()[:1]
    }
    verbs = set(cli.list_commands(click.Context(cli)))
    assert named == verbs


def test_the_demo_shows_two_plans_and_three_cited_answers(tmp_path: Path) -> None:
    shown = rag(tmp_path, "demo", "--embedder", "hash").stdout
    assert shown.count("plan for notes") == 2
    assert "  ~ 1 content changed          1 chunk to embed" in shown
    assert shown.count("\n1. ") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_timing_names_each_look_up_with_its_bound_and_changes_no_answer(tmp_path: Path, corpus: Path) -> None:
    rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash")
    plain = rag(tmp_path, "query", "valve", "--db", "store", "--json").stdout
    timed = json.loads(rag(tmp_path, "query", "valve", "--db", "store", "--json", "--timing").stdout)
    parts = timed.pop("timing")
    assert timed == json.loads(plain)
    assert [part["name"] for part in parts] == ["question", "words", "vectors", "rows"]
    assert all(part["milliseconds"] >= 0 and 0 <= part["found"] <= part["bound"] for part in parts)
    said = rag(tmp_path, "query", "valve", "--db", "store", "--mode", "keyword", "--timing").stdout
    assert "words " in said and " of at most 100" in said and "question" not in said


def test_what_nobody_foresaw_is_a_sentence_and_the_traceback_a_file(tmp_path: Path, corpus: Path) -> None:
    script = (
        "import rag_mcp.index as index, rag_mcp.adapters.commands, sys\n"
        "def fault(*_, **__): raise LookupError('a \\x1b[31mred\\nword')\n"
        "index.Index.plan = fault\n"
        "sys.argv = ['rag-mcp', 'ingest', 'notes', '--db', 'store', '--plan']\n"
        "from rag_mcp.cli import main; main()"
    )
    done = program(tmp_path, script)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and "\x1b" not in done.stderr
    assert done.stderr.startswith("rag-mcp: unexpected LookupError: a ")
    [noted] = tmp_path.rglob("fault.log")
    assert str(noted) in done.stderr and "Traceback" in noted.read_text()


def test_what_cannot_be_written_is_the_system_s_word_and_no_fault_of_ours(tmp_path: Path, corpus: Path) -> None:
    wanted = ("ingest", "notes", "--db", "store", "--embedder", "hash", "--plan", "--out", "nowhere/plan.json")
    done = rag(tmp_path, *wanted, code=2)
    assert done.stderr.splitlines()[-1] == (
        "rag-mcp: the plan could not be saved as nowhere/plan.json: No such file or directory"
    )
    script = (
        "import rag_mcp.index as index, sys\n"
        "def full(*_, **__): raise OSError(28, 'No space left on device')\n"
        "index.Index.stats = full\n"
        "sys.argv = ['rag-mcp', 'stats', '--db', 'store']\n"
        "from rag_mcp.cli import main; main()"
    )
    done = program(tmp_path, script)
    assert (done.returncode, done.stderr) == (1, "rag-mcp: the system said: No space left on device\n")


def test_one_question_is_answered_without_chroma(tmp_path: Path, corpus: Path) -> None:
    rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash")
    script = (
        "import sys, rag_mcp.adapters.cli as cli, rag_mcp.pure.stages as stages\n"
        "assert stages.SearchPolicy().exact_up_to < 100_000 < stages.ONE_QUESTION.exact_up_to\n"
        "cli._leave = lambda code: print('chromadb_rust_bindings' in sys.modules, code)\n"
        "sys.argv = ['rag-mcp', 'query', 'valve', '--db', 'store', '--quiet']\n"
        "cli.main()"
    )
    done = program(tmp_path, script)
    assert done.stdout.splitlines()[-1] == "False 0", done.stderr
