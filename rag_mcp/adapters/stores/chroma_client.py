"""Chroma, as far as it is used here: one collection of ids and vectors in one folder, and nothing of its settings.

Chroma reads its settings from the environment and from `.env` in the current folder, a server's address, a
telemetry endpoint and names of classes to load among them. Here it gets constants. No call hands it text, names an
embedding function, or filters by metadata: the first two would run what a foreign folder names, the last is slow.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_mcp.adapters.stores.generation_files import COLLECTION, SPACE

if TYPE_CHECKING:
    import numpy as np

SYNC = 1000  # writes after which Chroma brings its graph to the disk
BATCH = 1000  # records a call: more makes the database grow for good, and a stop signal wait

_gate = threading.Lock()  # Chroma keeps a table of open folders that it does not lock


class ChromaFault(Exception):
    """Chroma, or the disk under it, failed; the text is a clause."""


@contextmanager
def faults(doing: str) -> Iterator[None]:
    """Turn whatever is raised into a ChromaFault, a panic of the native code included; a stop signal passes."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ChromaFault):
        raise
    except BaseException as error:  # a panic is no Exception
        told = " ".join(str(error).split()) or type(error).__name__
        raise ChromaFault(f"{doing}: {told[:300]}") from error


class Collection:
    """The collection of one folder, open. Several threads may ask it; close it once, when nobody asks any more."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        import chromadb
        from chromadb.config import Settings

        with _gate:
            fixed = Settings.model_construct(anonymized_telemetry=False)  # type: ignore[no-untyped-call,unused-ignore]
            self._client: Any = chromadb.PersistentClient(str(folder), settings=fixed)
            try:
                self._records: Any = self._create() if create else self._get()
                self.count = int(self._records.count())
            except BaseException:
                self._client.close()
                raise

    def _create(self) -> Any:
        return self._client.create_collection(
            COLLECTION,
            embedding_function=None,
            configuration={"hnsw": {"space": SPACE, "sync_threshold": SYNC}},
        )

    def _get(self) -> Any:
        return self._client.get_collection(COLLECTION, embedding_function=None)

    def add(self, ids: Sequence[str], vectors: "np.ndarray[Any, Any]") -> None:
        """Add at most BATCH records, one row of numbers for each id; ids that are there stay as they are."""
        self._records.add(ids=list(ids), embeddings=vectors)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete at most BATCH records; unknown ids are passed over."""
        self._records.delete(ids=list(ids))

    def number(self, generation: int) -> None:
        """Write the generation's number into the metadata of the collection, which it replaces."""
        self._records.modify(metadata={"generation": generation})

    def flush(self) -> None:
        """Bring the graph to the disk: as many deletions of nothing as make Chroma do it; no call does it."""
        self._records.delete(ids=[f"_flush_{n}" for n in range(SYNC)])

    def nearest(self, vector: bytes, n: int) -> list[tuple[str, float]]:
        """The n nearest (rid, similarity), best first; n is from 1 to the number of records."""
        import numpy as np

        found = self._records.query(
            query_embeddings=np.frombuffer(vector, "<f4").reshape(1, -1), n_results=n, include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(str(rid), max(0.0, 1.0 - float(distance))) for rid, distance in pairs]

    def close(self) -> None:
        """Release files and memory."""
        with _gate:
            self._client.close()
