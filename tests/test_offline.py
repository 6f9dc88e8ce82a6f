"""No network at run time, and no heavy import before its work: whole processes, watched from inside.

Two watches. A guard in every Python process refuses and writes down each attempt to resolve a name or to connect.
Where the kernel allows it, the same commands run once more in a network namespace without any interface, which
holds native code as well.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUARD = """
import os, sys

WATCHED = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}

def refuse(event, arguments):
    if event in WATCHED:
        with open(os.environ["ATTEMPTS"], "a") as file:
            file.write(f"{event} {arguments[-1]!r}\\n")
        raise OSError(f"refused by the test: {event}")

sys.addaudithook(refuse)
"""
HEAVY = {"chromadb", "chromadb_rust_bindings", "onnxruntime", "numpy", "tokenizers", "cattrs", "rich"}
VERBS = ("ingest", "apply", "query", "verify", "stats", "serve", "install", "demo", "doctor", "cite", "manifest")
NO_INTERFACE = ("unshare", "--map-root-user", "--net")


@cache
def can_unshare() -> bool:
    return (
        bool(shutil.which("unshare"))
        and subprocess.run([*NO_INTERFACE, "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder: two notes, an empty data directory, the guard that every Python below it loads."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "pumps.md").write_text("# Pumps\n\nEach pump is greased every 400 running hours.\n", encoding="utf-8")
    (notes / "keys.md").write_text("# Keys\n\nThe signing key is rotated in March, by two people.\n", encoding="utf-8")
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return tmp_path


def python(home: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run Python as a user with nothing set up, guarded; on the package of this tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_MCP_", "XDG_", "PYTHON"))}
    paths = os.pathsep.join([str(home / "guard"), str(ROOT)])
    return subprocess.run(
        [*before, sys.executable, *arguments],
        cwd=home,
        env=kept | {"HOME": str(home), "PYTHONPATH": paths, "ATTEMPTS": str(home / "attempts")},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def cli(home: Path, *arguments: str, before: tuple[str, ...] = ()) -> str:
    """Standard output of a command that must succeed."""
    done = python(home, "-m", "rag_mcp.cli", *arguments, before=before)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def attempts(home: Path) -> str:
    file = home / "attempts"
    return file.read_text("utf-8") if file.exists() else ""


def imported(home: Path, *arguments: str) -> set[str]:
    """First names of all modules that a command imports, to its very end."""
    done = python(home, "-X", "importtime", "-m", "rag_mcp.cli", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    names = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+([\w]+)", done.stderr, re.MULTILINE)
    assert "click" in names
    return set(names)


@pytest.mark.parametrize(
    "attempt",
    [
        "urllib.request.urlopen('http://192.0.2.1/')",
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.gethostbyname('localhost')",
    ],
    ids=["a page", "a port of this machine", "a name"],
)
def test_the_guard_sees_an_attempt_even_when_the_caller_hides_it(home: Path, attempt: str) -> None:
    done = python(
        home, "-c", f"import contextlib, socket, urllib.request\nwith contextlib.suppress(OSError): {attempt}"
    )
    assert done.returncode == 0
    assert attempts(home) != ""


CALLS = "rag_mcp.adapters.embedders.calls"


def test_what_can_open_a_connection_is_loaded_only_when_a_service_was_chosen(home: Path) -> None:
    def loaded(*arguments: str) -> bool:
        done = python(home, "-X", "importtime", "-m", "rag_mcp.cli", *arguments)
        assert "click" in done.stderr
        return CALLS in done.stderr

    assert loaded("ingest", "notes", "--embedder", "ollama:embeddinggemma")
    assert attempts(home) != ""
    (home / "attempts").unlink()
    for arguments in (("ingest", "notes", "--embedder", "hash"), ("query", "keys", "--corpus", "notes"), ("--help",)):
        assert not loaded(*arguments)
    assert attempts(home) == ""


@pytest.mark.model
@pytest.mark.parametrize("before", [(), NO_INTERFACE], ids=["guarded", "without any interface"])
def test_ingest_and_query_with_the_real_model_need_no_network(home: Path, before: tuple[str, ...]) -> None:
    if before and not can_unshare():
        pytest.skip("this kernel gives no network namespace to this user")
    cli(home, "ingest", "notes", before=before)
    answer = json.loads(
        cli(home, "query", "how often are pumps greased?", "--corpus", "notes", "--json", before=before)
    )
    assert answer["results"][0]["citation"]["source"] == "pumps.md"
    cli(home, "verify", "--corpus", "notes", before=before)
    assert attempts(home) == ""


@pytest.mark.model
def test_the_demo_needs_no_network(home: Path) -> None:
    before = NO_INTERFACE if can_unshare() else ()
    cli(home, "demo", before=before)
    assert attempts(home) == ""


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), *((verb, "--help") for verb in VERBS)], ids=" ".join
)
def test_help_imports_nothing_heavy(home: Path, arguments: tuple[str, ...]) -> None:
    assert imported(home, *arguments) & HEAVY == set()


@pytest.mark.model
def test_only_a_run_with_work_imports_what_the_work_needs(home: Path) -> None:
    worked = imported(home, "ingest", "notes")
    assert {"chromadb_rust_bindings", "onnxruntime", "tokenizers", "numpy"} <= worked
    assert imported(home, "ingest", "notes") & HEAVY == set()
