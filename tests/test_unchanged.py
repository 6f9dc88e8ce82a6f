"""A run without work is told again only where one that plans would say the same: real processes, the hash embedder."""

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success
from storecheck import write_corpus
from test_cli import ROOT, program, rag

from rag_mcp import Index
from rag_mcp.adapters import ingesting, unchanged
from rag_mcp.adapters.commands import guarded
from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.lock import is_held
from rag_mcp.pure.values import Unreadable

INGEST = ("ingest", "notes", "--db", "s", "--embedder", "hash", "--json")
PLANNING = "rag_mcp.effects.ingest"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A store that was ingested, with the note of it."""
    write_corpus(tmp_path / "notes", pages=4, sections=2)
    rag(tmp_path, *INGEST)
    return tmp_path


def run(home: Path, *arguments: str, code: int = 0, env: dict[str, str] | None = None) -> tuple[str, bool]:
    """What a run says, and whether it planned."""
    script = (
        "import os, sys\nfrom rag_mcp.adapters import cli\n"
        f"leave = os._exit\ndef told(code):\n    print({PLANNING!r} in sys.modules, file=sys.stderr)\n"
        "    sys.stderr.flush()\n    leave(code)\n"
        "os._exit = told\ncli.main()"
    )
    world = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_", "XDG_"))}
    world |= {"PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(home / "data"), "HOME": str(home), "COLUMNS": "100"}
    command = [sys.executable, "-c", script, *(arguments or INGEST)]
    done = subprocess.run(command, cwd=home, env=world | (env or {}), capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout, done.stderr.strip().splitlines()[-1] == "True"


def asked(notes: Path, store: Path) -> dict[str, Any]:
    """The options of an ingest by hashed words, as the command line hands them on."""
    names = ("corpus", "db", "collection", "embedder", "engine", "allow_prune", "out", "as_json", "handoff_mirror_dir")
    flags = ("plan_only", "full", "clean", "quiet", "no_snapshot_dedupe")
    options = dict.fromkeys(names) | dict.fromkeys(flags, False) | {"exclude": (), "handoff_mirror_basename": ()}
    return options | {"corpus": str(notes), "db": str(store), "embedder": "hash", "allow_prune": "all", "quiet": True}


def bytes_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_run_without_work_is_told_again_and_opens_neither_record_nor_index(tmp_path: Path) -> None:
    write_corpus(tmp_path / "notes", pages=4, sections=2)
    assert run(tmp_path)[1]
    before = bytes_of(tmp_path / "s")
    told, by_plan = run(tmp_path)
    forget(tmp_path)
    planned, again = run(tmp_path)
    assert (by_plan, again) == (False, True), "a run that had work plans for the next one"
    assert told == planned
    assert json.loads(told)["files_unchanged"] == 4
    assert bytes_of(tmp_path / "s") == before


def forget(home: Path) -> None:
    """Lose the note."""
    shutil.rmtree(home / ".cache" / "rag-mcp" / "unchanged")


def same_size_and_time(home: Path) -> None:
    page = home / "notes" / "part0/page0.md"
    status = page.stat()
    page.write_bytes(page.read_bytes().swapcase())
    os.utime(page, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert page.stat().st_mtime_ns == status.st_mtime_ns


def rows_lost(home: Path) -> None:
    with sqlite3.connect(home / "s" / "record.sqlite3") as db:
        db.execute("delete from rows where path = 'part0/page0.md'")
    db.close()


def record_put_back(home: Path) -> None:
    """The record of an earlier commit, with the size and times of the later one, so far as a user can set them."""
    record, kept = home / "s" / "record.sqlite3", home / "kept"
    shutil.copy2(record, kept)
    (home / "notes" / "part0/page0.md").write_text("# Another\n\nA text.\n")
    rag(home, *INGEST)
    rag(home, *INGEST)
    status = record.stat()
    shutil.copy2(kept, record)
    os.utime(record, ns=(status.st_atime_ns, status.st_mtime_ns))


def index_lost(home: Path) -> None:
    shutil.rmtree(home / "s" / "index")


def vector_lost(home: Path) -> None:
    (graph,) = (home / "s" / "index").rglob("data_level0.bin")
    graph.write_bytes(graph.read_bytes()[:-1])


CHANGES: dict[str, tuple[Callable[[Path], object], Callable[[dict[str, object]], object]]] = {
    "same size and time": (same_size_and_time, lambda r: r["files_ingested"] == 1),
    "a new file": (lambda h: (h / "notes" / "new.md").write_text("# New\n\nA text.\n"), lambda r: r["files_seen"] == 5),
    "a file gone": (lambda h: (h / "notes" / "part1/page1.md").unlink(), lambda r: r["files_pruned"] == 1),
    "a file renamed": (
        lambda h: (h / "notes" / "part1/page1.md").rename(h / "notes" / "other.md"),
        lambda r: r["files_moved"] == 1,
    ),
    "a rule": (lambda h: (h / "notes" / ".ragignore").write_text("part2/page2.md\n"), lambda r: r["files_pruned"] == 1),
    "a link": (lambda h: (h / "notes" / "dead.md").symlink_to("nowhere"), lambda r: r["held"]),
    "rows lost": (rows_lost, lambda r: r["files_ingested"] == 1),
    "an older record": (record_put_back, lambda r: r["files_ingested"] == 1),
    "the index lost": (index_lost, lambda r: r["rebuilt"]),
    "the index torn": (vector_lost, lambda r: r["rebuilt"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changed_is_planned_and_then_told_as_it_would_be_planned(home: Path, name: str) -> None:
    change, seen = CHANGES[name]
    change(home)
    code = 4 if name == "a link" else 0
    said, planned = run(home, code=code)
    assert planned
    assert seen(json.loads(said))
    if name == "a link":  # a run without work that wrote down what it could not have leaves no note
        assert run(home, code=code)[1]
    told, planned = run(home, code=code)
    assert not planned
    forget(home)
    assert run(home, code=code) == (told, True)


def test_what_was_asked_otherwise_is_planned(home: Path) -> None:
    assert run(home) == (rag(home, *INGEST).stdout, False)
    for more in (("--quiet",), ("--exclude", "part0/page3.md"), ("--full",), ("--clean",), ("--plan",)):
        assert run(home, *INGEST, *more)[1], more
    rag(home, *INGEST)
    rag(home, *INGEST)
    assert not run(home)[1]
    assert run(home, env={"RAG_MCP_EMBEDDER": "default"})[1]
    assert run(home, *INGEST, "--full")[1]
    assert run(home, *INGEST, "--full")[1]


VANISHED: Callable[[str], Any] = lambda path: Failure(Unreadable(path, "vanished"))  # noqa: E731
OTHERWISE: Callable[[str], Any] = lambda _: Success(b"\x00\xff\xfe\xfd")  # noqa: E731


@pytest.mark.parametrize("read_as", [VANISHED, OTHERWISE], ids=["vanished", "other bytes"])
def test_a_file_that_was_otherwise_only_while_it_was_read_is_read_by_the_next_run(
    tmp_path: Path, read_as: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look saw its bytes, the plan did not: what such a run says follows from more than the look."""
    notes, store = write_corpus(tmp_path / "notes", pages=2, sections=1), tmp_path / "s"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = asked(notes, store)
    assert guarded("ingest", options) == 0
    (notes / "new.md").write_text("# New\n\nThe hawser is new.\n")
    read = CorpusFolder.read
    with monkeypatch.context() as patch:
        patch.setattr(CorpusFolder, "read", lambda self, path: read_as(path) if path == "new.md" else read(self, path))
        for _ in range(3):  # the first notes down what it could not have
            assert guarded("ingest", options) == 4
    assert guarded("ingest", options) == 0
    with Index.open(notes, store=store, embedder="hash") as index:
        assert index.search("hawser", 1, mode="keyword").results[0].citation.source == "new.md"


