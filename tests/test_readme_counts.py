"""The number of tests that README.md states: the script that compares it with what pytest said, and its exit codes."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "check_readme_counts.py"
README = "# Project\n\nIn all 1,240 tests are collected, some of which are skipped.\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    if not SCRIPT.is_file():
        pytest.skip("scripts/check_readme_counts.py is not here")
    spec = importlib.util.spec_from_file_location("check_readme_counts", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def code(script: ModuleType, tmp_path: Path):
    """Exit code for what pytest said, and for a README."""
    readme, log = tmp_path / "README.md", tmp_path / "log"

    def run(said: str, stated: str = README, *more: str) -> int:
        readme.write_text(stated)
        log.write_text(said)
        return script.main([str(log), "--readme", str(readme), *more])

    return run


@pytest.mark.parametrize(
    "summary",
    [
        "1240 passed in 3.20s",
        "==== 1239 passed, 1 skipped in 3.20s ====",
        "= 1200 passed, 40 skipped, 7 deselected, 2 xfailed, 3 warnings in 301.12s (0:05:01) =",
        "\x1b[32m== \x1b[1m1239 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m\x1b[32m in 9.1s\x1b[0m\x1b[32m ==\x1b[0m",
        "==== 5 passed in 1.00s ====\nagain:\n==== 1240 passed, 1 warning in 1.00s ====\n",
        "1240 passed, 1 error in 93784.00s (1 day, 2:03:04)",
        "1240 tests collected in 0.5s",
    ],
)
def test_what_agrees_is_0_whatever_else_the_last_summary_says(code, summary: str) -> None:
    assert code(f"....s..\n{summary}\n") == 0


@pytest.mark.parametrize(
    "summary",
    [
        "1239 passed in 1.0s",
        "1239 passed, 1 failed in 1.0s",
        "1239 passed, 1 xfailed in 1.0s",
        "no tests ran in 0.01s",
        "1240 passed in 1.0s\n1 passed in 1.0s",
    ],
)
def test_what_differs_is_1(code, summary: str) -> None:
    assert code(summary) == 1


@pytest.mark.parametrize("said", ["", "collected 1240 items", "1240 passed", "the log said 1240 passed in 3.2s, so"])
def test_without_a_summary_it_is_2(code, said: str) -> None:
    assert code(said) == 2


@pytest.mark.parametrize(
    "stated", ["", "many tests are collected", "5 tests", "5 tests are collected; 6 tests are collected"]
)
def test_without_one_claim_it_is_2(code, stated: str) -> None:
    assert code("1240 passed in 3.2s", stated) == 2


def test_a_file_that_is_missing_is_2(script: ModuleType, tmp_path: Path) -> None:
    assert script.main([str(tmp_path / "none"), "--readme", str(SCRIPT)]) == 2


def test_what_is_written_agrees_and_nothing_else_of_the_readme_is_changed(code, tmp_path: Path) -> None:
    assert code("1241 passed in 1.0s", README, "--write") == 0
    assert (tmp_path / "README.md").read_text() == README.replace("1,240", "1241")
    assert code("1241 passed in 1.0s", (tmp_path / "README.md").read_text()) == 0
    assert code("1 passed in 1.0s", "nothing is claimed", "--write") == 2


@given(
    st.dictionaries(
        st.sampled_from(("passed", "skipped", "failed", "xfailed", "warnings")), st.integers(0, 9999), min_size=1
    )
)
def test_passed_plus_skipped_is_what_counts_in_any_order_of_fields(script: ModuleType, counts: dict[str, int]) -> None:
    line = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    assert script.summed(f"{line} in 1.25s") == counts.get("passed", 0) + counts.get("skipped", 0)


def test_the_readme_states_a_number_and_standard_input_is_read(script: ModuleType) -> None:
    if not (ROOT / "README.md").is_file():
        pytest.skip("README.md is not here")
    stated = script.claimed((ROOT / "README.md").read_text("utf-8"))
    assert stated
    command = [sys.executable, str(SCRIPT)]
    for number, code in ((stated, 0), (stated + 1, 1)):
        done = subprocess.run(command, input=f"{number} passed in 1.0s\n", text=True, capture_output=True)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)
