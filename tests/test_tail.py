"""Small edits over real Chroma: the index stays as it is, and every answer is that of a rebuild all the same."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from storecheck import BY_INDEX, contents, edit_corpus, ingest, parts, write_corpus

from rag_mcp import Index, doctor
from rag_mcp.adapters import wiring
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.record import pointers
from rag_mcp.adapters.settings import Settings
from rag_mcp.adapters.stores.chroma import OpenGeneration
from rag_mcp.doctor import Severity
from rag_mcp.effects.ports import IndexBroken
from rag_mcp.pure import tail
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.tail import Tail


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("settled")
    ingest(write_corpus(home / "notes"), home / "store")
    return home


@pytest.fixture
def home(settled: Path, tmp_path: Path) -> Path:
    shutil.copytree(settled / "notes", tmp_path / "notes")
    shutil.copytree(settled / "store", tmp_path / "store")
    return tmp_path


def run(home: Path) -> Any:
    return ingest(home / "notes", home / "store")


def note(home: Path, text: str) -> None:
    (home / "notes" / "note.md").write_text(f"# Note\n\n{text}\n")


def told(home: Path) -> tuple[str, set[str], set[str]]:
    with closing(sqlite3.connect(home / "store" / "record.sqlite3")) as db:
        folder, stored = db.execute("select folder, tail from pointer").fetchone()
    came, went, _ = json.loads(stored)
    return folder, set(came), set(went)


def tell(home: Path, stored: str | int) -> None:
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        db.execute("update pointer set tail = ?", [stored])


def put_back(home: Path, kept: Path) -> None:
    shutil.rmtree(home / "store")
    shutil.copytree(kept, home / "store")


def index_bytes(home: Path) -> dict[str, bytes]:
    """Every file of the index but the databases, into which each reader leaves a row."""
    files = (path for path in sorted((home / "store" / "index").rglob("*")) if path.is_file())
    return {str(path): path.read_bytes() for path in files if path.name != "chroma.sqlite3"}


def examined(home: Path) -> doctor.Examination:
    return doctor.examine(home / "notes", store=home / "store", environ={"HOME": str(home)})


def fresh(home: Path) -> dict[str, Any]:
    ingest(home / "notes", home / "fresh")
    return contents(home / "fresh", home / "notes")


def best(index: Index, question: str) -> tuple[str, str | None]:
    """The source of the first hit by meaning, and why it was not the index that found it."""
    answer = index.search(question, 1, mode="semantic")
    return answer.results[0].citation.source, answer.degraded


def test_an_edit_writes_nothing_to_the_index_and_leaves_what_a_rebuild_would(home: Path) -> None:
    before, (folder, _, _) = index_bytes(home), told(home)
    edit_corpus(home / "notes")
    run(home)
    assert index_bytes(home) == before
    now, came, went = told(home)
    assert now == folder and came and went
    assert contents(home / "store", home / "notes") == fresh(home)
    with Index(parts(home / "notes", home / "store")) as index:
        assert index.verify().ok
        assert index.plan().quiet


def test_what_went_hides_nothing_however_near_it_was(home: Path) -> None:
    for page in range(30):
        (home / "notes" / f"near{page}.md").write_text(f"# Near\n\nthe marlinspike and the fid {'a' * page}\n")
    (home / "notes" / "kept.md").write_text("# Kept\n\nthe marlinspike and other things of a chest\n")
    run(home)
    with Index(parts(home / "notes", home / "store")) as index:
        index.repair()
    assert told(home)[1:] == (set(), set())
    for page in range(30):
        (home / "notes" / f"near{page}.md").unlink()
    run(home)
    assert len(told(home)[2]) == 30
    few = SearchPolicy(exact_up_to=0, depth=5, depth_max=5)
    with Index(parts(home / "notes", home / "store"), few) as index:
        assert best(index, "the marlinspike and the fid") == ("kept.md", None)
        assert not index._desk.held.scans, "the index was asked deep enough at once"


@pytest.mark.parametrize("untouched", [False, True], ids=["in place", "copied"])
def test_a_reader_keeps_its_index_open_over_small_edits_and_finds_each(home: Path, *, untouched: bool) -> None:
    made = wiring.assemble(
        Settings(store=home / "store", corpus=home / "notes"), embedder=HashEmbedder(), untouched=untouched
    )
    with Index(made, BY_INDEX) as index:
        best(index, "pump")
        opened = index._desk.held.opened
        assert opened is not None
        for said in ("the binnacle glows", "the capstan creaks", "the hawser parts"):
            note(home, said)
            run(home)
            assert best(index, said) == ("note.md", None)
            assert index._desk.held.opened is opened
        note(home, "a windlass")
        assert best(index, "the hawser parts")[0] == "note.md"
        (home / "notes" / "note.md").unlink()
        run(home)
        assert best(index, "the hawser parts")[0] != "note.md"


def test_a_long_tail_is_taken_into_a_new_generation_and_readers_turn_to_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "CAME_AT_MOST", 2)
    folder, _, _ = told(home)
    with Index(parts(home / "notes", home / "store"), BY_INDEX) as index:
        best(index, "pump")
        for n, said in enumerate(("the binnacle glows", "the capstan creaks", "the hawser parts")):
            (home / "notes" / f"note{n}.md").write_text(f"# Note\n\n{said}\n")
            run(home)
            assert best(index, said) == (f"note{n}.md", None)
        now, came, went = told(home)
        assert now != folder and not came and not went
        assert index.verify().ok
    assert contents(home / "store", home / "notes") == fresh(home)
    note(home, "what was held until its reader turned is free now")
    run(home)
    assert [path.name for path in (home / "store" / "index").glob("gen-*") if path.is_dir()] == [now]


def test_where_most_went_the_index_is_made_anew_by_the_run_that_takes_it_out(home: Path) -> None:
    for page in list((home / "notes").rglob("*.md"))[3:]:
        page.unlink()
    run(home)
    assert told(home)[1:] == (set(), set())
    with Index(parts(home / "notes", home / "store")) as index:
        assert index.plan().quiet
    assert contents(home / "store", home / "notes") == fresh(home)


def test_an_index_that_is_lost_while_a_run_is_under_way_is_made_anew_by_it(home: Path) -> None:
    note(home, "the binnacle glows")

    def lost(reached: str) -> None:
        if reached == "beginning":
            shutil.rmtree(home / "store" / "index")

    ingest(home / "notes", home / "store", checkpoint=lost)
    with Index(parts(home / "notes", home / "store")) as index:
        assert index.plan().quiet and index.verify().ok
    assert contents(home / "store", home / "notes") == fresh(home)


def test_a_tail_that_lies_is_found_and_mended(home: Path) -> None:
    note(home, "the binnacle glows")
    run(home)
    _, came, _ = told(home)
    here = frozenset(came)
    for lie in (Tail(), Tail(here, here), Tail(here | {"ab" * 16}), Tail(here, frozenset({"ab" * 16}))):
        with closing(sqlite3.connect(home / "store" / "record.sqlite3")) as db:
            (token,) = db.execute("select token from pointer").fetchone()
        tell(home, pointers._tail_value(lie, token))
        with Index(parts(home / "notes", home / "store")) as index:
            assert not index.verify().ok, lie
            index.repair()
            assert index.verify().ok
        assert told(home)[1:] == (set(), set())
        assert contents(home / "store", home / "notes") == fresh(home)


GARBAGE = (
    "",
    "garbage",
    "null",
    "5",
    "[]",
    "[[],[]]",
    '[[],[],""]',
    '[["zz"],[],"x"]',
    '[[1],[null],"x"]',
    '{"a":1}',
    7,
)


@pytest.mark.parametrize("stored", [*GARBAGE, '[[["a"]],[],"x"]', "another commit's"])
def test_a_tail_that_is_not_what_was_written_is_searched_without_and_made_anew_by_the_next_run(
    home: Path, stored: str | int
) -> None:
    with closing(sqlite3.connect(home / "store" / "record.sqlite3")) as db:
        (before,) = db.execute("select tail from pointer").fetchone()
    note(home, "the binnacle glows")
    run(home)
    tell(home, before if stored == "another commit's" else stored)
    with Index(parts(home / "notes", home / "store"), BY_INDEX) as index:
        assert best(index, "the binnacle glows")[0] == "note.md"
        assert not index.plan().quiet
        assert not index.verify().ok
    (of_index,) = (f for f in examined(home).findings if f.where == "vector index")
    assert of_index.severity == Severity.WARNING
    assert run(home).rebuilt
    assert contents(home / "store", home / "notes") == fresh(home)


def test_a_reader_of_a_store_that_was_put_back_does_not_ask_the_index_of_another_history(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two indexes of one base, with as many changes, have equal names, numbers and sizes."""
    monkeypatch.setattr(tail, "CAME_AT_MOST", 0)
    shutil.copytree(home / "store", home / "kept")
    with Index(parts(home / "notes", home / "store"), BY_INDEX) as index:
        for said in ("the binnacle glows", "the capstan turns"):
            note(home, said)
            run(home)
            assert best(index, said) == ("note.md", None)
            put_back(home, home / "kept")


