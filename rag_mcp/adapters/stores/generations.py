"""The tree of generations: names, leases, copies, and the sweeping of what is no longer needed.

    gen-000124/            finished; never written again, save for a row that each opener leaves in its database
    gen-000124.lease       an empty file: readers lock it shared, whoever removes the generation exclusively
    gen-000125.9f3a.tmp/   unfinished, or doomed; nobody opens it

The locks are the operating system's and die with their holders. Only the holder of the writer's lock calls
what changes the tree.
"""

import fcntl
import os
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from rag_mcp.adapters.stores.generation_files import HNSW_FILES, Facts, connect, file_sizes

NAME = re.compile(r"gen-(\d{6,18})")
LEASE, UNFINISHED = ".lease", ".tmp"

_ANY_NAME = re.compile(NAME.pattern + r"(\.[0-9a-f]+\.tmp|\.lease)?")
_FICLONE = 0x40049409  # ioctl: share the blocks of a file instead of copying them (Btrfs, XFS)
_COPY_WAIT = 30.0  # seconds to wait for somebody who is just opening the base


def name_of(number: int) -> str:
    """The folder's name of a generation."""
    return f"gen-{number:06d}"


def next_number(tree: Path) -> int:
    """One more than the greatest number any name in the tree carries."""
    found = (_ANY_NAME.fullmatch(name) for name in _names(tree))
    return 1 + max((int(match[1]) for match in found if match), default=0)


def draft_of(folder: Path) -> Path:
    """A new name for a generation that is being made or unmade."""
    return folder.with_name(f"{folder.name}.{os.urandom(4).hex()}{UNFINISHED}")


def make_lease(folder: Path) -> None:
    """Make the lease of a generation that is to be; raises OSError."""
    os.close(os.open(_lease_of(folder), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))


def hold(folder: Path, how: int) -> int:
    """Lock a generation's lease (fcntl.LOCK_*): a descriptor to be closed; raises OSError.

    A copy made by hand may lack the file. The folder itself then serves as lease, for readers and sweeper alike.
    """
    try:
        lease = os.open(_lease_of(folder), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        lease = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lease, how)
    except BaseException:
        os.close(lease)
        raise
    return lease


def clone(source: Path, facts: Facts, target: Path) -> None:
    """Copy a generation that has passed preflight to a folder that is not there yet; raises OSError, sqlite3.Error.

    The database is copied by SQLite, since readers may be leaving a row in it. Never a hard link: the copy will be
    written in place.
    """
    target.mkdir()
    with connect(source, _COPY_WAIT) as old, closing(sqlite3.connect(target / "chroma.sqlite3")) as new:
        old.backup(new)
    (target / facts.vectors_segment).mkdir()
    for name in HNSW_FILES:
        _copy(source / facts.vectors_segment / name, target / facts.vectors_segment / name)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("xb") as new, suppress(OSError):
        fcntl.ioctl(new, _FICLONE, old.fileno())
        return
    import shutil

    shutil.copyfile(source, target)  # by the system, where it can, without a word to the interpreter


def bytes_of(folder: Path, facts: Facts) -> int:
    """Bytes that a clone will take; raises OSError."""
    return sum(file_sizes(folder, facts).values()) + (folder / "chroma.sqlite3").stat().st_size


def sync_tree(folder: Path) -> None:
    """Bring a folder and all that is in it to the disk; raises OSError."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place, name), os.O_RDWR)
        sync(Path(place))


def sync(path: Path, flags: int = os.O_RDONLY) -> None:
    """Bring one file, or the names in one folder, to the disk; raises OSError."""
    file = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def remove(folder: Path) -> None:
    """Remove a generation that nobody holds, and what is left of its lease; what cannot go stays for later.

    It loses its name first, so that nobody ever sees half of it under that name.
    """
    doomed = draft_of(folder)
    with suppress(OSError):
        folder.rename(doomed)
        discard(doomed)
    if not folder.exists():
        with suppress(OSError):
            _lease_of(folder).unlink(missing_ok=True)


def discard(draft: Path) -> None:
    """Remove an unfinished folder; what cannot go stays for later."""
    import shutil

    shutil.rmtree(draft, ignore_errors=True)


def collect(tree: Path, keep: frozenset[str]) -> None:
    """Remove unfinished folders, generations not to be kept that nobody holds, and leases of nothing."""
    for name in _names(tree):
        path, match = tree / name, _ANY_NAME.fullmatch(name)
        if match is None or name in keep:
            continue
        if match[2] is None:
            _remove_if_free(path)
        elif name.endswith(UNFINISHED):
            discard(path)
        elif not path.with_suffix("").exists():
            with suppress(OSError):
                path.unlink(missing_ok=True)


def strays(tree: Path, keep: str | None) -> tuple[str, ...]:
    """Names of folders in the tree besides `keep` that a sweep would look at: unfinished, or no longer current."""
    named = (name for name in _names(tree) if (match := _ANY_NAME.fullmatch(name)) and match[2] != LEASE)
    return tuple(name for name in named if name != keep)


def _remove_if_free(folder: Path) -> None:
    try:
        lease = hold(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody reads it, or it is not ours to remove
        return
    try:
        remove(folder)
    finally:
        os.close(lease)


def _lease_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LEASE)


def _names(tree: Path) -> list[str]:
    try:
        return sorted(path.name for path in tree.iterdir())
    except OSError:
        return []
