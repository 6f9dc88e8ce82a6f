"""A document is taken from the very place where it was indexed, or not at all: links, swaps, races, strange files."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from returns.result import Failure, Success

from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.indexed_files import take
from rag_mcp.pure.values import Absence, Taken

SECRET = b"the combination of the safe is 4711\n"
TEXT = b"# Pumps\n\nEvery pump has a valve.\n"
LARGEST = 1_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """root/ops/deep/pumps.md, and a secret of the same name in a tree beside it."""
    for top, data in (("root", TEXT), ("outside", SECRET)):
        folder = tmp_path.resolve() / top / "ops" / "deep"
        folder.mkdir(parents=True)
        (folder / "pumps.md").write_bytes(data)
    return tmp_path.resolve() / "root"


def why_not(root: Path, path: str = "ops/deep/pumps.md") -> Absence:
    got = take(str(root), path, LARGEST)
    assert isinstance(got, Failure), got
    return got.failure().absence


def test_what_stands_where_it_stood_is_taken(root: Path) -> None:
    assert take(str(root), "ops/deep/pumps.md", LARGEST) == Success(Taken(TEXT, 1))
    assert CorpusFolder(str(root)).take("ops/deep/pumps.md") == Success(Taken(TEXT, 1))


def test_a_second_name_of_a_file_is_told(root: Path) -> None:
    (root / "ops" / "deep" / "pumps.md").unlink()
    os.link(root.parent / "outside" / "ops" / "deep" / "pumps.md", root / "ops" / "deep" / "pumps.md")
    assert take(str(root), "ops/deep/pumps.md", LARGEST).unwrap().names == 2


def swapped(place: Path, target: Path) -> None:
    place.rename(place.with_name(place.name + ".was"))
    place.symlink_to(target)


@pytest.mark.parametrize("depth", range(4), ids=["the root", "a folder", "the folder", "the file"])
@pytest.mark.parametrize("kind", ["absolute", "relative", "inside", "dangling", "to itself"])
def test_a_link_in_the_place_of_any_part_of_the_path_is_refused(root: Path, depth: int, kind: str) -> None:
    parts = ("ops", "deep", "pumps.md")[:depth]
    place, outside = root.joinpath(*parts), root.parent.joinpath("outside", *parts)
    target = {
        "absolute": outside,
        "relative": Path(os.path.relpath(outside, place.parent)),
        "inside": place.with_name(place.name + ".was"),
        "dangling": root.parent / "nowhere",
        "to itself": place,
    }[kind]
    swapped(place, target)
    assert why_not(root) is Absence.REPLACED


def test_a_link_above_the_root_is_refused(root: Path) -> None:
    above = root.parent
    swapped(above, above.with_name(above.name + ".was"))
    try:
        assert why_not(root) is Absence.REPLACED
    finally:
        above.unlink()
        above.with_name(above.name + ".was").rename(above)


def fifo(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()


def process(place: Path) -> None:
    place.symlink_to("/proc/self/environ")


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("other", [fifo, folder, process, device])
def test_what_is_no_file_is_not_opened_and_nothing_waits_for_it(root: Path, other: Callable[[Path], None]) -> None:
    place = root / "ops" / "deep" / "pumps.md"
    place.unlink()
    other(place)
    assert why_not(root) is Absence.REPLACED


def test_a_device_is_not_opened(root: Path) -> None:
    place = root / "ops" / "deep" / "pumps.md"
    place.unlink()
    try:
        os.mknod(place, 0o20644, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert why_not(root) is Absence.REPLACED


@pytest.mark.parametrize("gone", ["ops/deep/pumps.md", "ops/deep", "."])
def test_what_is_not_there_is_gone(root: Path, gone: str) -> None:
    (root / gone).rename(root.parent / "moved")
    assert why_not(root) is Absence.GONE


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/etc/passwd", "../outside/ops/deep/pumps.md", "ops/../../outside/ops/deep/pumps.md", "./ops",
        "ops//deep", "ops/deep/pumps.md/", "..", "C:/x.md", "C:\\x.md", "\\\\host\\share\\x.md", "a\0b.md",
        "ops/deep/pumps.md\0",
        "x" * 5000, "/".join("x" * 3000), "%2e%2e/outside/ops/deep/pumps.md", "ops%2fdeep%2fpumps.md", "\udc80.md",
    ],
)  # fmt: skip
def test_no_form_of_a_path_leads_anywhere_else(root: Path, path: str) -> None:
    assert why_not(root, path) is Absence.GONE


def test_what_may_not_be_read_is_said_to_be_there(root: Path) -> None:
    got = take(str(root), "ops/deep/pumps.md", len(TEXT) - 1)
    assert got.failure().absence is Absence.REFUSED
    assert str(root) not in got.failure().why


RACER = """
import os, sys, time
place, keep, link = sys.argv[1:4]
print("begun", flush=True)
end = time.monotonic() + 30
while time.monotonic() < end:
    os.rename(place, keep); os.symlink(link, place); os.unlink(place); os.rename(keep, place)
    os.rename(place, keep); os.rename(link + ".swap", place); os.rename(place, link + ".swap"); os.rename(keep, place)
"""


@pytest.mark.parametrize("depth", [1, 2, 3], ids=["a folder", "the folder", "the file"])
def test_a_process_that_swaps_in_a_tight_loop_wins_nothing(root: Path, depth: int) -> None:
    """A link, and a link that was made before and is renamed into place; the secret is never what is read."""
    parts = ("ops", "deep", "pumps.md")[:depth]
    place, outside = root.joinpath(*parts), root.parent.joinpath("outside", *parts)
    Path(f"{outside}.swap").symlink_to(outside)
    racer = subprocess.Popen(
        [sys.executable, "-c", RACER, str(place), f"{place}.keep", str(outside)], stdout=subprocess.PIPE
    )
    try:
        assert racer.stdout is not None and racer.stdout.readline() == b"begun\n"
        seen: set[object] = set()
        until = time.monotonic() + 1
        while time.monotonic() < until or len(seen) < 2:
            got = take(str(root), "ops/deep/pumps.md", LARGEST)
            seen.add(got.unwrap().data if isinstance(got, Success) else got.failure().absence)
            if time.monotonic() > until + 20:
                break
    finally:
        racer.kill()
        racer.wait()
        assert racer.stdout is not None
        racer.stdout.close()
    assert SECRET not in seen
    assert TEXT in seen and Absence.REPLACED in seen


def test_no_descriptor_is_left_open(root: Path) -> None:
    folders = Path("/proc/self/fd")
    if not folders.is_dir():
        pytest.skip("open files are not listed here")
    before = len(list(folders.iterdir()))
    swapped(root / "ops" / "deep", root.parent / "outside" / "ops" / "deep")
    for path in ("ops/deep/pumps.md", "ops", "nothing", "ops/deep.was/pumps.md", "../x"):
        take(str(root), path, LARGEST)
    assert len(list(folders.iterdir())) == before
