"""From the hash embedder to a tiny model and back: real processes, kills between renames, a reader that runs on."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contracts.test_embedders import WORDS, tiny_model, tiny_tokenizer
from storecheck import ingest, write_corpus
from test_cli import ROOT, rag

from rag_mcp import Index, Refused
from rag_mcp.adapters import exchange
from rag_mcp.adapters.lock import WriterLock
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.wiring import stored_pointer
from rag_mcp.pure.cutover import FAMILY, NEXT, PREVIOUS, ROLLBACK, STORE, SWITCH

GOLDEN = """
[[case]]
question = "which pump feeds valve 3"
expect = [{ source = "part1/page1.md" }]
"""


@pytest.fixture(scope="module")
def tiny_bge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that stands in for the real one: the same files and width, a few hundred kilobytes."""
    folder = tmp_path_factory.mktemp("models") / "bge-large-en-v1.5"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(tiny_model(len(WORDS), 1024))
    (folder / "tokenizer.json").write_text(tiny_tokenizer())
    return folder.parent


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "notes", pages=4, sections=3)
    ingest(tmp_path / "notes", tmp_path / "s")
    return tmp_path


def there(home: Path) -> set[str]:
    return {path.name for path in home.iterdir() if path.is_dir()} - {"notes", "data", ".cache", ".local"}


def made_by(store: Path) -> str | None:
    pointer = stored_pointer(store)
    return pointer.embedder.name if pointer else None


@pytest.fixture
def cutover(home: Path, tiny_bge: Path) -> Callable[..., Any]:
    def run(*arguments: str, code: int = 0) -> Any:
        env = {"RAG_MCP_MODEL_DIR": str(tiny_bge)}
        return rag(home, "cutover", "--corpus", "notes", "--db", "s", *arguments, code=code, env=env)

    return run


def test_a_new_store_is_planned_built_compared_switched_to_and_back(home: Path, cutover: Callable[..., Any]) -> None:
    planned = cutover("--embedder", "bge", "--plan").stdout
    assert "embedder bge-large-en-v1.5 (1024)\n  + 4 new" in planned
    assert there(home) == {"s"}
    assert "name the embedder" in cutover(code=2).stderr
    (home / "golden.toml").write_text(GOLDEN)
    built = cutover("--embedder", "bge", code=1).stdout  # a model that knows none of the words is worse
    assert "golden.toml against the store as it is   1 case compared" in built
    assert "--switch --anyway" in built.splitlines()[-1]
    assert there(home) == {"s", "s.next"}
    assert made_by(home / "s") == "hash"
    assert "worse; --anyway" in cutover("--switch", code=2).stderr
    (home / "notes" / "new.md").write_text("# New\n\nw1 w2 w3\n")
    assert "1 ingested, 4 unchanged" in cutover(code=1).stdout
    switched = cutover("--switch", "--anyway").stdout
    assert "is now the store made by bge-large-en-v1.5" in switched
    assert (there(home), made_by(home / "s.previous")) == ({"s", "s.previous"}, "hash")
    cutover("--embedder", "hash")
    assert "earlier cutover is still there" in cutover("--switch", code=2).stderr
    assert "another new store is being built" in cutover("--rollback", code=2).stderr
    assert cutover("--discard").stdout.rstrip().endswith("s.next was removed")
    assert "is the store made by hash again" in cutover("--rollback").stdout
    assert (there(home), made_by(home / "s")) == ({"s", "s.next"}, "hash")
    cutover("--discard")
    assert there(home) == {"s"}
    assert "nothing beside the store" in cutover("--discard", code=2).stderr


def test_without_cases_it_says_that_nothing_was_compared(home: Path, cutover: Callable[..., Any]) -> None:
    assert "not compared: there is no golden.toml here" in cutover("--embedder", "bge").stdout
    cutover("--switch")
    assert made_by(home / "s") == "bge-large-en-v1.5"


def test_a_store_that_changed_since_it_was_compared_is_compared_again(home: Path, cutover: Callable[..., Any]) -> None:
    (home / "golden.toml").write_text(GOLDEN)
    assert json.loads(cutover("--embedder", "hash", "--json").stdout)["worse"] is False
    (home / "notes" / "new.md").write_text("# New\n\nMore.\n")
    ingest(home / "notes", home / "s.next")
    assert "compare again" in cutover("--switch", code=2).stderr
    cutover()
    (home / "s.next" / "cutover.json").write_text("{")
    assert "compare again" in cutover("--switch", code=2).stderr
    cutover()
    cutover("--switch")


