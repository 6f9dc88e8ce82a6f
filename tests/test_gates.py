"""Every gate can fail: plant what it forbids, see it caught and named; and the tree as it is passes."""

import ast
import configparser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / ".importlinter", encoding="utf-8")
CONTRACTS = {name.rpartition(":")[2]: CONFIG[name] for name in CONFIG.sections() if ":contract:" in name}
BACKENDS = tuple(CONTRACTS["backends"]["modules"].split())

# Contract -> the module that sins, and what it imports. Most of what is forbidden is read from the contract itself,
# so that each single name on each list is seen to be caught.
PLANTS = {
    "rooms": [
        ("pure.planted", ("rag_mcp.effects.ports", "rag_mcp.adapters.settings")),
        ("effects.planted", ("rag_mcp.adapters.settings",)),
    ],
    "core-map": [
        ("pure.values", ("rag_mcp.pure.planning",)),
        ("pure.classify", ("rag_mcp.pure.documents",)),
        ("pure.planning", ("rag_mcp.pure.codec",)),
    ],
    "backends": [
        (one.removeprefix("rag_mcp."), tuple(other for other in BACKENDS if other != one)) for one in BACKENDS
    ],
}
SINNERS = {"forbidden_modules": "source_modules", "protected_modules": ""}
for _name, _contract in CONTRACTS.items():
    for _forbidden, _sources in SINNERS.items():
        if _forbidden in _contract:
            where = _contract.get(_sources, "rag_mcp.adapters.planted").split()
            PLANTS[_name] = [(source.partition(".")[2], tuple(_contract[_forbidden].split())) for source in where]

ALLOWED_IN_PURE = {
    "__future__",
    "attrs", "bisect", "cattrs", "collections", "contextlib", "datetime", "difflib", "enum", "functools", "hashlib",
    "heapq", "itertools", "json", "markdown_it", "math", "operator", "posixpath", "re", "returns", "shlex", "struct",
    "tomllib",
    "types", "typing", "unicodedata", "yaml",
}  # fmt: skip


def need(tool: str) -> None:
    """Skip where only the tests were installed; in CI a missing gate is a failure."""
    if importlib.util.find_spec(tool) is None and not os.environ.get("CI"):
        pytest.skip(f"{tool} is not installed: pip install -e '.[dev]'")


