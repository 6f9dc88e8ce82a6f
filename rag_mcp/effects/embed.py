"""Makes the missing vectors, batch by batch, each checked and durable in the cache before the next begins.

A batch costs what its longest text costs, so texts are sorted by length inside a window that spans files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Checkpoint, Embedder, EmbedderFault, Parallel
from rag_mcp.effects.record import Record
from rag_mcp.effects.threads import in_turn
from rag_mcp.pure.errors import EmbedderFailed
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.vectors import check, dot, rid

SAME = 0.9995
"""Cosine at which two engines of one model count as one."""
WINDOW = 512
BATCH = 16


@frozen(repr=False)
class Text(Shown):
    """What is to be embedded: its content key, the file it was met in, itself, and its size for sorting."""

    key: str
    path: str
    text: str
    size: int


def embed_texts(
    record: Record, embedder: Embedder, texts: Iterable[Text], checkpoint: Checkpoint, advance: Callable[[int], None]
) -> Result[int, EmbedderFailed]:
    """Embed and cache texts, taken as they are needed; their number. On failure what was cached stays, and is sound.

    `advance` is told the size of each batch that is safe. Batches are checked and cached in their
    order, while an embedder that can embeds the next ones.
    """
    embedded, at_once = 0, embedder.at_once if isinstance(embedder, Parallel) else 0
    for batch, made in in_turn(batches(texts), partial(_vectors, embedder), at_once):
        match made:
            case Success(vectors):
                record.cache(embedder.identity, vectors)
            case Failure(failed):
                return Failure(failed)
        embedded += len(batch)
        advance(sum(text.size for text in batch))
        checkpoint("cached")
    return Success(embedded)


def batches(texts: Iterable[Text]) -> Iterator[Sequence[Text]]:
    """Batches of texts of like length, longest first inside each window."""
    coming = iter(texts)
    while window := sorted(islice(coming, WINDOW), key=lambda text: -text.size):
        for first in range(0, len(window), BATCH):
            yield window[first : first + BATCH]


def _vectors(embedder: Embedder, batch: Sequence[Text]) -> Result[list[tuple[str, str, bytes]], EmbedderFailed]:
    paths = [text.path for text in batch]
    made = checked(embedder, lambda: embedder.embed([text.text for text in batch]), len(batch), paths)
    fingerprint = embedder.identity.fingerprint
    return made.map(
        lambda vectors: [(t.key, rid(fingerprint, vector), vector) for t, vector in zip(batch, vectors, strict=True)]
    )


def embedded_query(embedder: Embedder, text: str) -> Result[bytes, EmbedderFailed]:
    """The checked vector of a question."""
    return checked(embedder, lambda: [embedder.embed_query(text)], 1).map(lambda vectors: vectors[0])


def proven(embedder: Embedder, text: str, stored: bytes) -> Result[None, EmbedderFailed]:
    """That the embedder gives what is stored for a text: equal names may hide another engine or model."""
    return nearness(embedder, text, stored).bind(lambda cosine: agreed(embedder, cosine))


def nearness(embedder: Embedder, text: str, stored: bytes) -> Result[float, EmbedderFailed]:
    """The cosine between what is stored for a text and what the embedder gives now."""
    return checked(embedder, lambda: embedder.embed([text]), 1).map(lambda made: dot(made[0], stored))


def agreed(embedder: Embedder, cosine: float) -> Result[None, EmbedderFailed]:
    """That this cosine is the same model's."""
    if cosine >= SAME:
        return Success(None)
    why = f"its vector of a stored passage is not the stored one (cosine {cosine:.4f}); ingest with --full"
    return Failure(EmbedderFailed(embedder.identity.name, why))


def checked(
    embedder: Embedder, make: Callable[[], Sequence[bytes]], count: int, paths: Sequence[str] = ()
) -> Result[Sequence[bytes], EmbedderFailed]:
    """What `make` has the embedder return, if it is `count` sound vectors; `paths` are the files of the texts."""
    identity = embedder.identity
    try:
        vectors = make()
    except EmbedderFault as fault:
        blamed = paths if fault.place is None else paths[fault.place : fault.place + 1]
        return Failure(EmbedderFailed(identity.name, str(fault), named(blamed)))
    sound = check(vectors, count, identity.dim)
    return sound.alt(lambda why: EmbedderFailed(identity.name, why, named(paths))).map(lambda _: vectors)


def named(paths: Sequence[str]) -> str | None:
    """The files, for a sentence; None where there are none."""
    distinct = list(dict.fromkeys(paths))
    return f"{distinct[0]} and {len(distinct) - 1} more" if len(distinct) > 1 else next(iter(distinct), None)
