"""What a process costs: wall seconds, processor seconds of it and its own children, and its peak memory.

Everything is measured from outside, as a whole process, by the kernel's accounts at its end. So the process that
measures stays small: a child begins with its parent's peak memory in its account.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
LIBRARY = (PYTHON, "-m", "rag_mcp")


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes of resident memory at the peak."""

    wall: float
    cpu: float
    peak: int


def run(command: Sequence[str], *, quiet: bool = True) -> tuple[Cost, str]:
    """Run a command in the project's root; what it cost and what it printed. Raises when it fails."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAG_MCP_")}
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
    ) as process:
        said, errors = process.communicate() if not quiet else _both(process)
        _, status, usage = _reaped(process)
        wall = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{' '.join(command)} failed ({status}):\n{errors or ''}{said}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)), said
