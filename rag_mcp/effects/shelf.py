"""Where documents wait, read and cut, until they are written: in memory while they are few, in a temporary file beyond.

The file has no name, so nothing of it is left behind, whatever becomes of the process.
"""

import zlib
from collections.abc import Iterator, MutableMapping
from errno import EIO
from typing import IO

from rag_mcp.pure.values import Document

NEAR = 16_000_000
"""Characters of text that are kept in memory; with all that is told of them they take some five times as much."""
QUICK = 1  # of zlib's levels


class Shelf(MutableMapping[str, Document]):
    """Documents by path. One for which the disk has no room is kept in memory."""

    def __init__(self) -> None:
        self._room = NEAR
        self._kept: dict[str, Document | tuple[int, int]] = {}
        self._file: IO[bytes] | None = None

    def __setitem__(self, path: str, document: Document) -> None:
        """Keep a document; one that was kept under this path is forgotten."""
        self._room -= sum(len(chunk.text) for chunk in document.chunks)
        self._kept[path] = document if self._room >= 0 else self._put_away(document)

    def __getitem__(self, path: str) -> Document:
        """The document, read from the file each time it is asked for if it was put there."""
        kept = self._kept[path]
        if isinstance(kept, Document):
            return kept
        import pickle

        assert self._file is not None
        at, size = kept
        self._file.seek(at)
        try:
            data = zlib.decompress(self._file.read(size))
        except zlib.error as error:
            raise OSError(EIO, "a temporary file does not hold what was written into it") from error
        document: Document = pickle.loads(data)  # noqa: S301 -- its own, and nameless
        return document

    def __delitem__(self, path: str) -> None:
        """Forget a document; its place in the file is not used again."""
        del self._kept[path]

    def __contains__(self, path: object) -> bool:
        """Whether there is one, told without reading it."""
        return path in self._kept

    def __iter__(self) -> Iterator[str]:
        """The paths, in the order in which they came."""
        return iter(self._kept)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._kept)

    def _put_away(self, document: Document) -> Document | tuple[int, int]:
        import pickle
        from tempfile import TemporaryFile
        from weakref import finalize

        data = zlib.compress(pickle.dumps(document, pickle.HIGHEST_PROTOCOL), QUICK)
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 -- it lives as long as the shelf
                finalize(self, self._file.close)
            at = self._file.seek(0, 2)
            whole = self._file.write(data) == len(data)
        except OSError:
            return document
        return (at, len(data)) if whole else document
