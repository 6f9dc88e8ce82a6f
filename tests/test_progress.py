"""Progress adds up to what was announced; bars are drawn on a terminal alone, and not for what is done at once."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from storecheck import ingest, parts, write_corpus

from rag_mcp import Index
from rag_mcp.adapters.terminal import Bars, progress_for, rate
from rag_mcp.effects import apply
from rag_mcp.effects.ports import Silence

ROOT = Path(__file__).parent.parent
SLOW = """
import time
from rag_mcp.adapters.terminal import progress_for
with progress_for(hidden=False, after={after}).task("counting", 4, unit="counts") as advance:
    for _ in range(4):
        time.sleep({step})
        advance(1)
"""


class Counted:
    """Progress that keeps what it was told: name -> (announced, done)."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[int]] = {}

    @contextmanager
    def task(self, name: str, total: int, items: int | None = None, unit: str = "files") -> Iterator[Callable]:
        told = self.tasks[name] = [total, 0]

        def advance(units: int) -> None:
            told[1] += units

        yield advance


@pytest.mark.parametrize("pages", [0, 1, 30])
def test_what_was_done_adds_up_to_what_was_announced(tmp_path: Path, pages: int) -> None:
    write_corpus(tmp_path / "notes", pages=pages, sections=40).mkdir(exist_ok=True)
    ingest(tmp_path / "notes", tmp_path / "store")
    counted = Counted()
    with Index(parts(tmp_path / "notes", tmp_path / "store", progress=counted)) as index:
        index.verify()
        index.stats()
    assert set(counted.tasks) == {"checking", "counting"}
    assert all(announced == done for announced, done in counted.tasks.values()), counted.tasks


def test_one_bar_tells_of_all_that_is_to_be_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "SEGMENT_TEXTS", 20)
    write_corpus(tmp_path / "notes", pages=10, sections=8)
    counted = Counted()
    with Index(parts(tmp_path / "notes", tmp_path / "store", progress=counted)) as index:
        report = index.ingest()
    assert report.generation > 2
    announced, done = counted.tasks["embedding"]
    assert announced == done > report.texts_embedded


def on_a_terminal(code: str) -> str:
    """What a program writes to a terminal that is its standard error."""
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=slave, env={**os.environ, "PYTHONPATH": str(ROOT)}):
        os.close(slave)
        said = b""
        try:
            while data := os.read(master, 4096):
                said += data
        except OSError:  # the other end is closed
            pass
    os.close(master)
    return said.decode()


def test_a_bar_is_drawn_where_work_goes_on_and_none_where_it_ends_soon() -> None:
    assert "counting" in on_a_terminal(SLOW.format(after=0.1, step=0.1))
    assert on_a_terminal(SLOW.format(after=60, step=0)) == ""


def test_the_time_left_follows_from_all_that_was_done() -> None:
    assert rate(100, 400, 50.0, "tokens") == "2 tokens/s   0:02:30 left"
    assert rate(1_000_000, 1_000_000, 1_000.0, "tokens") == "1,000 tokens/s   0:00:00 left"
    assert rate(0, 10, 1.0, "files") == rate(1, 10, 0.0, "files") == ""


def test_no_bar_is_drawn_where_nobody_looks_or_none_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(progress_for(hidden=True), Silence)
    assert isinstance(progress_for(hidden=False), Silence)
    with Bars().task("nothing", 0) as advance:
        advance(0)
    assert capsys.readouterr() == ("", "")
