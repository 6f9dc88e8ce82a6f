"""Copies of generations for one reader, outside every store: removed when it closes, swept when it was killed.

    TMPDIR/rag-mcp-XXXXXXXX/          a folder of this process alone
                           owner      held locked as long as the process lives
                           gen-000124/

Whoever makes a folder first removes those of its own user whose owner is gone. A copy shares blocks with the
original where the file system can, and is never a hard link: Chroma writes into what it opens.
"""

import fcntl
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from rag_mcp.adapters.stores import generation_files, generations
from rag_mcp.adapters.stores.chroma_client import ChromaFault, faults

PREFIX = "rag-mcp-"
OWNER = "owner"


class PrivateCopies:
    """The copies of one reader; nothing is made before the first."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = place
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
            sweep(place)
            while self._owner is None:
                self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
                self._owner = _owned(self._folder)
        assert self._folder is not None
        return self._folder


def sweep(place: Path) -> None:
    """Remove the folders of this user whose owner is gone."""
    for folder in place.glob(PREFIX + "*"):
        with suppress(OSError):
            seen = folder.lstat()
            if seen.st_uid == os.getuid() and folder.is_dir() and not folder.is_symlink():
                owner = _owned(folder)
                if owner is not None:
                    generations.discard(folder)
                    os.close(owner)


def _owned(folder: Path) -> int | None:
    """The owner's lock as a descriptor; None when another holds it or has just swept the folder away."""
    try:
        owner = os.open(folder / OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / OWNER).stat()
    except OSError:
        os.close(owner)
        return None
    return owner
