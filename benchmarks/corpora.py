"""Real text, from the archives of the shared data: `RAG_MCP_SHARED`, else the folder `shared` beside the project.

notes    the set a1-small as it is, or a part of it: documentation in English, long and short, with code
many     3,000 files: five sets of notes and documentation in several languages, filled up with short abstracts
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.accounting import PYTHON, ROOT

SHARED = Path(os.environ.get("RAG_MCP_SHARED", ROOT.parent / "shared")).resolve()
SETS = ("a1-small", "a4-nonenglish", "a5-dated", "a7-obsidian", "a8-handoff")
FILLING = "quality/scifact/corpus"
JUDGED = ("scifact", "chroma", "claude-docs", "qmd")
MARKDOWN = (".md", ".markdown")


def unpacked(folder: Path) -> Path:
    """The data, unpacked into `folder`. Raises FileNotFoundError where there are none."""
    program = SHARED / "data" / "unpack.py"
    if not program.is_file():
        raise FileNotFoundError(f"{program}: the shared test data is not here; name its folder in RAG_MCP_SHARED")
    subprocess.run([PYTHON, str(program), str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def notes(data: Path, target: Path, *, every: int = 1) -> Path:
    """Every `every`-th file of a1-small, by path, at its own place below `target`."""
    return _copied(data / SETS[0], sorted(_markdown(data / SETS[0]))[::every], target)


def many(data: Path, target: Path, number: int) -> Path:
    """`number` files below `target`, a folder for each set."""
    left = number
    for name in (*SETS, FILLING):
        files = sorted(_markdown(data / name))[:left]
        _copied(data / name, files, target / name)
        left -= len(files)
    if left:
        raise ValueError(f"the data hold {left} files less than {number}")
    return target


def words(data: Path) -> Iterator[str]:
    """The words of all sets, over and over, each time begun at another place; none that is very long."""
    files = [path for name in (*SETS, FILLING) for path in sorted(_markdown(data / name))]
    texts = (path.read_text("utf-8", "replace") for path in files)
    every = [word for text in texts for word in text.split() if len(word) < 30 and word.strip("-=|#`~:")]
    for turn in count():
        start = turn * 7_919 % len(every)
        yield from every[start:]
        yield from every[:start]


def questions(data: Path) -> list[str]:
    """The questions of the judged sets."""
    lines = [line for name in JUDGED for line in (data / "quality" / name / "queries.jsonl").open(encoding="utf-8")]
    return [json.loads(line)["text"] for line in lines]


def _markdown(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix.lower() in MARKDOWN and path.is_file()]


def _copied(source: Path, files: list[Path], target: Path) -> Path:
    for path in files:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return target
