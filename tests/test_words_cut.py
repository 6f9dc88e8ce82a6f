"""Where the list by words is cut, and among equals: by place, whatever order they were written in."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from storecheck import parts

from rag_mcp import Index
from rag_mcp.pure.view import View
from rag_mcp.pure.words import looked_for

COMMON = 10_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """400 passages that are worth the same for "pump", every second one a hand-over note; written in two runs."""
    corpus, numbers = tmp_path / "notes", list(range(400))
    corpus.mkdir()
    random.Random(5).shuffle(numbers)
    for half in (numbers[:200], numbers[200:]):
        for number in half:
            front = "---\ntype: handoff\n---\n" if number % 2 else ""
            (corpus / f"{number:03}.md").write_text(f"{front}# Note\n\npump x{number:03}\n")
        with Index(parts(corpus, tmp_path / "store")) as index:
            index.ingest()
    return tmp_path / "store"


def in_place(store: Path, numbers: Sequence[int]) -> list[str]:
    """The vectors of these notes in this order, each once: two notes may share one."""
    with sqlite3.connect(store / "record.sqlite3") as db:
        rids = dict(db.execute("select path, hex(rid) from rows").fetchall())
    db.close()
    return list(dict.fromkeys(rids[f"{number:03}.md"].lower() for number in numbers))


@pytest.mark.parametrize(
    ("view", "numbers"),
    [(View(), range(400)), (View("handoff"), range(1, 400, 2)), (View("note"), range(0, 400, 2))],
    ids=["all", "handoff", "note"],
)
@pytest.mark.parametrize("n", [1, 99, 150, 200])
def test_among_equals_the_first_by_place_stand_on_the_list(store: Path, view: View, numbers: range, n: int) -> None:
    with Index(parts(store.parent / "notes", store)) as index, index.reader.snapshot() as snapshot:
        assert list(snapshot.keywords(looked_for("pump"), n, view, COMMON)) == in_place(store, numbers[:n])


def test_a_better_one_stands_before_its_equals(store: Path) -> None:
    with Index(parts(store.parent / "notes", store)) as index, index.reader.snapshot() as snapshot:
        assert list(snapshot.keywords(looked_for("pump x377"), 3, View(), COMMON)) == in_place(store, [377, 0, 1])
