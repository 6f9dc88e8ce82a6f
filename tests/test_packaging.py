"""What is pinned where, and what the sources may not hold: places of one machine, clients of a networked Chroma."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "rag_mcp").rglob("*.py"))
PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+?)(?: ; (.*?))?(?: \\)?")


def need(name: str) -> str:
    """The text of a file of the project; skip where only the package was unpacked."""
    if not (ROOT / name).is_file():
        pytest.skip(f"{name} is not here")
    return (ROOT / name).read_text("utf-8")


def pins(text: str) -> set[tuple[str, str, str | None]]:
    """(name, version, marker) of each requirement; a line that is neither a pin nor a comment nor a hash is refused."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "    --hash="))]
    found = [PIN.fullmatch(line) for line in lines]
    assert all(found), lines
    return {(match[1].lower(), match[2], match[3]) for match in found if match}


def named() -> set[str]:
    """What pyproject.toml says the package itself needs."""
    dependencies = tomllib.loads(need("pyproject.toml"))["project"]["dependencies"]
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in dependencies}  # type: ignore[index]


def test_the_exact_pins_are_those_of_the_lock_for_all_that_is_named_and_nothing_else() -> None:
    exact = pins(need("requirements.txt"))
    assert {name for name, _, _ in exact} == named() >= {"mcp", "chromadb", "pyyaml"}
    assert exact <= pins(need("requirements.lock"))


def test_both_locks_have_the_same_versions() -> None:
    assert pins(need("requirements.lock")) <= pins(need("requirements-dev.lock"))


PLACES = re.compile(
    r"(?<![\w.])(?:/(?:home|Users|root|mnt|media|srv|work)/\w|[A-Za-z]:[\\/]{1,2}(?:Users|Program)|~/\w)", re.ASCII
)


def places(source: str) -> Iterator[str]:
    """Texts in a source, docstrings left out, that name a place on some machine."""
    tree = ast.parse(source)
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield from PLACES.findall(node.value)


def test_no_place_of_one_machine_is_built_in() -> None:
    planted = 'a = "/home/ann/notes"; b = f"{x}/Users/ben"; c = r"C:\\Users\\ann"; d = "~/notes"; e = "see x/home/y"'
    assert len(list(places(planted))) == 4
    assert PACKAGE
    files = [*PACKAGE, *(path for path in (ROOT / "run_server.py",) if path.is_file())]
    assert {path.name: list(places(path.read_text("utf-8"))) for path in files} == {path.name: [] for path in files}


NETWORKED = re.compile(
    r"(?:Async)?Http_?Client|Cloud_?Client|FastAPI|chroma_server\w*|chroma_api_impl|RustClient|rest_api"
)


def clients(source: str) -> Iterator[str]:
    """Names of Chroma's clients and server settings, wherever they stand: attribute, import, argument, text."""
    for node in ast.walk(ast.parse(source)):
        for name in (getattr(node, field, None) for field in ("attr", "id", "name", "arg", "value")):
            if isinstance(name, str):
                yield from NETWORKED.findall(name)


def test_no_client_of_chroma_is_ever_made_and_its_engine_in_one_place() -> None:
    planted = (
        "from chromadb import HttpClient as x\nchromadb.AsyncHttpClient()\nf(chroma_server_host='h')\ng('CloudClient')"
    )
    assert len(list(clients(planted))) == 4
    assert {path.name: list(clients(path.read_text("utf-8"))) for path in PACKAGE} == {
        path.name: [] for path in PACKAGE
    }
    made = [
        path.name
        for path in PACKAGE
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr.endswith("Client") or node.func.attr == "Bindings")
        and ast.unparse(node.func.value) != "httpx"
    ]
    assert made == ["chroma_client.py"]


def test_the_workflow_runs_the_gate_then_counts_and_its_scans_only_warn() -> None:
    import yaml

    workflow = yaml.safe_load(need(".github/workflows/ci.yml"))
    said = [step.get("run", "") for step in workflow["jobs"]["gate"]["steps"]]
    gate = next(place for place, run in enumerate(said) if ".ci/run" in run)
    assert "python scripts/check_readme_counts.py ci.log" in said[gate + 1 :]
    scans = [step for step in workflow["jobs"]["scans"]["steps"] if "run" in step]
    assert scans
    assert all(step["continue-on-error"] is True for step in scans)
    syntax = subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], capture_output=True, text=True, check=False)
    assert syntax.returncode == 0, syntax.stderr
