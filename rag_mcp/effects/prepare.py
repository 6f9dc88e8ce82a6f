"""Reads files and lets the core cut them. A file that changed since the look is taken as it is now."""

import hashlib
from collections.abc import Sequence

from returns.result import Failure, Success

from rag_mcp.effects.ports import Corpus, Progress
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.values import Measure, Prepared


def prepare(
    corpus: Corpus, paths: Sequence[str], run: RunIdentity, measure: Measure, progress: Progress
) -> dict[str, Prepared]:
    """Each path as a Document, or why it could not be one."""
    if not paths:  # parsers are loaded only when there is something to parse
        return {}
    from rag_mcp.pure.documents import read_document

    prepared: dict[str, Prepared] = {}
    with progress.task("reading", len(paths)) as advance:
        for path in paths:
            match corpus.read(path):
                case Success(data):
                    digest = hashlib.sha256(data).hexdigest()
                    prepared[path] = read_document(path, data, digest, run, measure)
                case Failure(unreadable):
                    prepared[path] = unreadable
            advance(1)
    return prepared