def test_what_was_chosen_for_the_old_store_holds_for_the_new_one(home: Path, cutover: Callable[..., Any]) -> None:
    rag(home, "ingest", "notes", "--db", "s", "--handoff-mirror-dir", "part1", "--handoff-mirror-basename", "page1.md")
    cutover("--embedder", "bge")
    with SqliteReader(home / "s.next").snapshot() as snapshot:
        assert snapshot.statistics().classes.keys() == {"note", "handoff"}


def test_a_store_that_is_being_written_is_not_exchanged(home: Path, cutover: Callable[..., Any]) -> None:
    cutover("--embedder", "bge")
    for which in ("s", "s.next"):
        lock = WriterLock(home / which)
        lock.acquire().unwrap()
        assert "is being written" in cutover("--switch", code=3).stderr
        lock.release()
    assert there(home) == {"s", "s.next"}


CHILD = """
import os, signal, sys
from pathlib import Path
from rag_mcp.adapters.exchange import exchange
from rag_mcp.pure.cutover import ROLLBACK, SWITCH
left = int(sys.argv[3])
def checkpoint(_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
exchange(Path(sys.argv[1]), {"switch": SWITCH, "rollback": ROLLBACK}[sys.argv[2]], checkpoint)
"""


@pytest.mark.parametrize(
    ("act", "nth"), [("switch", 1), ("switch", 2), ("rollback", 1), ("rollback", 2), ("rollback", 3)]
)
@pytest.mark.parametrize("mender", ["ingest", "cutover"])
def test_a_kill_between_the_renames_is_mended_by_the_next_command_without_embedding(
    home: Path, cutover: Callable[..., Any], act: str, nth: int, mender: str
) -> None:
    ingest(home / "notes", home / "s.next")
    marks = {"s": "old", "s.next": "new"}
    for name, mark in marks.items():
        (home / name / "mark").write_text(mark)
    if act == "rollback":
        exchange.exchange(home / "s", SWITCH)
    command = [sys.executable, "-c", CHILD, str(home / "s"), act, str(nth)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    if mender == "ingest":
        report = json.loads(rag(home, "ingest", "notes", "--db", "s", "--embedder", "hash", "--json").stdout)
        assert (report["files_unchanged"], report["texts_embedded"], report["generation"]) == (4, 0, 1)
    else:
        cutover("--discard")
    assert (home / "s" / "mark").read_text() == ("new" if act == "switch" else "old")
    if mender == "ingest":  # a store that is there is left alone; what lies beside is for the next cutover
        exchange.mend(home / "s")
    assert not (home / "s.undone").exists()


def test_readers_follow_without_a_restart_and_miss_at_most_the_moment(home: Path) -> None:
    ingest(home / "notes", home / "s.next")
    (home / "notes" / "part0" / "page0.md").write_text("# Page 0\n\nThe marlinspike is in locker seven.\n")
    ingest(home / "notes", home / "s.next")
    stop, answers, amiss = threading.Event(), [], []

    def read() -> None:
        with Index.open(home / "notes", store=home / "s", environ={}, untouched=True) as reader:
            while not stop.is_set():
                try:
                    answers.append("marlinspike" in reader.search("marlinspike locker", 1).results[0].text)
                except Refused as refused:
                    amiss.append(refused.failure.type)
                except Exception as error:
                    amiss.append(repr(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    for moves in (SWITCH, ROLLBACK) * 10:
        seen = len(answers)
        exchange.exchange(home / "s", moves)
        while len(answers) < seen + 3:
            stop.wait(0.01)
        assert answers[-1] == (moves is SWITCH)
    stop.set()
    thread.join(30)
    assert set(amiss) <= {"store_missing"}


def test_the_whole_family_of_a_store_inside_the_corpus_is_left_out(home: Path) -> None:
    inside = home / "notes" / ".rag"
    ingest(home / "notes", inside)
    for which in FAMILY[1:]:
        exchange.member(inside, which).mkdir()
        (exchange.member(inside, which) / "note.md").write_text("# Not a note\n")
    assert ingest(home / "notes", inside).files_unchanged == 4
    assert ingest(home / "notes", exchange.member(inside, NEXT)).files_ingested == 4
    assert exchange.there(inside) == frozenset(FAMILY)
    assert exchange.member(inside, STORE) == inside
    assert exchange.member(inside, PREVIOUS).name == ".rag.previous"


def test_a_lock_that_was_opened_before_a_switch_does_not_write_into_the_store_after_it(home: Path) -> None:
    import fcntl

    ingest(home / "notes", home / "s.next")
    lock = WriterLock(home / "s")
    real = fcntl.flock

    def late(handle: int, how: int) -> None:
        fcntl.flock = real
        exchange.exchange(home / "s", SWITCH)
        real(handle, how)

    fcntl.flock = late
    try:
        assert "cutover" in lock.acquire().failure().holder
    finally:
        fcntl.flock = real