def test_a_store_that_changes_under_a_run_is_planned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes, store = write_corpus(tmp_path / "notes", pages=2, sections=1), tmp_path / "s"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = asked(notes, store)
    assert guarded("ingest", options) == 0
    carry_out = ingesting.carry_out

    def damaged(*given: Any) -> Any:
        done = carry_out(*given)
        (graph,) = (store / "index").rglob("data_level0.bin")
        graph.write_bytes(graph.read_bytes()[:-1])
        return done

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(ingesting, "carry_out", damaged)
        assert guarded("ingest", options) == 0
    assert guarded("ingest", options) == 0
    with Index.open(notes, store=store, embedder="hash") as index:
        assert index.verify().ok


def test_a_generation_that_was_held_is_swept_by_the_run_that_finds_it_free(home: Path) -> None:
    (held,) = (home / "s" / "index").glob("*.lease")
    with held.open("rb") as lease:
        fcntl.flock(lease, fcntl.LOCK_SH)
        for page in list((home / "notes").rglob("*.md"))[1:]:
            page.unlink()  # so much goes that the index is made anew
        assert run(home)[1]
        assert run(home)[1]
        assert held.exists()
    assert run(home)[1]
    assert not held.exists()
    assert [run(home)[1] for _ in range(2)] == [True, False]


def test_what_is_told_again_is_said_with_the_lock_let_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    options = asked(home / "notes", home / "s")
    assert guarded("ingest", options) == 0
    with unchanged.note("ingest", options, os.environ) as note:  # type: ignore[union-attr]
        assert note.told()  # type: ignore[union-attr]
        assert not is_held(home / "s")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_the_note_or_of_the_lock_is_no_trap(home: Path) -> None:
    (note,) = (home / ".cache" / "rag-mcp" / "unchanged").iterdir()
    note.unlink()
    os.mkfifo(note)
    assert run(home)[1]


def test_without_a_home_it_is_planned(home: Path) -> None:
    script = (
        "import os, pathlib\nfrom rag_mcp.adapters import settings\n"
        "def none(): raise RuntimeError('no home')\nsettings.cache_folder = none\n"
        f"import sys\nsys.argv = ['rag-mcp', *{INGEST!r}]\n"
        "from rag_mcp.adapters.cli import main\nmain()"
    )
    done = program(home, script)
    assert (done.returncode, json.loads(done.stdout)["files_unchanged"]) == (0, 4), done.stderr


