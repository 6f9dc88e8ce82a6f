"""What the program runs on: Python, packages, SQLite, room on the disks. Looked at, never written to."""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from rag_mcp.adapters.record.features import features
from rag_mcp.adapters.settings import VARIABLES
from rag_mcp.pure.health import Package, Room, Runtime

NAME = "rag-mcp"
HEAVIEST = ("chromadb", "mcp", "numpy", "onnxruntime", "tokenizers")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^]]*\])?\s*([^;]*)(;.*)?")


def runtime(environ: Mapping[str, str]) -> Runtime:
    """Versions that are there against those that the installed package asks for."""
    try:
        wanted, packages = str(metadata(NAME).json.get("requires_python", "")), _packages(requires(NAME) or [])
    except PackageNotFoundError:  # run from its sources
        wanted, packages = "", _packages(list(HEAVIEST))
    sqlite, fts5 = features()
    strange = sorted(name for name in environ if name.startswith("RAG_MCP_") and name not in VARIABLES)
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return Runtime(platform.python_version(), wanted, system, packages, sqlite, fts5, tuple(strange))


def _packages(requirements: list[str]) -> tuple[Package, ...]:
    """What is needed always; requirements of extras carry a marker."""
    found = (_REQUIREMENT.fullmatch(line) for line in requirements)
    named = [(match[1], match[2].strip()) for match in found if match and not match[3]]
    return tuple(Package(name, wanted, _installed(name)) for name, wanted in named)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def rooms(store: Path | None) -> tuple[Room, ...]:
    """The folders that are written to: that of temporary files, and the store's, or the next above it that is there."""
    temporary = _room("temporary folder", Path(_temporary()))
    return (temporary,) if store is None else (temporary, _room("disk of the store", _nearest(store)))


def size(folder: Path) -> int:
    """Bytes of all files in a folder, as far as they can be seen."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _temporary() -> str:
    try:
        return tempfile.gettempdir()  # writes a file of its own and removes it
    except FileNotFoundError:
        return os.environ.get("TMPDIR") or os.sep + "tmp"


def _nearest(folder: Path) -> Path:
    above = (place for place in (folder, *folder.parents) if os.path.exists(place))  # noqa: PTH110, it never raises
    return next(above, Path(folder.anchor))


def _room(name: str, place: Path) -> Room:
    try:
        free = shutil.disk_usage(place).free
    except OSError:
        free = None
    refused = None if os.access(place, os.W_OK | os.X_OK) else "Permission denied, or a disk mounted read-only"
    return Room(name, str(place), free, refused)
