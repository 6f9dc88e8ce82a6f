"""Makes the missing vectors, batch by batch, each checked and durable in the cache before the next begins.

A batch costs what its longest text costs, so texts are sorted by length inside a window that spans files.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Checkpoint, Embedder, EmbedderFault, Progress
from rag_mcp.effects.record import Record
from rag_mcp.pure.errors import EmbedderFailed
from rag_mcp.pure.vectors import check, rid

WINDOW = 512
BATCH = 16


@frozen
class Text:
    """What is to be embedded: its content key, the file it was met in, itself, and its size for sorting."""

    key: str
    path: str
    text: str
    size: int


def embed_texts(
    record: Record, embedder: Embedder, texts: Sequence[Text], checkpoint: Checkpoint, progress: Progress
) -> Result[int, EmbedderFailed]:
    """Embed and cache all texts; their number. On failure what was cached before stays, and is sound."""
    with progress.task("embedding", sum(text.size for text in texts), len(texts)) as advance:
        for batch in batches(texts):
            match _vectors(embedder, batch):
                case Success(vectors):
                    record.cache(embedder.identity, vectors)
                case Failure(failed):
                    return Failure(failed)
            advance(sum(text.size for text in batch))
            checkpoint("cached")
    return Success(len(texts))


def batches(texts: Sequence[Text]) -> Iterator[Sequence[Text]]:
    """Batches of texts of like length, longest first inside each window."""
    for start in range(0, len(texts), WINDOW):
        window = sorted(texts[start : start + WINDOW], key=lambda text: -text.size)
        for first in range(0, len(window), BATCH):
            yield window[first : first + BATCH]


def _vectors(embedder: Embedder, batch: Sequence[Text]) -> Result[list[tuple[str, str, bytes]], EmbedderFailed]:
    identity = embedder.identity
    try:
        vectors = embedder.embed([text.text for text in batch])
    except EmbedderFault as fault:
        return Failure(EmbedderFailed(identity.name, str(fault), named(batch)))
    match check(vectors, len(batch), identity.dim):
        case Failure(why):
            return Failure(EmbedderFailed(identity.name, why, named(batch)))
        case _:
            fingerprint = identity.fingerprint
            pairs = zip(batch, vectors, strict=True)
            return Success([(text.key, rid(fingerprint, vector), vector) for text, vector in pairs])


def named(batch: Sequence[Text]) -> str:
    """The files of a batch, for a sentence."""
    paths = list(dict.fromkeys(text.path for text in batch))
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def texts_of(needed: Mapping[str, tuple[str, str, int]]) -> list[Text]:
    """Texts from key -> (path, text, size)."""
    return [Text(key, path, text, size) for key, (path, text, size) in needed.items()]
