"""The watch as a real process over a real folder: edits, kills, a busy store, a root that goes away."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from storecheck import BY_INDEX, contents, ingest, parts, write_corpus
from wires import another_user

from benchmarks.watching import edit_once
from rag_mcp import Index, Refused
from rag_mcp.adapters.lock import WriterLock
from rag_mcp.pure.watching import Looked, Timing

ROOT = Path(__file__).parents[1]
LONG = 60.0


def until(true: Callable[[], Any], seconds: float = LONG) -> Any:
    """Wait until it is so; what it gave."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came to be")


def stands(count: Callable[[], int], seconds: float = 2.0) -> bool:
    """Whether a count is the same after a while."""
    before = count()
    time.sleep(seconds)
    return count() == before


class Watch:
    """A process that watches, and what it said."""

    def __init__(self, home: Path, *arguments: str, prefix: str, user: int | None) -> None:
        self.said = home / "said"
        # A shell's background job ignores Ctrl-C, and so would all that it starts.
        heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        run = f"{heeding}; {prefix}; from rag_mcp.cli import main; main()"
        command = [
            sys.executable,
            "-c",
            run,
            "watch",
            "notes",
            "--db",
            "store",
            "--embedder",
            "hash",
            "--debounce",
            "0.2",
        ]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home)}
        with self.said.open("a") as out:
            self.process = subprocess.Popen(
                [*command, *arguments],
                cwd=home,
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )

    def runs(self) -> list[dict[str, Any]]:
        lines = self.said.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def end(self, how: int) -> int:
        self.process.send_signal(how)
        return self.process.wait(LONG)


@contextmanager
def watching(home: Path, *arguments: str, prefix: str = "pass", user: int | None = None) -> Iterator[Watch]:
    watch = Watch(home, *arguments, prefix=prefix, user=user)
    try:
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait(LONG)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "notes", pages=6, sections=2)
    return tmp_path


def finds(home: Path, text: str) -> bool:
    with Index(parts(home / "notes", home / "store")) as index:
        try:
            return any(text in hit.text for hit in index.search(text, 5, mode="keyword").results)
        except Refused:
            return False


def rebuilt(home: Path) -> dict[str, Any]:
    ingest(home / "notes", home / "rebuilt")
    return contents(home / "rebuilt", home / "notes", BY_INDEX)


def test_sixty_edits_and_a_kill_end_as_a_rebuild(home: Path) -> None:
    dice = random.Random(11)
    with watching(home, "--json", "--allow-prune", "all") as watch:
        for n in range(60):
            edit_once(home / "notes", dice, n)
            time.sleep(dice.uniform(0.0, 0.06))
            if n == 30:
                until(watch.runs)
                watch.process.kill()
                watch.process.wait(LONG)
                watch = Watch(home, "--json", "--allow-prune", "all", prefix="pass", user=None)
        (home / "notes" / "last.md").write_text("# Last\n\nThe quokka closes the gate.\n")
        until(lambda: finds(home, "quokka"))
        assert watch.end(signal.SIGTERM) == 143
    assert not (home / "store" / "writer.json").exists()
    assert contents(home / "store", home / "notes", BY_INDEX) == rebuilt(home)


def test_it_catches_up_at_the_start_ends_by_ctrl_c_and_leaves_the_lock_free_between_runs(home: Path) -> None:
    ingest(home / "notes", home / "store")
    (home / "notes" / "meanwhile.md").write_text("# Meanwhile\n\nThe okapi was off.\n")
    with watching(home) as watch:
        until(lambda: "generation 2" in watch.said.read_text())  # a reader finds the text sooner than the run ends
        assert finds(home, "okapi")
        ingest(home / "notes", home / "store")  # would be refused by a lock that is held
        assert watch.end(signal.SIGINT) == 0
    said = watch.said.read_text().splitlines()
    assert "watching notes for " in said[0]
    assert said[1][10:].startswith("generation 2: 1 ingested, 6 unchanged")
    assert said[2:] == ["rag-mcp: ended; what was finished stands"]


