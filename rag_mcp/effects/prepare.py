"""Reads files and lets the core cut them. A file that changed since the look is taken as it is now."""

import hashlib
from collections.abc import Iterable, Sequence

from returns.result import Failure, Success

from rag_mcp.effects.ports import Corpus, Progress
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.values import Measure, Prepared


def left_out(corpus: Corpus, paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths whose files ask to be left out of the index."""
    from rag_mcp.pure.documents import left_out

    read = ((path, corpus.read(path).value_or(None)) for path in paths)
    return frozenset(path for path, data in read if data is not None and left_out(path, data))


def prepare(
    corpus: Corpus, paths: Sequence[str], run: RunIdentity, measure: Measure, progress: Progress
) -> tuple[dict[str, Prepared], dict[str, str]]:
    """Each path as a Document, or why it is none; and the SHA-256 of the bytes that were read of it, if they were."""
    if not paths:  # parsers are loaded only when there is something to parse
        return {}, {}
    from rag_mcp.pure.documents import read_document

    prepared: dict[str, Prepared] = {}
    digests: dict[str, str] = {}
    with progress.task("reading", len(paths)) as advance:
        for path in paths:
            match corpus.read(path):
                case Success(data):
                    digests[path] = hashlib.sha256(data).hexdigest()
                    prepared[path] = read_document(path, data, digests[path], run, measure)
                case Failure(unreadable):
                    prepared[path] = unreadable
            advance(1)
    return prepared, digests
