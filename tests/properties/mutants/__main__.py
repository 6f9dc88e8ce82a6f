"""`python -m tests.properties.mutants [WORD]...`: plants every fault (or those whose names hold a word), prints who
noticed, and ends with 1 when one was missed. `--long` first runs the history machine at length on the sound package.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from properties.mutants.hunt import Found, hunt, planted  # noqa: E402
from properties.mutants.planted import FAULTS, HISTORY  # noqa: E402


def main(words: list[str]) -> int:
    """Hunt, print a table, and say how it went."""
    if "--long" in words:
        words.remove("--long")
        command = [sys.executable, "-m", "pytest", HISTORY, "-q"]
        if subprocess.run(command, cwd=ROOT, env={**os.environ, "RAG_MCP_LONG": "1"}, check=False).returncode:
            return 1
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    for fault in chosen:
        planted(fault)
    missed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(lambda pair: hunt(*pair), [(fault, tests) for fault in chosen for tests in fault.tests]):
            missed += found.by is None
            print(line(found), flush=True)
    print(f"{len(chosen)} faults, {missed} missed" if missed else f"{len(chosen)} faults, all caught")
    return 1 if missed or not chosen else 0


def line(found: Found) -> str:
    """One line of the table."""
    tests = Path(found.tests).stem.removeprefix("test_")
    return f"{'caught' if found.by else 'MISSED'}  {found.fault.name:<66}{tests:<15}{found.by or ''}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
