"""The vector index over Chroma: a tree of immutable generations, derived from the record and so disposable.

    write    beside the current generation; readers keep what they hold
    open     only what the record's evidence still describes, after a check that loads no native code
    query    (rid, max(0, 1 - cosine distance)), best first

All that a disk or Chroma may do is a Failure with a clause that fits into a sentence, or IndexBroken in `query`.
"""

import fcntl
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from returns.result import Failure, Result, Success

from rag_mcp.adapters.stores import generation_files, generations
from rag_mcp.adapters.stores.chroma_client import ChromaFault, Collection, faults
from rag_mcp.effects.ports import Checkpoint, IndexBroken, OpenIndex, Vectors

if TYPE_CHECKING:
    from rag_mcp.adapters.stores.private_copies import PrivateCopies


class ChromaIndex:
    """Implements ports.VectorIndex in `folder`, which the first `write` makes, for vectors of `dim` numbers.

    With `copies`, `open` leaves the tree as it is, to the byte, and needs no leave to write there.
    """

    def __init__(self, folder: str, dim: int, copies: "PrivateCopies | None" = None) -> None:
        self._tree = Path(folder).absolute()
        self._dim = dim
        self._copies = copies

    def evidence(self, folder: str) -> str | None:
        """The fingerprint of a finished generation: ids of its parts, sequence numbers, file sizes; or None."""
        path = self._path(folder)
        return generation_files.evidence(path) if path else None

    def slots(self, folder: str) -> int:
        """Nodes of its graph, deleted ones included; 0 when it cannot be told."""
        path = self._path(folder)
        return generation_files.slots(path) if path else 0

    def preflight(self, folder: str, want: Iterable[str], vectors: Vectors | None) -> str | None:
        """Why a finished generation is unfit, or None."""
        from rag_mcp.adapters.stores.generation_check import preflight

        path = self._path(folder)
        return preflight(path, self._dim, want, vectors) if path else _no_name(folder)

    def write(
        self,
        base: str | None,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Vectors,
        want: Sequence[str],
        checkpoint: Checkpoint,
    ) -> Result[str, str]:
        """Build generation `number` from `base` or from nothing; after a Failure nothing of it is left."""
        from rag_mcp.adapters.stores.generation_write import Delta, build

        source = self._path(base) if base is not None else None
        if base is not None and source is None:
            return Failure(_no_name(base))
        folder = self._tree / generations.name_of(number)
        draft = generations.draft_of(folder)
        try:
            build(source, draft, folder, number, Delta(gone, new, want, vectors, self._dim), checkpoint)
        except ChromaFault as fault:
            generations.discard(draft)
            generations.remove(folder)
            return Failure(str(fault))
        return Success(folder.name)

    def next_number(self) -> int:
        """One more than the greatest number any name in the tree carries."""
        return generations.next_number(self._tree)

    def collect(self, keep: Sequence[str]) -> None:
        """Remove unfinished folders, generations not in `keep` that no reader holds, and leases of nothing."""
        generations.collect(self._tree, frozenset(keep))

    def open(self, folder: str, evidence: str) -> Result[OpenIndex, str]:
        """Open for reading, unless it is gone, changed, damaged, or where nothing can be written.

        Chroma writes a row into the database whenever it opens it, so without copies a read-only store is not
        for it.
        """
        path = self._path(folder)
        if path is None:
            return Failure(_no_name(folder))
        with ExitStack() as held:
            try:
                held.callback(os.close, generations.hold(path, fcntl.LOCK_SH))
                return Success(self._open_held(path, evidence, held))
            except OSError as error:
                return Failure(f"{folder} cannot be held: {error.strerror}")
            except ChromaFault as fault:
                return Failure(str(fault))

    def close(self) -> None:
        """Remove the private copies."""
        if self._copies:
            self._copies.close()

    def _open_held(self, path: Path, evidence: str, held: ExitStack) -> "OpenGeneration":
        from rag_mcp.adapters.stores.generation_check import preflight

        if generation_files.evidence(path) != evidence:
            raise ChromaFault(f"{path.name} is missing or not what the last run left")
        if not self._copies and not all(os.access(part, os.W_OK) for part in (path, path / "chroma.sqlite3")):
            raise ChromaFault(f"{path.name} is read-only, and Chroma opens nothing that it cannot write to")
        if why := preflight(path, self._dim, None, None):
            raise ChromaFault(f"{path.name} is damaged: {why}")
        place = path
        if self._copies:
            place = self._copies.copy(path)
            held.close()  # the original is needed no longer, and may be swept
            held.callback(self._copies.remove, place)
        with faults(f"Chroma could not open {path.name}"):
            return OpenGeneration(Collection(place), held.pop_all())

    def _path(self, folder: str) -> Path | None:
        """The path of a generation; None where the name is not one, so that no record leads out of the tree."""
        return self._tree / folder if generations.NAME.fullmatch(folder) else None


class OpenGeneration:
    """Implements ports.OpenIndex. Whoever closes it waits for the questions under way; then `held` is closed too."""

    def __init__(self, records: Collection, held: ExitStack) -> None:
        self._records: Collection | None = records
        self._held = held
        self._users = 0
        self._turn = threading.Condition()

    def query(self, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        """Up to n (rid, similarity), best first; raises IndexBroken."""
        records = self._enter()
        try:
            with faults("Chroma could not answer"):
                n = min(n, records.count)
                return records.nearest(vector, n) if n > 0 else []
        except ChromaFault as fault:
            raise IndexBroken(str(fault)) from fault
        finally:
            self._leave()

    def close(self) -> None:
        """Release files, memory and lease; idempotent."""
        with self._turn:
            records, self._records = self._records, None
            if records is None:
                return
            self._turn.wait_for(lambda: self._users == 0)
        try:
            with faults("Chroma could not close"):
                records.close()
        except ChromaFault:  # nothing was written that could be lost, and the lease must go
            return
        finally:
            self._held.close()

    def _enter(self) -> Collection:
        with self._turn:
            if self._records is None:
                raise IndexBroken("the index was closed")
            self._users += 1
            return self._records

    def _leave(self) -> None:
        with self._turn:
            self._users -= 1
            self._turn.notify_all()


def _no_name(folder: str) -> str:
    return f"{folder!r} is no name of a generation"
