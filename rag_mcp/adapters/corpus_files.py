"""A folder of Markdown files on disk: looked at as a whole (`corpus_walk`), read one by one.

Every name is opened relative to its open folder, and links are refused on the way, so what is read is what was
listed, also while somebody moves things about.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from returns.result import Failure, Result, Success

from rag_mcp.adapters.indexed_files import take
from rag_mcp.adapters.regular_files import FOLDER, clause, held_below
from rag_mcp.pure.paths import inside, is_plain, relative
from rag_mcp.pure.values import Gap, Listing, NotTaken, Taken, Unreadable

LARGEST = 64 * 1024 * 1024
"""Bytes. A note is text for people; beyond this it is something else under a note's name."""
DEEPEST = 200
"""Folders. One is held open for each level, and a process may open but a few hundred files."""

_ROOT_CLAUSES = {errno.ENOENT: "there is no such folder", errno.ENOTDIR: "it is not a folder"}


class CorpusFolder:
    """Implements `ports.Corpus` for the folder `root`.

    `excludes` are the patterns of --exclude, `skip` absolute paths of folders to leave out (the store);
    files of more than `largest` bytes are not read, folders more than `deepest` levels down not entered.
    """

    def __init__(
        self,
        root: str,
        excludes: tuple[str, ...] = (),
        *,
        skip: tuple[str, ...] = (),
        largest: int = LARGEST,
        deepest: int = DEEPEST,
    ) -> None:
        self._root = os.path.realpath(root)
        self._excludes = excludes
        self._skip = skip
        self._largest = largest
        self._deepest = deepest

    @property
    def root(self) -> str:
        """Absolute path of the folder, links resolved."""
        return self._root

    def look(self) -> Listing:
        """Walk, read and hash. What is amiss is in the listing; a root that cannot be looked at is a gap at ""."""
        from rag_mcp.adapters.corpus_walk import Walk
        from rag_mcp.pure.ignore import Rules

        match Rules.of(self._excludes):
            case Success(rules):
                pass
            case Failure(why):
                return Listing(self._root, gaps=(Gap("", why),))
        try:
            folder = os.open(self._root, FOLDER)
        except OSError as error:
            return Listing(self._root, gaps=(Gap("", clause(error, _ROOT_CLAUSES)),))
        walk = Walk(self._root, frozenset(self._stores()), self._largest, self._deepest)
        walk.run(folder, rules)
        return walk.listing()

    def read(self, path: str) -> Result[bytes, Unreadable]:
        """The bytes of one file: a regular file below the root, no link and no ".." on the way to it."""
        if not is_plain(path):
            return Failure(Unreadable(path, "not a path inside the corpus"))
        found = held_below(self._root, path.split("/"), self._largest)
        return found.map(lambda it: it.data).alt(lambda it: Unreadable(path, it.why, it.lack))

    def take(self, path: str) -> Result[Taken, NotTaken]:
        """One file as `read`, but by a path without a link from the top of the file system on."""
        return take(self._root, path, self._largest)

    def escapes(self, path: str) -> bool:
        """True when the path is not inside the root: by its form, or through a link on the way."""
        if not inside(path):
            return True
        try:
            return relative(os.path.realpath(Path(self._root, path)), self._root) is None
        except (OSError, ValueError):
            return True

    def _stores(self) -> Iterator[str]:
        for place in self._skip:
            if below := relative(os.path.realpath(place), self._root):
                yield below
