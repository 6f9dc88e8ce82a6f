"""The doctor over real stores, broken in every way: it changes no byte, never fails, and says what mends it."""

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from storecheck import ingest, write_corpus

from rag_mcp import Index, doctor
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.settings import VARIABLES
from rag_mcp.doctor import Examination, Severity
from rag_mcp.pure.vectors import numbers, rid

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("settled")
    ingest(write_corpus(home / "notes", pages=4, sections=3), home / "store")
    return home


@pytest.fixture
def home(settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a corpus and its store; temporary files and clients' files are the user's own."""
    shutil.copytree(settled / "store", tmp_path / "store")
    shutil.copytree(settled / "notes", tmp_path / "notes")
    with sqlite3.connect(tmp_path / "store" / "record.sqlite3") as db:
        db.execute("update pointer set root = ?", [str(tmp_path / "notes")])
    db.close()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def look(home: Path, corpus: str = "notes", **env: str) -> Examination:
    world = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **env}
    return doctor.examine(home / corpus, store=home / "store", environ=world)


def found(seen: Examination, *levels: Severity) -> list[tuple[Severity, str, str]]:
    """What is amiss: level, the first word of where, what."""
    wanted = levels or (Severity.ERROR, Severity.WARNING)
    return [(f.severity, f.where.split()[0], f.what) for f in seen.findings if f.severity in wanted]


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "tmp" not in path.relative_to(folder).parts
    }


def test_a_healthy_store_is_found_healthy_and_not_a_byte_of_anything_changes(home: Path) -> None:
    before = tree(home)
    seen = look(home)
    assert found(seen) == []
    assert seen.ok
    told = {f.where.split()[0]: f.what for f in seen.findings}
    assert "0% tombstones" in told["vector"]
    assert told["record"].startswith("generation 1 of ")
    assert told["embedder"] == "it makes the stored vector of a stored passage anew"
    assert tree(home) == before
    assert list((home / "tmp").iterdir()) == []


def test_an_open_index_is_looked_at_by_its_own_embedder(home: Path) -> None:
    with Index.open(home / "notes", store=home / "store") as index:
        assert index.doctor().ok
        index.search("which pump feeds valve 3")
        assert index.doctor().ok


def test_nothing_need_be_there(home: Path) -> None:
    world = {"HOME": str(home / "none")}
    seen = doctor.examine(environ=world)
    assert seen.ok
    assert [f.where for f in seen.findings if "neither a corpus nor a store" in f.what] == ["settings"]
    seen = doctor.examine(home / "absent", environ={**world, "XDG_DATA_HOME": str(home / "data")})
    assert {where for _, where, _ in found(seen, Severity.ERROR)} >= {"corpus", "store"}
    assert not (home / "data").exists()
    wrong = doctor.examine(home / "notes", environ={**world, "RAG_MCP_EMBEDDER": "nonsense"})
    assert [(level, where) for level, where, _ in found(wrong)] == [(Severity.ERROR, "settings")]


@pytest.mark.parametrize("name", ["x" * 5000, "notes/part0/page0.md/store", "a\0b", "\udcff", "..", ""])
def test_no_name_of_a_store_or_a_corpus_makes_it_fail(home: Path, name: str) -> None:
    world = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    for seen in (
        doctor.examine(home / "notes", store=home / name, environ=world),
        doctor.examine(f"{home}/{name}", store=home / "store", environ=world),
        doctor.examine(f"{home}/{name}", environ=world),
    ):
        assert {level for level, where, _ in found(seen) if where in ("store", "corpus", "settings")}
        assert isinstance(json.dumps([finding.what for finding in seen.findings]), str)


@pytest.mark.parametrize("name", [".mcp.json", "store/writer.json", "store/writer.lock", "store/record.sqlite3"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(home: Path, name: str) -> None:
    (home / name).unlink(missing_ok=True)
    os.mkfifo(home / name)
    assert look(home).findings


def make_foreign(store: Path) -> None:
    for path in store.glob("record.sqlite3*"):
        path.unlink()
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("create table theirs(x)")
    db.close()


def make_newer(store: Path) -> None:
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("pragma user_version = 99")
    db.close()


def make_garbage(store: Path) -> None:
    (store / "record.sqlite3").write_bytes(b"not a database, whatever its name says" * 500)


def make_torn(store: Path) -> None:
    data = bytearray((store / "record.sqlite3").read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    (store / "record.sqlite3").write_bytes(data)


def make_absurd(store: Path) -> None:
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("update pointer set embedder = '[]'")
    db.close()


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (shutil.rmtree, "there is no store"),
        (lambda store: (store / "record.sqlite3").unlink(), "there is a folder, and no record in it"),
        (lambda store: (store / "record.sqlite3").write_bytes(b""), "the record is damaged (it is empty)"),
        (make_garbage, "the record is damaged"),
        (make_torn, "the record is damaged"),
        (make_absurd, "the record is damaged"),
        (make_foreign, "is a database of another program"),
        (make_newer, "has schema 99"),
        (lambda store: (shutil.rmtree(store), store.write_text("a file")), "there is a folder, and no record in it"),
    ],
    ids=["gone", "no record", "empty", "garbage", "torn", "absurd", "foreign", "newer", "a file"],
)
def test_a_broken_store_is_an_error_that_says_what_it_is_and_stays_as_it_is(
    home: Path, break_it: Any, says: str
) -> None:
    break_it(home / "store")
    before = tree(home)
    seen = look(home)
    [(_, where, what)] = found(seen, Severity.ERROR)
    assert (where, says in what) == ("store", True), what
    assert not seen.ok
    assert tree(home) == before


def test_what_the_index_lost_is_a_warning_and_repair_mends_it(home: Path) -> None:
    for path in (home / "store" / "index").rglob("data_level0.bin"):
        path.write_bytes(path.read_bytes()[:-400])
    seen = look(home)
    assert [(level, where) for level, where, _ in found(seen)] == [(Severity.WARNING, "vector")]
    [mend] = [f.mend for f in seen.findings if f.where == "vector index"]
    assert mend == f"rag-mcp verify --db {home / 'store'} --repair"
    with Index.open(home / "notes", store=home / "store") as index:
        index.repair()
    assert found(look(home)) == []


def test_rows_and_words_that_were_lost_are_errors(home: Path) -> None:
    with sqlite3.connect(home / "store" / "record.sqlite3") as db:
        db.execute("delete from rows where id = (select min(id) from rows)")
    db.close()
    errors = found(look(home), Severity.ERROR)
    assert [where for _, where, _ in errors] == ["record", "keyword"]


def test_another_embedder_is_found_by_its_name_and_by_its_vectors(home: Path) -> None:
    world = {"HOME": str(home)}
    seen = doctor.examine(home / "notes", store=home / "store", embedder="default", environ=world)
    assert "was embedded by 'hash'" in found(seen, Severity.ERROR)[0][2]
    with sqlite3.connect(home / "store" / "record.sqlite3") as db:
        for old, vector in db.execute("select rid, vector from vectors").fetchall():
            other = pack(f"<{len(vector) // 4}f", *(-number for number in numbers(vector)))
            new = bytes.fromhex(rid(HashEmbedder().identity.fingerprint, other))
            db.execute("update vectors set rid = ?, vector = ? where rid = ?", [new, other, old])
            db.execute("update rows set rid = ? where rid = ?", [new, old])
    db.close()
    assert "its vector of a stored passage is not the stored one" in found(look(home), Severity.ERROR)[0][2]


def test_a_model_that_is_not_there_or_another_is_named_by_its_file(home: Path) -> None:
    (home / "models").mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (home / "models" / name).write_text("not it")
    world = {"HOME": str(home), "RAG_MCP_MODEL_DIR": str(home / "models")}
    seen = doctor.examine(home / "notes", embedder="default", environ=world | {"XDG_DATA_HOME": str(home / "data")})
    errors = [what for _, where, what in found(seen, Severity.ERROR) if where == "model"]
    assert len(errors) == 2
    assert all("should have" in what for what in errors)
    (home / "models" / "model.onnx").unlink()
    seen = doctor.examine(home / "notes", embedder="bge", environ=world | {"XDG_DATA_HOME": str(home / "data")})
    assert "is not here" in next(what for _, where, what in found(seen) if where == "model")


def test_who_writes_is_named_and_whoever_was_killed_too(home: Path) -> None:
    note = json.dumps({"pid": 7, "host": "ship", "since": "2031-01-01"})
    (home / "store" / "writer.json").write_text(note)
    assert "process 7 on ship since 2031-01-01 was killed" in found(look(home), Severity.WARNING)[0][2]
    with (home / "store" / "writer.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = [what for _, where, what in found(look(home), Severity.NOTE) if where == "lock"]
    assert held == ["the store is being written by process 7 on ship since 2031-01-01"]


def test_what_was_left_over_is_noted_and_left(home: Path) -> None:
    (home / "store" / "index" / "gen-000009.ab12.tmp").mkdir()
    (home / "store" / "record.sqlite3.damaged").touch()
    dead = home / "tmp" / "rag-mcp-copies-dead"
    (dead / "gen-000001.ab12").mkdir(parents=True)
    (dead / "owner").touch()
    notes = " ".join(what for _, _, what in found(look(home), Severity.NOTE))
    assert "gen-000009.ab12.tmp" in notes
    assert "record.sqlite3.damaged" in notes
    assert str(dead) in notes
    assert dead.exists()


def test_a_store_inside_the_corpus_or_in_a_synced_folder_is_told(home: Path) -> None:
    inside = home / "notes" / "Dropbox" / "store"
    inside.parent.mkdir()
    shutil.move(home / "store", inside)
    seen = doctor.examine(home / "notes", store=inside, environ={"HOME": str(home)})
    assert any("Dropbox keeps in step" in what for _, _, what in found(seen, Severity.WARNING))
    assert any("inside the corpus" in what for _, _, what in found(seen, Severity.NOTE))


def test_another_corpus_than_the_store_s_and_one_that_is_gone_are_told(home: Path) -> None:
    write_corpus(home / "others", pages=1)
    assert "was made from" in found(look(home, "others"))[0][2]
    shutil.rmtree(home / "notes")
    assert [(level, where) for level, where, _ in found(look(home))] == [(Severity.ERROR, "corpus")]


def test_registrations_that_point_nowhere_are_errors_and_foreign_ones_are_nobody_s_business(home: Path) -> None:
    whole = {"RAG_MCP_CORPUS_ROOT": str(home / "notes"), "RAG_MCP_DB_PATH": str(home / "store")}
    servers = {
        "whole": {"command": sys.executable, "args": ["-m", "rag_mcp"], "env": whole},
        "by options": {"command": sys.executable, "args": ["-m", "rag_mcp", "serve", f"--corpus={home}/gone"]},
        "moved": {"command": "/gone/rag-mcp", "args": [], "env": whole},
        "emptied": {"command": sys.executable, "args": ["-m", "rag_mcp"], "env": {**whole, "RAG_MCP_DB_PATH": "/gone"}},
        "filled in": {"command": sys.executable, "args": ["-m", "rag_mcp", "--corpus", "${workspaceFolder}"]},
        "foreign": {"command": "/gone/other", "args": ["--corpus", "/gone"]},
        "another's": {"command": sys.executable, "args": [str(home / "server.py")]},
        "script": {"command": sys.executable, "args": [str(ROOT / "server.py")]},
        "odd": ["not", "an", "entry"],
    }
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("// comments\n{}")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[mcp_servers.rag]\ncommand = "/gone/rag-mcp"\nargs = []\n')
    seen = look(home, **whole)
    errors = {
        f.where.rpartition("[")[2]: f.what for f in seen.findings if f.severity is Severity.ERROR and "[" in f.where
    }
    assert {name.rstrip("]") for name in errors} == {"by options", "moved", "emptied", "rag"}
    assert [f.where.split()[0] for f in seen.findings if "not looked at" in f.what] == ["Cursor"]
    unsaid = [f.where.rpartition("[")[2] for f in seen.findings if "names no corpus" in f.what]
    assert unsaid == ["script]", "rag]"]
    assert any(f.where.endswith("[whole]") and f.severity is Severity.OK for f in seen.findings)


def test_the_settings_say_where_they_came_from_and_mistyped_variables_are_told(home: Path) -> None:
    seen = look(home, RAG_MCP_COLLECTION="knowledge", RAG_MCP_DBPATH="x")
    assert {(s.name, s.origin) for s in seen.settings} == {
        ("corpus", "given"), ("store", "given"), ("collection", "RAG_MCP_COLLECTION"),
    }  # fmt: skip
    assert [where for _, where, _ in found(seen, Severity.WARNING)] == ["RAG_MCP_DBPATH"]


def test_every_variable_that_the_package_reads_is_known() -> None:
    import re

    named = {
        name
        for path in (ROOT / "rag_mcp").rglob("*.py")
        for name in re.findall(r"RAG_MCP_[A-Z_]*[A-Z]", path.read_text())
    }
    assert named == set(VARIABLES)


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--db", "none"), 1), (("--db", "store"), 0)])
def test_the_verb_prints_lines_or_json_and_its_code_tells_of_errors(
    home: Path, words: tuple[str, ...], code: int
) -> None:
    world = {name: value for name, value in os.environ.items() if not name.startswith("RAG_MCP_")}
    world |= {"HOME": str(home), "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(home / "data")}

    def run(*more: str) -> str:
        command = [sys.executable, "-m", "rag_mcp.cli", "doctor", *words, *more]
        done = subprocess.run(command, cwd=home, env=world, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, "")
        return done.stdout

    shape = json.loads(run("--json"))
    assert shape["ok"] is (code == 0)
    assert {"severity", "where", "what", "mend"} == set(shape["findings"][0])
    counts = [shape["errors"], shape["warnings"], shape["notes"]]
    assert counts == [sum(f["severity"] == level for f in shape["findings"]) for level in ("error", "warning", "note")]
    lines = run().splitlines()
    assert lines[-1].startswith(f"{counts[0]} error, {counts[1]} warning, {counts[2]} note, ")
    assert len(run("--quiet").splitlines()) < len(lines)
