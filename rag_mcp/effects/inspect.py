"""What a store holds and by what it was made, as its record says."""

from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Progress
from rag_mcp.effects.record import STEPS, Snapshot
from rag_mcp.pure.errors import EmptyStore
from rag_mcp.pure.identity import Choices, RunIdentity, Setup, digest_of
from rag_mcp.pure.manifest import Manifest
from rag_mcp.pure.statistics import Stats


def stats(snapshot: Snapshot, store: str, collection: str, size: int, progress: Progress) -> Stats:
    """The counts; `size` is in bytes on disk."""
    with progress.task("counting", STEPS, unit="counts") as advance:
        counted = snapshot.statistics(advance)
    pointer = snapshot.pointer()
    return Stats(
        store=store,
        corpus=pointer.root if pointer else None,
        collection=collection,
        generation=pointer.generation if pointer else 0,
        finished=pointer.finished if pointer else None,
        embedder=pointer.embedder.name if pointer else None,
        dim=pointer.embedder.dim if pointer else None,
        files=counted.files,
        passages=counted.passages,
        repeats=counted.deduped,
        retired=counted.retired,
        distinct_texts=counted.contents,
        vectors=pointer.vectors if pointer else 0,
        cached_vectors=counted.cached,
        classes=counted.classes,
        bytes_on_disk=size,
        revision=snapshot.revision(),
    )


def setup(snapshot: Snapshot, store: str) -> Result[Setup, EmptyStore]:
    """All that an answer depends on besides the question."""
    pointer = snapshot.pointer()
    if pointer is None:
        return Failure(EmptyStore(store))
    entries = [entry for _, entry in sorted(snapshot.belief().entries.items())]
    return Success(
        Setup(
            embedder=pointer.embedder.name,
            fingerprint=pointer.embedder.fingerprint,
            recipes=tuple(sorted({entry.recipe for entry in entries})),
            corpus=digest_of([(entry.path, entry.digest) for entry in entries]),
            passages=snapshot.statistics().passages,
        )
    )


def manifest(snapshot: Snapshot, store: str, collection: str, choices: Choices) -> Result[Manifest, EmptyStore]:
    """What the store was made from, file by file; `choices` are those of an ingest by this program."""
    pointer = snapshot.pointer()
    if pointer is None:
        return Failure(EmptyStore(store))
    return Success(
        Manifest(
            store=store,
            collection=collection,
            root=pointer.root,
            generation=pointer.generation,
            finished=pointer.finished,
            embedder=pointer.embedder,
            run=RunIdentity(pointer.embedder, choices.chunking, choices.labelling),
            entries=tuple(entry for _, entry in sorted(snapshot.belief().entries.items())),
        )
    )
