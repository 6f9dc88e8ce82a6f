"""Real SIGKILLs over real Chroma: whatever a kill left, one run later the store equals a fresh rebuild."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from storecheck import BY_INDEX, contents, edit_corpus, ingest, write_corpus, write_series

from rag_mcp.pure.stages import SearchPolicy

CHILD = """
import os, resource, signal, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (64_000_000, 64_000_000))
sys.path[:0] = sys.argv[5:]
from rag_mcp.pure import tail
from storecheck import ingest
tail.CAME_AT_MOST = tail.WENT_AT_MOST = int(sys.argv[4])
name, nth = sys.argv[3].rsplit(":", 1)
left = int(nth)
def checkpoint(reached):
    global left
    if reached == name:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
ingest(Path(sys.argv[1]), Path(sys.argv[2]), checkpoint=checkpoint)
"""
HERE = Path(__file__).parent
TAILS = {"a tail": 1_000, "no tail": -1}
"""Whether what came and went is told beside the index, or the index is made anew."""
EFFECTS = (
    "cached",
    "beginning",
    "rows written",
    "cloned",
    "written",
    "flushed",
    "synced",
    "renamed",
    "committing",
    "committed",
    "swept",
)
OF_INDEX = ("cloned", "written", "flushed", "synced", "renamed")


def child(corpus: Path, store: Path, where: str, how: str = "no tail") -> subprocess.Popen[bytes]:
    told = [str(corpus), str(store), where, str(TAILS[how]), str(HERE), str(HERE.parent)]
    return subprocess.Popen([sys.executable, "-c", CHILD, *told], stderr=subprocess.PIPE)


def killed_at(corpus: Path, store: Path, where: str, how: str = "no tail") -> None:
    process = child(corpus, store, where, how)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, (where, errors.decode()[-2000:])


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and its finished store, to be copied."""
    home = tmp_path_factory.mktemp("settled")
    write_series(write_corpus(home / "corpus"))
    assert ingest(home / "corpus", home / "store").chunks_deduped == 3
    return home


def fresh(home: Path, policy: SearchPolicy) -> dict[str, object]:
    rebuilt = home / "rebuilt"
    shutil.rmtree(rebuilt, ignore_errors=True)
    ingest(home / "corpus", rebuilt)
    return contents(rebuilt, home / "corpus", policy)


def mend(home: Path, policy: SearchPolicy = BY_INDEX) -> None:
    """One run; then everything equals a rebuild, and nothing unfinished lies about."""
    ingest(home / "corpus", home / "store")
    assert contents(home / "store", home / "corpus", policy) == fresh(home, policy)
    left = sorted(path.name for path in (home / "store" / "index").glob("gen-*") if path.is_dir())
    assert len(left) == 1, left


def copy_of(settled: Path, home: Path) -> Path:
    shutil.copytree(settled / "corpus", home / "corpus")
    shutil.copytree(settled / "store", home / "store")
    return home


@pytest.mark.parametrize("effect", [name for name in EFFECTS if name != "cloned"])
def test_a_kill_at_any_effect_of_a_first_ingest_is_mended_by_the_next_run(tmp_path: Path, effect: str) -> None:
    write_series(write_corpus(tmp_path / "corpus", pages=5))
    killed_at(tmp_path / "corpus", tmp_path / "store", f"{effect}:1")
    mend(tmp_path)


