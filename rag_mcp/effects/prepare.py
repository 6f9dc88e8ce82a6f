"""Reads files and lets the core cut them. A file that changed since the look is taken as it is now."""

import hashlib
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen
from returns.result import Failure, Success

from rag_mcp.effects.ports import Corpus, Progress
from rag_mcp.effects.shelf import Shelf
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Document, Excluded, Measure, Prepared, Unreadable


def left_out(corpus: Corpus, paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths whose files ask to be left out of the index."""
    from rag_mcp.pure.documents import left_out

    read = ((path, corpus.read(path).value_or(None)) for path in paths)
    return frozenset(path for path, data in read if data is not None and left_out(path, data))


@frozen(repr=False)
class Reading(Shown):
    """What was read, by path: documents, and why others are none; and the SHA-256 of all bytes that were read."""

    documents: Shelf = field(factory=Shelf)
    others: dict[str, Unreadable | Excluded] = field(factory=dict)
    digests: dict[str, str] = field(factory=dict)

    @property
    def prepared(self) -> Mapping[str, Prepared]:
        """What became of every path."""
        return ChainMap[str, Any](self.others, self.documents)


def prepare(corpus: Corpus, paths: Sequence[str], run: RunIdentity, measure: Measure, progress: Progress) -> Reading:
    """Each path read and cut, or why it is not."""
    made = Reading()
    if not paths:  # parsers are loaded only when there is something to parse
        return made
    from rag_mcp.pure.documents import read_document

    with progress.task("reading", len(paths)) as advance:
        for path in paths:
            match corpus.read(path):
                case Success(data):
                    made.digests[path] = hashlib.sha256(data).hexdigest()
                    read = read_document(path, data, made.digests[path], run, measure)
                case Failure(unreadable):
                    read = unreadable
            if isinstance(read, Document):
                made.documents[path] = read
            else:
                made.others[path] = read
            advance(1)
    return made
