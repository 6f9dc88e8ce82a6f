"""One writer for each store: an operating system lock that dies with its holder, and a note that names it.

The lock alone decides. The note (`writer.json`) is only written once there is something to do, so that a run
that finds nothing to do writes nothing; it is removed when the lock is released. `flock` itself, and no library round
it: importing one took a fifth of a run that finds nothing to do.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from returns.result import Failure, Result, Success

if TYPE_CHECKING:  # the lock is mostly free
    from rag_mcp.pure.errors import WriterBusy

LOCK, NOTE = "writer.lock", "writer.json"
NOTE_WAIT = 0.5  # seconds in which a holder that is just starting may still write its note


class WriterLock:
    """The lock of one store folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._announced = False

    def acquire(self) -> "Result[None, WriterBusy]":
        """Take the lock at once, or say who holds it; idempotent. The folder is made if need be."""
        if self._handle is not None:
            return Success(None)
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return Failure(self._busy(holder(self._folder)))
        if not self._still_there(handle):
            os.close(handle)
            return Failure(self._busy("a cutover, which has just put another store in its place"))
        self._handle = handle
        return Success(None)

    def _busy(self, who: str) -> "WriterBusy":
        from rag_mcp.pure.errors import WriterBusy

        return WriterBusy(str(self._folder), who)

    def _still_there(self, handle: int) -> bool:
        """The folder may have been renamed since the lock was opened; then it guards another store."""
        try:
            return os.path.samestat(os.fstat(handle), (self._folder / LOCK).stat())
        except FileNotFoundError:
            return False

    def announce(self) -> None:
        """Write down who holds the lock, once."""
        if self._announced:
            return
        self._announced = True
        import json
        import platform

        now = datetime.now(UTC).isoformat(timespec="seconds")
        note = {"pid": os.getpid(), "host": platform.node(), "since": now}
        with suppress(OSError):
            (self._folder / NOTE).write_text(json.dumps(note), encoding="utf-8")

    def release(self) -> None:
        """Give the lock back; idempotent."""
        if self._handle is not None:
            (self._folder / NOTE).unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None


def noted(folder: Path) -> str | None:
    """Who wrote the note that lies in the folder, as a phrase; None where there is none."""
    import json

    with suppress(OSError, ValueError, TypeError, KeyError):
        if not (folder / NOTE).is_file():  # a pipe would be waited for
            return None
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return f"process {note['pid']} on {note['host']} since {note['since']}"
    return None


def is_held(folder: Path) -> bool:
    """Whether somebody holds the lock, without making it. It is tried for a moment, and given back at once."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def holder(folder: Path) -> str:
    """Who holds the lock, as a phrase."""
    deadline = time.monotonic() + NOTE_WAIT
    while True:
        if (who := noted(folder)) is not None:
            return who
        if time.monotonic() > deadline:
            return "another process, which has not said yet who it is"
        time.sleep(0.05)


@contextmanager
def held(lock: WriterLock) -> Iterator[None]:
    """Release the lock when the block ends, however it ends."""
    try:
        yield
    finally:
        lock.release()
