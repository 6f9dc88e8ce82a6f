"""Copies of generations for one reader, outside every store: removed when it closes, swept when it was killed.

    TMPDIR/rag-mcp-copies-XXXXXXXX/          a folder of this process alone
                                  owner      held locked as long as the process lives
                                  gen-000124.9f3a01c2/

Whoever makes a folder first removes those of its own user whose owner is gone. What has not the name, the lock or
just these contents is somebody else's and stays. A copy shares blocks with the original where the file system can,
and is never a hard link: Chroma writes into what it opens.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rag_mcp.adapters.stores import generation_files, generations
from rag_mcp.adapters.stores.chroma_client import ChromaFault, faults

PREFIX = "rag-mcp-copies-"
OWNER = "owner"


class PrivateCopies:
    """The copies of one reader; nothing is made before the first. With `sweeps`, what the dead left goes then."""

    def __init__(self, place: Path | None = None, *, sweeps: bool = True) -> None:
        self._place = place
        self._sweeps = sweeps
        self._folder: Path | None = None
        self._owner: int | None = None
        self._turn = threading.Lock()

    def copy(self, generation: Path) -> Path:
        """A copy of a generation whose lease is held; raises ChromaFault, where there is no room for one as well."""
        with faults(f"{generation.name} could not be copied"), self._turn:
            facts = generation_files.read_facts(generation)
            folder = self._made()
            need, free = generations.bytes_of(generation, facts), shutil.disk_usage(folder).free
            if need * 1.1 > free:
                raise ChromaFault(f"{generation.name} needs {need} bytes for a private copy, {free} are free")
            target = folder / f"{generation.name}.{os.urandom(4).hex()}"
            try:
                generations.clone(generation, facts, target)
            except BaseException:
                generations.discard(target)
                raise
            return target

    def remove(self, copy: Path) -> None:
        """Remove one copy that nobody reads any more."""
        generations.discard(copy)

    def close(self) -> None:
        """Remove all of it; idempotent."""
        with self._turn:
            if self._folder is not None:
                generations.discard(self._folder)
            if self._owner is not None:
                os.close(self._owner)
            self._folder = self._owner = None

    def _made(self) -> Path:
        if self._folder is None:
            place = self._place or Path(tempfile.gettempdir())
            if self._sweeps:
                sweep(place)
            while self._owner is None:
                self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
                self._owner = _owned(self._folder, os.O_CREAT)
        assert self._folder is not None
        return self._folder


def sweep(place: Path) -> None:
    """Remove the folders of copies of this user whose owner is gone."""
    for folder in left_over(place):
        generations.discard(folder)


def left_over(place: Path) -> Iterator[Path]:
    """The folders of copies of this user whose owner is gone; each is locked until the next one is asked for."""
    for folder in place.glob(PREFIX + "*"):
        with suppress(OSError):
            seen = folder.lstat()
            if seen.st_uid == os.getuid() and stat.S_ISDIR(seen.st_mode) and _of_copies(folder):
                owner = _owned(folder)
                if owner is not None:
                    try:
                        yield folder
                    finally:
                        os.close(owner)


def _of_copies(folder: Path) -> bool:
    """Whether a folder holds an owner's lock, copies of generations, and nothing else."""
    names = {path.name for path in folder.iterdir()} - {OWNER}
    return (folder / OWNER).is_file() and all(generations.NAME.match(name) for name in names)


def _owned(folder: Path, how: int = 0) -> int | None:
    """The owner's lock as a descriptor; None when another holds it, or the folder has none or is just swept away."""
    try:
        owner = os.open(folder / OWNER, how | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / OWNER).stat()
    except OSError:
        os.close(owner)
        return None
    return owner