def test_a_note_that_is_damaged_or_lost_costs_a_plan_and_nothing_else(home: Path) -> None:
    expected, planned = run(home)
    assert not planned
    (note,) = (home / ".cache" / "rag-mcp" / "unchanged").iterdir()
    for damage in (b"", b"\xff\xfe", note.read_bytes()[:40], b"x" + note.read_bytes()[1:]):
        note.write_bytes(damage)
        assert run(home) == (expected, True)
    note.unlink()
    assert run(home) == (expected, True)
    assert run(home) == (expected, False)


def test_a_working_folder_that_is_gone_costs_a_plan_and_nothing_else(home: Path) -> None:
    script = (
        "import os, shutil, sys\nos.mkdir('gone'); os.chdir('gone'); shutil.rmtree('../gone')\n"
        "home = os.environ['HOME']\n"
        "sys.argv = ['rag-mcp', 'ingest', home + '/notes', '--db', home + '/s', '--embedder', 'hash']\n"
        "from rag_mcp.adapters.cli import main\nmain()"
    )
    done = program(home, script)
    assert (done.returncode, "4 unchanged" in done.stdout) == (0, True), done.stderr


def test_a_store_that_is_being_written_is_busy_as_ever(home: Path) -> None:
    with (home / "s" / "writer.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is being written" in rag(home, *INGEST, code=3).stdout


def test_a_log_beside_the_record_is_looked_into(home: Path) -> None:
    """A writer that was killed leaves one; what it says is the record's newest state."""
    script = (
        "import os, signal, sqlite3\ndb = sqlite3.connect('s/record.sqlite3', isolation_level=None)\n"
        "db.execute(\"delete from rows where path = 'part0/page0.md'\")\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=home, check=False)
    assert (home / "s" / "record.sqlite3-wal").stat().st_size
    said, planned = run(home)
    assert planned
    assert json.loads(said)["files_ingested"] == 1


def test_what_was_held_is_told_with_its_exit_code(home: Path) -> None:
    (home / "notes" / "dead.md").symlink_to("nowhere")
    said = [run(home, code=4) for _ in range(3)]
    assert [planned for _, planned in said] == [True, True, False]  # the first notes down what it could not have
    assert said[0][0] == said[1][0] == said[2][0]
    (home / "notes" / "dead.md").unlink()
    assert json.loads(run(home)[0])["held"] == []


def test_a_commit_without_a_changed_file_is_told(home: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(home / "notes")]
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *step], check=True)
    first = [run(home) for _ in range(3)]
    assert [planned for _, planned in first] == [True, True, False]  # the first notes down the commit
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "two"], check=True)
    said, planned = run(home)
    assert planned
    assert json.loads(said)["corpus"] != json.loads(first[-1][0])["corpus"]


def test_a_tick_without_work_adds_its_line_all_the_same(home: Path) -> None:
    tick = ("tick", "notes", "--db", "s", "--embedder", "hash", "--log", "log")
    assert [run(home, *tick) for _ in range(3)] == [("", True), ("", False), ("", False)]
    lines = [line.split(" ", 1)[1] for line in (home / "log").read_text().splitlines()]
    assert len(lines) == 3
    assert len(set(lines)) == 1


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "remove", "move", "ignore", "again"]), st.integers(0, 3), st.sampled_from("abc")
    ),
    max_size=4,
)


def edit(notes: Path, what: str, number: int, text: str) -> None:
    page = notes / f"page-{number}.md"
    match what:
        case "write":
            page.write_text(f"# Page\n\nThe text {text}.\n")
        case "remove":
            page.unlink(missing_ok=True)
        case "move" if page.exists():
            page.rename(notes / f"page-{(number + 1) % 4}.md")
        case "ignore":
            (notes / ".ragignore").write_text(f"page-{number}.md\n")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(EDITS)
def test_what_is_told_again_is_what_a_plan_would_find(tmp_path_factory: pytest.TempPathFactory, edits: list) -> None:  # type: ignore[type-arg]
    home = tmp_path_factory.mktemp("home")
    notes, store = home / "notes", home / "s"
    notes.mkdir()
    options = asked(notes, store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        for what, number, text in [("again", 0, "a"), *edits]:
            edit(notes, what, number, text)
            with Index.open(notes, store=store, embedder="hash") as index:
                quiet = store.exists() and index.plan(allow_prune=2**62).quiet
            with unchanged.note("ingest", options, os.environ) as note:  # type: ignore[union-attr]
                told = note.told()  # type: ignore[union-attr]
            assert told is None or quiet
            for _ in range(3):  # the second may find an index of too many deleted places, and build it anew
                assert guarded("ingest", options) == 0
            with unchanged.note("ingest", options, os.environ) as note:  # type: ignore[union-attr]
                assert note.told() or not any((store / "index").glob("gen-*"))  # type: ignore[union-attr]
