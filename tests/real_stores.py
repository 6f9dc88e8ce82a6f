"""Watches the stores that this machine's settings name while the tests run: not one of them may be touched.

before and after      names, sizes and times of all files in RAG_MCP_DB_PATH and in the user's data directory
a writer at work      the store is not compared, and that is said loudly: nobody could tell whose changes they are
"""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

Print = Mapping[str, tuple[int, int]]
"""File below the folder -> size in bytes, time of the last change in nanoseconds."""


def configured(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders in which this machine's real stores are, if there are any."""
    from platformdirs import user_data_path

    named = environ.get("RAG_MCP_DB_PATH")
    places = [*([Path(named).expanduser().absolute()] if named else []), user_data_path("rag-mcp", appauthor=False)]
    return tuple(dict.fromkeys(places))


def fingerprint(folder: Path) -> Print:
    """What is in a folder; nothing where there is none."""
    found: dict[str, tuple[int, int]] = {}
    for place, folders, files in os.walk(folder):
        for name in (*files, *folders):
            try:
                seen = Path(place, name).lstat()
            except FileNotFoundError:
                continue
            is_file = name in files
            found[str(Path(place, name).relative_to(folder))] = (seen.st_size * is_file, seen.st_mtime_ns * is_file)
    return found


def written_now(folder: Path) -> bool:
    """True when a process holds the writer's lock of a store in the folder."""
    for path in folder.rglob("writer.lock"):
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


class RealStores:
    """A plugin of pytest; with xdist the process that hands out the tests watches, once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.folders = configured(environ)
        self.before: dict[Path, Print] = {}
        self.touched: dict[Path, list[str]] = {}
        self.skipped: set[Path] = set()

    def pytest_sessionstart(self) -> None:
        for folder in self.folders:
            if written_now(folder):
                self.skipped.add(folder)
            else:
                self.before[folder] = fingerprint(folder)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        for folder, before in self.before.items():
            if written_now(folder):
                self.skipped.add(folder)
                continue
            after = fingerprint(folder)
            changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            if changed:
                self.touched[folder] = changed
        if self.touched:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for folder in sorted(self.skipped):
            terminalreporter.section("A REAL STORE WAS NOT WATCHED", yellow=True, bold=True)
            terminalreporter.line(f"{folder}: another process is writing to it, so nothing can be told of it")
        for folder, names in self.touched.items():
            terminalreporter.section("A REAL STORE WAS TOUCHED", red=True, bold=True)
            terminalreporter.line(f"{folder}: {', '.join(names[:5])}{' and more' * (len(names) > 5)}")
            terminalreporter.line("by a test, or by another program that has ended since: run again to tell which")