def test_a_refused_prune_and_a_busy_store_are_told_once_and_the_store_stands(home: Path) -> None:
    ingest(home / "notes", home / "store")
    lock = WriterLock(home / "store")
    with watching(home, "--json") as watch:
        until(lambda: [run for run in watch.runs() if run["event"] == "quiet"])
        lock.acquire().unwrap()
        lock.announce()
        (home / "notes" / "new.md").write_text("# New\n\nThe okapi waits.\n")
        busy = until(lambda: [run for run in watch.runs() if run["event"] == "refused"])[0]
        assert busy["error"]["type"] == "writer_busy"
        lock.release()
        until(lambda: finds(home, "okapi"))
        for path in (home / "notes").rglob("*.md"):
            path.unlink()
        refused = until(lambda: [r for r in watch.runs() if r["event"] == "refused" and "prune" in r["error"]["type"]])
        assert "--allow-prune 7" in refused[0]["error"]["message"]
    assert finds(home, "okapi")


def test_a_root_that_goes_away_is_waited_for_and_a_new_folder_in_its_place_is_watched(home: Path) -> None:
    ingest(home / "notes", home / "store")
    with watching(home) as watch:
        (home / "notes").rename(home / "elsewhere")
        until(lambda: "no such folder); nothing was changed; waiting for it" in watch.said.read_text())
        assert finds(home, "Pump")
        write_corpus(home / "notes", pages=6, sections=2)
        time.sleep(1.5)  # the new folder is seen, and watched
        (home / "notes" / "new.md").write_text("# New\n\nThe okapi is back.\n")
        until(lambda: finds(home, "okapi"))
        assert watch.said.read_text().count("waiting for it") == 1
        assert watch.end(signal.SIGTERM) == 143
    assert contents(home / "store", home / "notes", BY_INDEX) == rebuilt(home)


def test_a_mistyped_corpus_is_refused_and_leaves_nothing(home: Path) -> None:
    (home / "notes").rename(home / "elsewhere")
    with watching(home) as watch:
        assert watch.process.wait(LONG) == 1
    assert "no such folder" in watch.said.read_text()
    assert not (home / "store").exists()


def test_a_store_inside_the_corpus_does_not_wake_its_own_watch(home: Path) -> None:
    looks: list[Looked] = []
    stop = threading.Event()
    corpus = home / "notes"
    with Index(parts(corpus, corpus / ".rag")) as index:
        thread = threading.Thread(
            target=lambda: index.watch(looks.append, timing=Timing(debounce=0.1), stop=stop), daemon=True
        )
        thread.start()
        until(lambda: len(looks) >= 2)
        (corpus / "new.md").write_text("# New\n\nThe okapi is in.\n")
        until(lambda: any(looked.news for looked in looks[1:]))
        until(lambda: stands(lambda: len(looks)))  # a watch that wakes itself looks again and again
        stop.set()
        thread.join(LONG)
        assert not thread.is_alive()


def test_where_the_system_has_no_watches_left_it_says_so_and_looks_through_the_tree(home: Path) -> None:
    if user := another_user():  # the watches of this one are wanted by other tests
        for folder in (home, *home.parents):
            if folder.name.startswith(("pytest-", "popen-", "test_")):
                folder.chmod(0o755)
        home.chmod(0o777)
    none_left = "import ctypes; libc = ctypes.CDLL(None)\nwhile libc.inotify_init() >= 0: pass"
    with watching(home, prefix=f"exec({none_left!r})", user=user) as watch:
        until(lambda: "the system could not watch" in watch.said.read_text())
        until(lambda: "generation 1" in watch.said.read_text())
        (home / "notes" / "new.md").write_text("# New\n\nThe okapi is seen.\n")
        until(lambda: "generation 2" in watch.said.read_text())
        assert watch.said.read_text().count("the system could not watch") == 1