def run(*command: str, cwd: Path = ROOT, stdin: str = "") -> tuple[int, str]:
    """Exit code, and all that was said, with its line breaks evened out."""
    done = subprocess.run([sys.executable, *command], cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to be damaged."""
    need("importlinter")
    shutil.copytree(ROOT / "rag_mcp", tmp_path / "rag_mcp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def plant(tree: Path, module: str, imported: tuple[str, ...]) -> str:
    """Put imports into a module, new or not, inside a function, where they are easiest to overlook. -> its name."""
    place = tree.joinpath("rag_mcp", *module.split("."))
    if place.is_dir():
        place = place / "planted"
    with place.with_suffix(".py").open("a", encoding="utf-8") as file:
        file.write("\ndef planted():\n" + "".join(f"    import {name}\n" for name in imported))
    return ".".join(place.relative_to(tree).parts)


def lint(tree: Path) -> tuple[int, str]:
    return run("-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache", cwd=tree)


def test_the_tree_as_it_is_keeps_every_contract(tree: Path) -> None:
    code, said = lint(tree)
    assert code == 0, said
    assert f"{len(CONTRACTS)} kept, 0 broken" in said


@pytest.mark.parametrize(
    ("contract", "module", "imported"),
    [(name, *sin) for name, sins in PLANTS.items() for sin in sins],
    ids=[f"{name}-{module}" for name, sins in PLANTS.items() for module, _ in sins],
)
def test_a_forbidden_import_breaks_its_contract_and_is_named(
    tree: Path, contract: str, module: str, imported: tuple[str, ...]
) -> None:
    sinner = plant(tree, module, imported)
    code, said = lint(tree)
    assert code == 1
    assert f"{CONTRACTS[contract]['name']} BROKEN" in said
    assert [name for name in imported if f"{sinner} -> {name} (l." not in said] == []


def test_no_contract_is_without_a_plant() -> None:
    assert set(PLANTS) == set(CONTRACTS)


def test_a_detour_through_the_library_is_seen(tree: Path) -> None:
    plant(tree, "effects.planted", ("rag_mcp.index",))
    code, said = lint(tree)
    assert code == 1
    assert "rag_mcp.effects.planted -> rag_mcp.index" in said


def test_a_module_of_the_core_that_is_on_no_layer_is_refused(tree: Path) -> None:
    plant(tree, "pure.planted", ("math",))
    code, said = lint(tree)
    assert code == 1
    assert "planted" in said


def foreign(package: Path) -> set[str]:
    """What the core imports that is neither ours nor on its list, by the module's first name."""
    nodes = [node for path in (package / "pure").glob("*.py") for node in ast.walk(ast.parse(path.read_bytes()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - ALLOWED_IN_PURE - {"rag_mcp"}


def test_the_core_imports_only_what_is_listed(tree: Path) -> None:
    assert foreign(tree / "rag_mcp") == set()
    plant(tree, "pure.planted", ("requests",))
    assert foreign(tree / "rag_mcp") == {"requests"}


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ('"""Planted."""\n\nprint("to standard output")\n', "T201"),
        ('"""Planted."""\n\n\ndef public() -> None:\n    pass\n', "D103"),
        ('"""Planted."""\n\ntry:\n    pass\nexcept Exception:\n    pass\n', "S110"),
        ('"""Planted."""\n\nimport os\n', "F401"),
    ],
    ids=["printing", "a public name undocumented", "a fault swallowed", "an import unused"],
)
def test_ruff_names_what_it_forbids(planted: str, rule: str) -> None:
    need("ruff")
    code, said = run(
        "-m", "ruff", "check", "--no-cache", "--stdin-filename", "rag_mcp/pure/planted.py", "-", stdin=planted
    )
    assert code == 1
    assert rule in said


def test_mypy_finds_a_wrong_type_a_forgotten_case_and_a_missing_annotation(tmp_path: Path) -> None:
    need("mypy")
    (tmp_path / "planted.py").write_text(
        "from returns.result import Failure, Result, Success\n"
        "from rag_mcp.pure.plans import Action, Keep, Write\n"
        "from rag_mcp.pure.values import Sighting\n"
        "def wrong() -> Sighting:\n"
        "    return 'a path'\n"
        "def forgotten(action: Action) -> str:\n"
        "    match action:\n"
        "        case Keep() | Write():\n"
        "            return 'two of five'\n"
        "def bare(action):\n"
        "    return action\n"
        "def unopened(result: Result[int, str]) -> int:\n"
        "    return result + 1\n",
        encoding="utf-8",
    )
    config = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"))
    code, said = run("-m", "mypy", *config, str(tmp_path / "planted.py"))
    assert code == 1
    found = dict(re.findall(r"planted\.py:(\d+): error: .*?\[([\w-]+)\]", said))
    assert found == {"5": "return-value", "6": "return", "10": "no-untyped-def", "13": "operator"}


def test_one_command_runs_the_tests_here_in_ci_and_in_the_readme() -> None:
    command = "python -m pytest -n auto"
    assert [
        name for name in ("README.md", "Makefile", ".ci/run") if command not in (ROOT / name).read_text("utf-8")
    ] == []


def test_the_locks_agree_and_name_no_host_and_no_place() -> None:
    runtime, everything = ((ROOT / name).read_text("utf-8") for name in ("requirements.lock", "requirements-dev.lock"))
    pins = re.compile(r"^\S+==[^\\\n]+", re.MULTILINE)
    assert set(pins.findall(runtime)) < set(pins.findall(everything))
    for text in (runtime, everything):
        assert re.search(r"://|^-|file:|@ ", text, re.MULTILINE) is None
        assert "--hash=sha256:" in text
        assert len(re.findall(r"==[^\n]*\\\n    --hash", text)) == len(pins.findall(text))