@pytest.mark.parametrize("how", TAILS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_a_kill_at_any_effect_of_a_later_ingest_is_mended_by_the_next_run(
    settled: Path, tmp_path: Path, effect: str, how: str
) -> None:
    if how == "a tail" and effect in OF_INDEX:
        pytest.skip("nothing is written to an index that keeps its tail")
    home = copy_of(settled, tmp_path)
    edit_corpus(home / "corpus")
    killed_at(home / "corpus", home / "store", f"{effect}:1", how)
    mend(home)


def test_what_a_killed_run_was_doing_is_undone_when_the_file_goes_before_the_next(
    settled: Path, tmp_path: Path
) -> None:
    home = copy_of(settled, tmp_path)
    edit_corpus(home / "corpus")
    killed_at(home / "corpus", home / "store", "renamed:1")
    (home / "corpus" / "new.md").unlink()
    mend(home)


def test_thirty_kills_at_random_moments_leave_nothing_that_one_run_does_not_mend(settled: Path, tmp_path: Path) -> None:
    home = copy_of(settled, tmp_path)
    moments = random.Random(7)
    started = time.monotonic()
    finished = child(home / "corpus", tmp_path / "timing", "never:1")
    finished.communicate(timeout=120)
    assert finished.returncode == 0
    whole = time.monotonic() - started
    for n in range(30):
        (home / "corpus" / f"note{n % 4}.md").write_text(f"# Note {n}\n\nText {n} of many, number {n * n}.\n")
        process = child(home / "corpus", home / "store", "never:1", ("a tail", "no tail")[n % 2])
        time.sleep(whole * moments.uniform(0.2, 1.0))
        process.kill()
        process.communicate()
        if n % 10 == 9:
            mend(home)


def test_a_terminated_ingest_exits_143_and_lets_the_lock_go(settled: Path, tmp_path: Path) -> None:
    home = copy_of(settled, tmp_path)
    write_corpus(home / "corpus", pages=60, sections=30)
    command = [
        sys.executable,
        "-m",
        "rag_mcp",
        "ingest",
        str(home / "corpus"),
        "--db",
        str(home / "store"),
        "--embedder",
        "hash",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE.parent)
    deadline = time.monotonic() + 60
    while not (home / "store" / "writer.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert not (home / "store" / "writer.json").exists()
    mend(home, SearchPolicy())  # so many like vectors that two graphs of them may answer differently


def the_index_folder(home: Path) -> Path:
    (folder,) = (path for path in (home / "store" / "index").glob("gen-*") if path.is_dir())
    return folder


def lose_index(home: Path) -> None:
    shutil.rmtree(home / "store" / "index")


def lose_generation(home: Path) -> None:
    shutil.rmtree(the_index_folder(home))


def cut_index_file(home: Path) -> None:
    largest = max(the_index_folder(home).rglob("data_level0.bin"), key=lambda path: path.stat().st_size)
    os.truncate(largest, largest.stat().st_size // 2)


def cut_index_database(home: Path) -> None:
    os.truncate(the_index_folder(home) / "chroma.sqlite3", 5000)


def lose_record(home: Path) -> None:
    for path in (home / "store").glob("record.sqlite3*"):
        path.unlink()


def cut_record(home: Path) -> None:
    os.truncate(home / "store" / "record.sqlite3", (home / "store" / "record.sqlite3").stat().st_size // 2)


def empty_record(home: Path) -> None:
    os.truncate(home / "store" / "record.sqlite3", 0)


def garble_record(home: Path) -> None:
    (home / "store" / "record.sqlite3").write_bytes(b"not a database at all" * 1000)


def swap_record(home: Path) -> None:
    other = write_corpus(home / "other", pages=4, sections=2)
    ingest(other, home / "elsewhere")
    shutil.copy(home / "elsewhere" / "record.sqlite3", home / "store" / "record.sqlite3")


def lose_a_row(home: Path) -> None:
    with sqlite3.connect(home / "store" / "record.sqlite3") as db:
        db.execute("delete from rows where id = (select min(id) from rows)")
    db.close()


def lose_a_vector(home: Path) -> None:
    with sqlite3.connect(home / "store" / "record.sqlite3") as db:
        db.execute("delete from vectors where id = (select min(id) from vectors)")
    db.close()


LOSSES = (
    lose_index,
    lose_generation,
    cut_index_file,
    cut_index_database,
    lose_record,
    cut_record,
    empty_record,
    garble_record,
    swap_record,
    lose_a_row,
    lose_a_vector,
)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("edited", [False, True], ids=["quiet", "edited"])
def test_after_any_loss_one_run_equals_a_rebuild(settled: Path, tmp_path: Path, loss: object, edited: bool) -> None:
    home = copy_of(settled, tmp_path)
    if edited:
        edit_corpus(home / "corpus")
    loss(home)  # type: ignore[operator]
    mend(home)


def test_a_store_replaced_by_an_older_copy_of_itself_is_brought_up_to_date(settled: Path, tmp_path: Path) -> None:
    home = copy_of(settled, tmp_path)
    shutil.copytree(home / "store", home / "older")
    edit_corpus(home / "corpus")
    ingest(home / "corpus", home / "store")
    shutil.rmtree(home / "store")
    (home / "older").rename(home / "store")
    mend(home)
