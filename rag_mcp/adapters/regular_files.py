"""Reading a regular file by its name in an open folder: no link is followed, nothing blocks, no mixture is read.

    open without following or waiting    then the open file, not its name, is asked what it is
    size and time before and after       agree with the bytes; if not, it is read once more, and then given up

A name can come to mean something else between any two calls; an open file cannot.
"""

import errno
import os
import stat
from collections.abc import Mapping, Sequence

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Lack, Taken

FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
"""Flags that open a folder, and nothing else, for listing and for opening what is in it."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REPLACED = "replaced by something else while it was being read"
_CLAUSES = {
    errno.ENOENT: "vanished while it was being read",
    errno.ELOOP: _REPLACED,
    errno.ENOTDIR: _REPLACED,
    errno.ENXIO: "not a regular file",
}


@frozen(repr=False)
class NotHad(Shown):
    """Why the bytes of a file could not be had, as a clause; what it lacks thereby; the system's error, 0 for none."""

    why: str
    lack: Lack = Lack.UNREADABLE
    code: int = 0


def held_below(top: str, names: Sequence[str], largest: int, passing: int = FOLDER) -> Result[Taken, NotHad]:
    """The file that these names lead to from the folder `top`, each opened in the open folder before it, none a link.

    `passing` are the flags that open a folder on the way.
    """
    try:
        folder = _folder(top, names[:-1], passing)
        try:
            # Opening a pipe or a device may be felt at its other end; so its kind is asked for first.
            if not stat.S_ISREG(os.stat(names[-1], dir_fd=folder, follow_symlinks=False).st_mode):
                return Failure(NotHad("not a regular file", code=errno.ENXIO))
            return held(folder, names[-1], largest)
        finally:
            os.close(folder)
    except (OSError, ValueError) as error:
        return Failure(_not_had(error))


def _folder(top: str, names: Sequence[str], passing: int) -> int:
    folder = os.open(top, passing)
    for name in names:
        try:
            below = os.open(name, passing, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def contents(folder: int, name: str, largest: int) -> Result[bytes, NotHad]:
    """The bytes of a regular file in an open folder, at most `largest` of them, or why not."""
    return held(folder, name, largest).map(lambda taken: taken.data)


def held(folder: int, name: str, largest: int) -> Result[Taken, NotHad]:
    """The same, with the number of names by which the file is known."""
    for _ in range(2):
        try:
            file = os.open(name, _FILE, dir_fd=folder)
        except (OSError, ValueError) as error:
            return Failure(_not_had(error))
        try:
            before = os.fstat(file)
            if not stat.S_ISREG(before.st_mode):
                return Failure(NotHad("not a regular file"))
            if before.st_size > largest:
                too_large = f"{before.st_size} bytes, larger than the {largest} that are read of a file"
                return Failure(NotHad(too_large, Lack.TOO_LARGE))
            data = _bytes(file, before.st_size)
            after = os.fstat(file)
        except OSError as error:
            return Failure(_not_had(error))
        finally:
            os.close(file)
        if before.st_size == len(data) == after.st_size and before.st_mtime_ns == after.st_mtime_ns:
            return Success(Taken(data, after.st_nlink))
    return Failure(NotHad("changed while it was being read"))


def _not_had(error: OSError | ValueError) -> NotHad:
    return NotHad(clause(error), code=(error.errno or 0) if isinstance(error, OSError) else errno.ENOENT)


def _bytes(file: int, size: int) -> bytes:
    """Up to `size` + 1 bytes: one more than expected shows that the file grew."""
    data = os.read(file, size + 1)
    while len(data) < size and (more := os.read(file, size + 1 - len(data))):
        data += more
    return data


def clause(error: OSError | ValueError, clauses: Mapping[int, str] = _CLAUSES) -> str:
    """What an error of the system means, in a few words that name neither path nor machine."""
    if not isinstance(error, OSError):
        return "not a name that a file can have"
    code = error.errno or 0
    return clauses.get(code) or os.strerror(code)
