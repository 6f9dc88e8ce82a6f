"""docs/conformance.md is true: each promise stands once, and what is named as showing it is there and can run."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "conformance.md"
PROMISED: Mapping[str, tuple[int, ...]] = {
    "R": tuple(range(1, 119)),
    "L": tuple(range(1, 65)),
    "B": (
        1, 3, 4, 5, 6, 8, 9, 11, 13, 14, 16, 18, 19, 20, 21, 24, 26, 27, 29, 30, 31, 33, 34, 35, 36, 39, 40, 41, 42, 43,
    ),
}  # fmt: skip
"""Every list that has a section, by its letter; the numbers of cases are labels, with gaps."""
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \|(.*)\| (.*?) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
LINKED = re.compile(r"\]\(([^)#]+)")


@cache
def found_in(path: Path) -> Mapping[str, str]:
    """The tests of a file, and of each why it never runs ("" where it may)."""
    tree = ast.parse(path.read_bytes())
    whole = " and ".join(never(node.value) for node in tree.body if isinstance(node, ast.Assign) and is_mark(node))
    return {
        node.name: whole or " and ".join(filter(None, map(never, node.decorator_list))) or gives_up(node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def is_mark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def never(mark: ast.expr) -> str:
    """Why a test with this mark never runs; "" where it may. A condition counts where it is always true."""
    marks = mark.elts if isinstance(mark, ast.List | ast.Tuple) else [mark]
    for one in marks:
        said = ast.unparse(one)
        constant = isinstance(one, ast.Call) and one.args and isinstance(one.args[0], ast.Constant)
        if re.match(r"pytest\.mark\.skip\b(?!if)", said) or "run=False" in said:
            return said
        if said.startswith("pytest.mark.skipif") and constant and one.args[0].value:  # type: ignore[attr-defined]
            return said
    return ""


def gives_up(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The call with which a test skips itself before it does anything else."""
    first = next((node for node in function.body if not is_docstring(node)), None)
    said = "" if first is None else ast.unparse(first)
    return said if said.startswith(("pytest.skip(", "pytest.xfail(")) else ""


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def amiss(page: str, root: Path, promised: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """What is not so on the page."""
    rows = ROW.findall(page)
    stated = Counter(label for label, *_ in rows)
    wanted = {f"{letter}{number}" for letter, numbers in promised.items() for number in numbers}
    yield from (f"{label} is not there" for label in sorted(wanted - stated.keys()))
    yield from (f"{label} is no promise" for label in sorted(stated.keys() - wanted))
    yield from (f"{label} stands {times} times" for label, times in stated.items() if times > 1)
    for label, _, instead, shown in rows:
        named, linked = NAMED.findall(shown), LINKED.findall(shown)
        if not named and not linked:
            yield f"{label} is shown by nothing"
        for file, name in named:
            where = root / file
            found = found_in(where).get(name) if where.is_file() else None
            if found is None:
                yield f"{label}: there is no {file}::{name}"
            elif found:
                yield f"{label}: {file}::{name} never runs ({found})"
        for link in [*linked, *LINKED.findall(instead)]:
            if not (PAGE.parent / link).is_file():
                yield f"{label}: there is no docs/{link}"


def test_each_promise_stands_once_and_what_is_named_as_showing_it_is_there_and_runs() -> None:
    if not PAGE.is_file():
        pytest.skip("only the package was unpacked")
    assert list(amiss(PAGE.read_text("utf-8"), ROOT, PROMISED)) == []


TESTS = """
import pytest

def test_good(): pass

@pytest.mark.skipif(not open, reason="may run elsewhere")
def test_sometimes(): pass

@pytest.mark.skip(reason="never")
def test_marked(): pass

@pytest.mark.skipif(True, reason="never")
def test_by_condition(): pass

def test_gives_up():
    \"\"\"Says nothing.\"\"\"
    pytest.skip("never")
"""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["R1 | a | | `tests/x.py::test_good`", "R2 | b | | `tests/x.py::test_sometimes`"], []),
        (["R1 | a | | `tests/x.py::test_good`"], ["R2 is not there"]),
        (["R1 | a | | `tests/x.py::test_good`"] * 2 + ["R2 | b | | [p](performance.md)"], ["R1 stands 2 times"]),
        (
            ["R1 | a | | none", "R2 | b | | [p](no-such.md)"],
            ["R1 is shown by nothing", "R2: there is no docs/no-such.md"],
        ),
        (
            ["R1 | a | | `tests/x.py::test_goo`", "R2 | b | | `tests/y.py::test_good`", "L3 | c | | [p](quality.md)"],
            ["L3 is no promise", "R1: there is no tests/x.py::test_goo", "R2: there is no tests/y.py::test_good"],
        ),
        (
            [
                "R1 | a | | `tests/x.py::test_marked`",
                "R2 | b | | `tests/x.py::test_by_condition`<br>`tests/x.py::test_gives_up`",
            ],
            [
                "R1: tests/x.py::test_marked never runs (pytest.mark.skip(reason='never'))",
                "R2: tests/x.py::test_by_condition never runs (pytest.mark.skipif(True, reason='never'))",
                "R2: tests/x.py::test_gives_up never runs (pytest.skip('never'))",
            ],
        ),
    ],
    ids=["sound", "a gap", "twice", "nothing", "not there", "never run"],
)  # fmt: skip
def test_whatever_is_not_so_is_named(tmp_path: Path, rows: list[str], said: list[str]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "x.py").write_text(TESTS)
    page = "\n".join(f"| {row} |" for row in rows)
    assert list(amiss(page, tmp_path, {"R": (1, 2)})) == said
