"""Builds a generation, in this order; until the rename it has a name that nobody opens.

    outline of the base -> lease -> clone, check -> delete, add, sign -> flush, close -> check, sync -> rename -> sync

Chroma writes HNSW files in place and syncs nothing, so a kill or a full disk may leave anything in the unfinished
folder. Only what has passed the check and reached the disk gets the generation's name.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from rag_mcp.adapters.stores.chroma_client import BATCH, ChromaFault, Collection, faults
from rag_mcp.adapters.stores.generation_check import Generation, preflight
from rag_mcp.adapters.stores.generation_files import Facts
from rag_mcp.adapters.stores.generations import bytes_of, clone, make_lease, sync, sync_tree
from rag_mcp.effects.ports import Checkpoint, Vectors
from rag_mcp.effects.threads import beside
from rag_mcp.pure.shown import Shown

ROOM = 1.5  # times what the generation is expected to take: Chroma's journal of the writes comes on top
RECORD_BYTES = 1000  # of a record, besides its vector

_MB = 1_000_000


@frozen(repr=False)
class Delta(Shown):
    """What is to become of a base. `vectors` has those of all of `want`, which is what there will be."""

    gone: Sequence[str]
    new: Sequence[str]
    want: Sequence[str]
    vectors: Vectors
    dim: int


def build(base: Path | None, draft: Path, folder: Path, number: int, delta: Delta, checkpoint: Checkpoint) -> None:
    """Make `folder` by way of `draft`, both in one tree; raises ChromaFault, and then either may be left behind."""
    seen = Generation(base, delta.dim) if base else None
    if base and seen:
        _refuse(base, seen.uncopyable())
    with faults("the disk refused"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _make_room(folder.parent, base, seen.facts if seen else None, delta)
        make_lease(folder)
    if base and seen:
        _clone(base, seen, draft)
        checkpoint("cloned")
    with _opened(draft, create=base is None) as records:
        with faults("Chroma could not write"):
            _apply(records, number, delta)
        checkpoint("written")
        with faults("Chroma could not flush"):
            records.flush()
    checkpoint("flushed")
    with beside(lambda: sync_tree(draft)) as synced:
        if why := preflight(draft, delta.dim, delta.want, delta.vectors):
            raise ChromaFault(f"what Chroma wrote does not pass the check: {why}")
    with faults("the disk refused"):
        synced()
    checkpoint("synced")
    with faults("the disk refused"):
        draft.rename(folder)
        sync(folder.parent)
    checkpoint("renamed")


def _refuse(base: Path, why: str | None) -> None:
    if why:
        raise ChromaFault(f"{base.name} is not what it should be: {why}")


def _clone(base: Path, seen: Generation, draft: Path) -> None:
    """Copy the base while it is looked into; which ids it holds shows in what becomes of it."""
    with beside(lambda: clone(base, seen.facts, draft)) as cloned:
        _refuse(base, seen.unloadable())
    with faults("the disk refused"):
        cloned()


def _make_room(tree: Path, base: Path | None, facts: Facts | None, delta: Delta) -> None:
    record = 4 * delta.dim + RECORD_BYTES
    taken = bytes_of(base, facts) if base and facts else 0
    needed, free = int(ROOM * (taken + len(delta.new) * record)), shutil.disk_usage(tree).free
    if free < needed:
        raise ChromaFault(f"it needs {needed // _MB + 1} MB of free space and there are {free // _MB} MB")


@contextmanager
def _opened(draft: Path, *, create: bool) -> Iterator[Collection]:
    """The collection of the draft, loaded before the first write: Chroma would otherwise do that write twice."""
    with faults("Chroma could not open its folder"):
        records = Collection(draft, create=create)
    try:
        yield records
    finally:
        with faults("Chroma could not close its folder"):
            records.close()


def _apply(records: Collection, number: int, delta: Delta) -> None:
    import numpy as np

    for ids in _batches(delta.gone):
        records.delete(ids)
    for ids in _batches(delta.new):
        known = delta.vectors(ids)
        joined = b"".join([known[rid] for rid in ids])
        records.add(ids, np.frombuffer(joined, "<f4").reshape(len(ids), -1))
    records.sign(number)


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + BATCH] for at in range(0, len(ids), BATCH))
