"""Opening a document at the very place where it was indexed, however the tree is moved about meanwhile.

Each name of the absolute path, from the top of the file system on, is opened in the open folder before it, and none
may be a link. So the place is what it was when its path was resolved, and the bytes come from what was opened there.
"""

import errno
import os
from pathlib import Path

from returns.result import Failure, Result

from rag_mcp.adapters.regular_files import held_below
from rag_mcp.pure.paths import is_plain
from rag_mcp.pure.values import Absence, NotTaken, Taken

_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
"""Flags that open a folder only to pass through it, which needs no leave to list it where the system knows O_PATH."""

_SOMETHING_ELSE = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}
_NAMES_NOTHING = {errno.ENOENT, errno.ENAMETOOLONG}


def take(root: str, path: str, largest: int) -> Result[Taken, NotTaken]:
    """The file at `path` below `root`, an absolute path without links, or what stands in the way."""
    if not is_plain(path):
        return Failure(NotTaken(Absence.GONE, "not a path inside the corpus"))
    names = [*Path(root).parts[1:], *path.split("/")]
    return held_below(os.sep, names, largest, _PASSING).alt(lambda it: NotTaken(_absence(it.code), it.why))


def _absence(code: int) -> Absence:
    if code in _SOMETHING_ELSE:
        return Absence.REPLACED
    return Absence.GONE if code in _NAMES_NOTHING else Absence.REFUSED
