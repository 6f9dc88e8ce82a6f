"""Plants one fault in a copy of the package and runs the tests that must notice it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen
from properties.mutants.planted import Fault

ROOT = Path(__file__).resolve().parents[3]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")


@frozen
class Found:
    """Which test noticed a fault in one file of tests, or None."""

    fault: Fault
    tests: str
    by: str | None


def planted(fault: Fault, root: Path = ROOT) -> str:
    """The text of the file with the fault in it. Raises ValueError unless the old text stands there just once."""
    text = (root / "rag_mcp" / fault.file).read_text(encoding="utf-8")
    if (times := text.count(fault.old)) != 1:
        raise ValueError(f"{fault.name}: the text to replace stands {times} times in {fault.file}")
    return text.replace(fault.old, fault.new)


def hunt(fault: Fault, tests: str, more: Sequence[str] = ()) -> Found:
    """Run one file of tests against the package with the fault in it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        copy = Path(name)
        shutil.copytree(ROOT / "rag_mcp", copy / "rag_mcp", ignore=LEFT_OUT)
        shutil.copytree(ROOT / "tests", copy / "tests", ignore=LEFT_OUT)
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / "rag_mcp" / fault.file).write_text(planted(fault), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", tests, "-x", "-q", "-p", "no:cacheprovider", *more]
        environ = {**os.environ, "RAG_MCP_PROFILE": "hunt", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{fault.name}: the tests could not be run\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Found(fault, tests, failed[0].split("::")[-1].split(" - ")[0] if failed else None)
