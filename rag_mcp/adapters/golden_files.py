"""Files of golden cases, and the baseline beside each: GOLDEN.toml -> GOLDEN.baseline.json."""

import os
import re
import tomllib
from pathlib import Path
from typing import TypeVar

from returns.result import Failure, Result

from rag_mcp.effects.boundary import Refused
from rag_mcp.pure.errors import BadGolden
from rag_mcp.pure.golden import Case
from rag_mcp.pure.golden_codec import baseline_from_json, baseline_to_json, cases_of_jsonl, cases_of_toml
from rag_mcp.pure.judging import Run

T = TypeVar("T")
HEADER = re.compile(r"[ \t]*\[\[[ \t]*case[ \t]*\]\]")


def load(path: Path) -> tuple[Case, ...]:
    """The cases of a file: JSONL where its name ends so, else TOML. Raises Refused(BadGolden)."""
    text = _text(path, f"there is no such file; make one with: rag-mcp golden init {path}")
    cases = cases_of_jsonl(text) if path.suffix.lower() == ".jsonl" else _toml(text)
    return _value(path, cases)


def _toml(text: str) -> Result[tuple[Case, ...], str]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return Failure(f"it is not TOML: {error}")
    lines = [number for number, line in enumerate(text.split("\n"), start=1) if HEADER.match(line)]
    return cases_of_toml(data, lines)


def baseline_path(path: Path) -> Path:
    """The baseline of a file of cases."""
    return path.with_name(f"{path.stem}.baseline.json")


def read_baseline(path: Path) -> Run:
    """The baseline of the file of cases at `path`. Raises Refused(BadGolden)."""
    place = baseline_path(path)
    missing = f"there is no baseline to compare with; record one with: rag-mcp golden record {path}"
    return _value(place, baseline_from_json(_text(place, missing)))


def write_baseline(path: Path, run: Run) -> Path:
    """Put the run in place of the baseline, whole or not at all; -> where it is. Raises Refused(BadGolden)."""
    place = baseline_path(path)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="ascii", newline="\n") as file:
            file.write(baseline_to_json(run))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Refused(BadGolden(str(place), f"it could not be written ({error.strerror or error})")) from error
    return place


def create(path: Path, text: str) -> None:
    """A new file of cases. Raises Refused(BadGolden) where there is one."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise Refused(BadGolden(str(path), "it is there already, and was left as it is; name another file")) from error
    except OSError as error:
        raise Refused(BadGolden(str(path), f"it could not be written ({error.strerror or error})")) from error


def _text(path: Path, missing: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError as error:
        raise Refused(BadGolden(str(path), missing)) from error
    except UnicodeDecodeError as error:
        raise Refused(BadGolden(str(path), f"it is not UTF-8 text (byte {error.start})")) from error
    except OSError as error:
        raise Refused(BadGolden(str(path), f"it could not be read ({error.strerror or error})")) from error


def _value(path: Path, result: Result[T, str]) -> T:
    if isinstance(result, Failure):
        raise Refused(BadGolden(str(path), result.failure()))
    return result.unwrap()