def test_an_index_that_broke_is_opened_again_for_the_next_commit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexBroken("it fell over")

    with Index(parts(home / "notes", home / "store"), BY_INDEX) as index:
        with monkeypatch.context() as patch:
            patch.setattr(OpenGeneration, "query", broken)
            assert best(index, "pump")[1] == "it fell over"
        assert best(index, "pump")[1] == "it fell over", "it is not opened again for each question"
        note(home, "the binnacle glows")
        run(home)
        assert best(index, "the binnacle glows") == ("note.md", None)


def test_the_doctor_asks_the_index_for_what_is_in_it_and_tells_what_is_beside(home: Path) -> None:
    edit_corpus(home / "notes")
    run(home)
    (of_index,) = (f for f in examined(home).findings if f.where == "vector index")
    assert of_index.severity == Severity.OK
    assert f"{len(told(home)[1])} more beside it" in of_index.what


def test_a_store_from_before_tails_is_read_and_goes_on(home: Path) -> None:
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        db.execute("alter table pointer drop column tail")
        db.execute("pragma user_version = 5")
    with Index(parts(home / "notes", home / "store"), BY_INDEX) as index:
        assert best(index, "pump")[1] is None
        assert index.verify().ok
    edit_corpus(home / "notes")
    assert run(home).texts_embedded == 2
    assert contents(home / "store", home / "notes") == fresh(home)
