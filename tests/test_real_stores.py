"""The watch over real stores can fail: whole test runs in their own processes, over stores that a setting names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from real_stores import configured, fingerprint

TESTS = Path(__file__).parent
CONFTEST = """
import os
from real_stores import RealStores

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RealStores(os.environ))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "store").mkdir()
    for name in ("record.sqlite3", "writer.lock"):
        (tmp_path / "store" / name).touch()
    (tmp_path / "run" / "conftest.py").write_text(CONFTEST)
    return tmp_path / "store"


def run(store: Path, test: str, *words: str) -> subprocess.CompletedProcess[str]:
    """One test run whose only test does `test`."""
    (store.parent / "run" / "test_it.py").write_text(f"import os, pathlib\ndef test_it():\n    {test}\n")
    world = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent))),
        "RAG_MCP_DB_PATH": str(store),
        "XDG_DATA_HOME": str(store.parent / "data"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, "test_it.py"]
    return subprocess.run(command, cwd=store.parent / "run", env=world, capture_output=True, text=True, check=False)


def test_a_run_that_leaves_the_store_alone_passes_and_says_nothing(store: Path) -> None:
    done = run(store, "pass")
    assert (done.returncode, "REAL STORE" in done.stdout) == (0, False), done.stdout


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n", "1")], ids=["alone", "with xdist"])
def test_a_run_that_touches_a_configured_store_fails_and_names_it(store: Path, words: tuple[str, ...]) -> None:
    done = run(store, "(pathlib.Path(os.environ['RAG_MCP_DB_PATH']) / 'new').touch()", *words)
    assert done.returncode == 1, done.stdout
    assert "A REAL STORE WAS TOUCHED" in done.stdout
    assert f"{store}: new" in done.stdout


def test_the_default_place_of_stores_is_watched_too(store: Path) -> None:
    done = run(store, "pathlib.Path(os.environ['XDG_DATA_HOME'], 'rag-mcp', 'stores').mkdir(parents=True)")
    assert done.returncode == 1
    assert f"{store.parent / 'data' / 'rag-mcp'}: stores" in done.stdout


def test_a_store_that_is_being_written_is_skipped_loudly(store: Path) -> None:
    import fcntl

    with (store / "writer.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(store, "(pathlib.Path(os.environ['RAG_MCP_DB_PATH']) / 'new').touch()")
    assert done.returncode == 0, done.stdout
    assert "A REAL STORE WAS NOT WATCHED" in done.stdout


def test_any_change_of_a_file_changes_the_fingerprint(store: Path) -> None:
    before = fingerprint(store)
    assert "record.sqlite3" in before
    os.utime(store / "record.sqlite3", ns=(1, 1))
    touched = fingerprint(store)
    (store / "record.sqlite3").unlink()
    assert before != touched != fingerprint(store) != before
    assert fingerprint(store / "none") == {}
    assert configured({"RAG_MCP_DB_PATH": str(store)})[0] == store
