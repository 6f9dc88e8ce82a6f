"""Chroma's engine, as far as it is used here: one collection of ids and vectors in one folder.

The distribution `chromadb` is a native engine, `chromadb_rust_bindings`, and a client in Python, whose import takes
three quarters of a second and which reads its settings from the environment and from `.env` in the current folder: a
server's address, a telemetry endpoint and names of classes to load among them. So the engine itself is asked, as the
client of the pinned version does it; what it writes is any client's to open. No call hands it text, names an embedding
function, or filters by metadata: the first two would run what a foreign folder names, the last is slow.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_mcp.adapters.stores.generation_files import COLLECTION, SPACE

if TYPE_CHECKING:
    import numpy as np

SYNC = 1000  # writes after which Chroma brings its graph to the disk
BATCH = 1000  # records a call: more makes the database grow for good, and a stop signal wait

_PLACE = ("default_tenant", "default_database")
_CONFIGURATION = json.dumps(
    {"hnsw": {"space": SPACE, "sync_threshold": SYNC}, "spann": None, "embedding_function": {"type": "legacy"}}
)


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
        import chromadb_rust_bindings as chroma

        folder.mkdir(exist_ok=True)
        database = chroma.SqliteDBConfig(
            url=str(folder / "chroma.sqlite3"),
            hash_type=chroma.MigrationHash.MD5,
            migration_mode=chroma.MigrationMode.Apply,
        )
        self._engine: Any = chroma.Bindings(
            allow_reset=False, sqlite_db_config=database, persist_path=str(folder), hnsw_cache_size=1
        )
        if create:
            made = self._engine.create_collection(COLLECTION, _CONFIGURATION, None, None, False, *_PLACE)
        else:
            made = self._engine.get_collection(COLLECTION, *_PLACE)
        self._id = str(made.id)
        self.count = int(self._engine.count(self._id, *_PLACE))

    def add(self, ids: Sequence[str], vectors: "np.ndarray[Any, Any]") -> None:
        """Add at most BATCH records, one row of numbers for each id; ids that are there stay as they are."""
        self._engine.add(list(ids), self._id, vectors, None, None, None, *_PLACE)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete at most BATCH records; unknown ids are passed over."""
        self._engine.delete(self._id, list(ids), None, None, None, *_PLACE)

    def sign(self, generation: int) -> None:
        """Write the generation's number, and what no other generation has, into the metadata of the collection.

        A clone has its base's id, and two of one base, with as many changes, the same number, sizes and sequences.
        """
        self._engine.update_collection(self._id, None, {"generation": generation, "made": os.urandom(16).hex()}, None)

    def flush(self) -> None:
        """Bring the graph to the disk: as many deletions of nothing as make Chroma do it; no call does it."""
        self.delete([f"_flush_{n}" for n in range(SYNC)])

    def nearest(self, vector: bytes, n: int) -> list[tuple[str, float]]:
        """The n nearest (rid, similarity), best first; n is from 1 to the number of records."""
        import numpy as np

        question = np.frombuffer(vector, "<f4").reshape(1, -1)
        found = self._engine.query(self._id, None, question, n, None, None, ["distances"], *_PLACE)
        pairs = zip(found.ids[0], found.distances[0], strict=True)
        return [(str(rid), max(0.0, 1.0 - float(distance))) for rid, distance in pairs]

    def close(self) -> None:
        """Release files and memory."""
        self._engine = None
