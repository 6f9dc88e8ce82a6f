"""A document that the index knows, as it is in the corpus now: read whole or by lines, or held against a passage.

A path that was never indexed, one that leads out, one behind a link and one that is gone get the same refusal.
"""

import hashlib
from functools import cached_property

from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Corpus
from rag_mcp.effects.record import Snapshot
from rag_mcp.pure.blocks import line_of, line_starts
from rag_mcp.pure.citations import Row
from rag_mcp.pure.citing import lines_of
from rag_mcp.pure.decoding import decode
from rag_mcp.pure.errors import SourceUnavailable
from rag_mcp.pure.paths import is_unicode
from rag_mcp.pure.values import Taken


def read_source(
    corpus: Corpus, snapshot: Snapshot, source: str, lines: tuple[int, int] | None = None
) -> Result[str, SourceUnavailable]:
    """The text, or its lines from the first to the last number given (from 1, both included; cut to what is there)."""
    text = text_now(corpus, snapshot, source) if is_known(corpus, snapshot, source) else None
    if text is None:
        return Failure(SourceUnavailable(source))
    return Success(text if lines is None else lines_of(text, *lines))


def text_now(corpus: Corpus, snapshot: Snapshot, source: str) -> str | None:
    """The text of a document that is known; None where it cannot be had.

    Nor is it to be had where a link leads to it, it is but a second name of other bytes, or it asks to be left out now.
    """
    known = snapshot.document(source)
    match corpus.take(source):
        case Success(taken) if known is not None and shown(source, taken, known[0].digest):
            return decode(source, taken.data).value_or(None)
        case _:
            return None


def shown(source: str, taken: Taken, digest: str) -> bool:
    """Whether a file may be shown that was indexed with this digest, as it is now."""
    from rag_mcp.pure.documents import left_out

    if hashlib.sha256(taken.data).hexdigest() == digest:
        return True
    return taken.names == 1 and not left_out(source, taken.data)


def is_known(corpus: Corpus, snapshot: Snapshot, source: str) -> bool:
    """Whether the index has passages of this document, and its path does not lead out of the corpus."""
    if not is_unicode(source):
        return False
    return bool(snapshot.keys_of([source])[source]) and not corpus.escapes(source)


class FileNow:
    """A cited file as it is now; it is hashed, decoded and counted into lines at most once, whatever cites it."""

    def __init__(self, source: str, data: bytes) -> None:
        self._source, self._data = source, data

    def holds(self, row: Row) -> bool:
        """True when the file holds the row's text at the lines it names."""
        if self._digest == row.digest:
            return True
        text = self._text
        if text is None or text[row.start : row.end] != row.text:
            return False
        return line_of(self._lines, row.start) == row.start_line

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._data).hexdigest()

    @cached_property
    def _text(self) -> str | None:
        return decode(self._source, self._data).value_or(None)

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        return line_starts(self._text or "")
