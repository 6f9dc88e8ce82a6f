"""What a process costs: wall seconds, processor seconds of it and of its children, and its peak memory.

All is taken from outside, from the kernel's accounts when the process ends. The process that measures must stay
small itself: a child's account of peak memory begins with its parent's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
LIBRARY = (PYTHON, "-m", "rag_mcp")
SETTINGS = ("RAG_MCP_", "PYTHONDONTWRITEBYTECODE")
"""Variables that a child does not see: what is measured is the default, with byte code compiled as pip leaves it."""
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes of resident memory at the peak."""

    wall: float
    cpu: float
    peak: int


def run(*command: str) -> tuple[Cost, str]:
    """Run a command in the project's root: what it cost and what it printed. Raises RuntimeError when it fails."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as wrong:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=said, stderr=wrong)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (said, wrong):
            file.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{wrong.read()[-2000:]}")
        return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_UNIT), said.read()


def answer(*command: str) -> tuple[Cost, Any]:
    """The same, for a command that prints JSON."""
    cost, said = run(*command)
    return cost, json.loads(said)


def interleaved(rounds: int, commands: Mapping[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """The median cost of each, run in turn `rounds` times after one round that only warms the caches."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            cost = command()
            if turn:
                costs[name].append(cost)
    return {name: middle(several) for name, several in costs.items()}


def middle(costs: Sequence[Cost]) -> Cost:
    """Medians, each taken by itself; of memory the greatest."""
    return Cost(median(c.wall for c in costs), median(c.cpu for c in costs), max(c.peak for c in costs))
