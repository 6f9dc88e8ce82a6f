"""Opening a document at the very place where it was indexed, however the tree is moved about meanwhile.

Each name of the absolute path, from the top of the file system on, is opened in the open folder before it, and none
may be a link. So the place is what it was when its path was resolved, and the bytes come from what was opened there.
"""

import errno
import os
import stat
from pathlib import Path

from returns.result import Failure, Result

from rag_mcp.adapters.regular_files import clause, held
from rag_mcp.pure.paths import inside
from rag_mcp.pure.values import Absence, NotTaken, Taken

_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
"""Flags that open a folder only to pass through it, which needs no leave to list it where the system knows O_PATH."""

_SOMETHING_ELSE = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}
_NAMES_NOTHING = {errno.ENOENT, errno.ENAMETOOLONG}


def take(root: str, path: str, largest: int) -> Result[Taken, NotTaken]:
    """The file at `path` below `root`, an absolute path without links, or what stands in the way."""
    names = path.split("/")
    if not inside(path) or not {"", ".", ".."}.isdisjoint(names):
        return Failure(NotTaken(Absence.GONE, "not a path inside the corpus"))
    try:
        folder = _folder([*Path(root).parts[1:], *names[:-1]])
    except (OSError, ValueError) as error:
        return Failure(_why(error))
    try:
        if not stat.S_ISREG(os.stat(names[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            return Failure(NotTaken(Absence.REPLACED, "not a regular file"))
        return held(folder, names[-1], largest).alt(lambda it: NotTaken(_absence(it.code), it.why))
    except (OSError, ValueError) as error:
        return Failure(_why(error))
    finally:
        os.close(folder)


def _folder(names: list[str]) -> int:
    """The open folder that these names lead to, from the top."""
    folder = os.open(os.sep, _PASSING)
    for name in names:
        try:
            below = os.open(name, _PASSING, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _why(error: OSError | ValueError) -> NotTaken:
    code = (error.errno or 0) if isinstance(error, OSError) else errno.ENOENT
    return NotTaken(_absence(code), clause(error))


def _absence(code: int) -> Absence:
    if code in _SOMETHING_ELSE:
        return Absence.REPLACED
    return Absence.GONE if code in _NAMES_NOTHING else Absence.REFUSED
