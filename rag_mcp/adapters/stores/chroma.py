"""Chroma as a tree of immutable generations that can be thrown away.

    index/gen-000124/                 a Chroma folder: ids and unit vectors, nothing else
    index/gen-000124.lease            readers hold it shared; the collector needs it alone
    index/gen-000125.<random>.tmp/    unfinished, nobody's

A generation is cloned from the last one or begun empty, changed by `add` and `delete` only, flushed, closed, checked,
brought to the disk, and then gets its name. It is never written again.
"""

import contextlib
import fcntl
import os
import re
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from returns.result import Failure, Result, Success

from rag_mcp.adapters.stores import generation as gen
from rag_mcp.adapters.stores.generation import NAME, Unfit
from rag_mcp.effects.ports import Checkpoint, IndexBroken, OpenIndex

SYNC_THRESHOLD = 1_000
BATCH = 1_000  # 5,000 is quicker but leaves the database three times as large, for every later copy
NUMBERED = re.compile(r"gen-(\d{6,})")
SPACE_FACTOR = 1.5
T = TypeVar("T")


class ChromaIndex:
    """The generations below one folder. Implements `effects.ports.VectorIndex`."""

    def __init__(self, folder: str, dim: int) -> None:
        self._tree = Path(folder).absolute()
        self._dim = dim

    def evidence(self, folder: str) -> str | None:
        """A fingerprint of a finished generation, or None."""
        return gen.evidence(self._tree / folder)

    def slots(self, folder: str) -> int:
        """Places the generation holds, deleted ones included."""
        return gen.slots(self._tree / folder)

    def preflight(self, folder: str, want: Iterable[str], vectors: Mapping[str, bytes] | None) -> str | None:
        """Why a finished generation is unfit, or None."""
        return gen.preflight(self._tree / folder, want, vectors)

    def write(
        self,
        base: str | None,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Mapping[str, bytes],
        want: Sequence[str],
        checkpoint: Checkpoint,
    ) -> Result[str, str]:
        """Build a generation; its folder's name, or why it could not be built."""
        name = f"gen-{number:06d}"
        unfinished = self._tree / f"{name}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            self._tree.mkdir(parents=True, exist_ok=True)
            if base:
                self._clone(base, unfinished, (set(want) - set(new)) | set(gone))
                checkpoint("cloned")
            self._fill(unfinished, number, gone, new, vectors, fresh=base is None, checkpoint=checkpoint)
            if why := gen.preflight(unfinished, want, vectors):
                raise Unfit(why)
            gen.sync_tree(unfinished)
            checkpoint("synced")
            (self._tree / f"{name}.lease").touch()
            unfinished.rename(self._tree / name)
            gen.sync(self._tree)
            checkpoint("renamed")
        except (Unfit, OSError, _ChromaFault) as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            return Failure(str(error))
        return Success(name)

    def next_number(self) -> int:
        """One more than the greatest number in the tree."""
        return 1 + max((int(match[1]) for name in self._names() if (match := NUMBERED.match(name))), default=0)

    def collect(self, keep: Sequence[str]) -> None:
        """Remove what is unfinished, unkept and unheld. Hold the writer's lock."""
        names = self._names()
        for name in names:
            if name.endswith(".tmp"):
                shutil.rmtree(self._tree / name, ignore_errors=True)
            elif NUMBERED.fullmatch(name) and name not in keep:
                self._remove(name)
            elif name.endswith(".lease") and name.removesuffix(".lease") not in names:
                with contextlib.suppress(OSError):
                    (self._tree / name).unlink()

    def open(self, folder: str, evidence: str) -> Result[OpenIndex, str]:
        """Open a generation for reading, if it is still what its evidence says."""
        try:
            lease = (self._tree / f"{folder}.lease").open("rb")
        except OSError as error:
            return Failure(f"the index {folder} could not be held ({error.strerror})")
        try:
            fcntl.flock(lease, fcntl.LOCK_SH)
            if gen.evidence(self._tree / folder) != evidence:
                raise Unfit(f"the index {folder} is not what the last ingest left")
            if not os.access(self._tree / folder / "chroma.sqlite3", os.W_OK):
                raise Unfit(f"the index {folder} is read-only, and Chroma writes when it opens")
            return Success(OpenGeneration(str(self._tree / folder), lease))
        except (Unfit, OSError, _ChromaFault) as error:
            lease.close()
            return Failure(str(error))
        except BaseException:
            lease.close()
            raise

    def _clone(self, base: str, target: Path, expected: set[str]) -> None:
        source = self._tree / base
        if why := gen.preflight(source, expected):
            raise Unfit(why)
        size = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
        if shutil.disk_usage(self._tree).free < SPACE_FACTOR * size:
            raise OSError(f"there is no room for another generation of {size / 1e6:.0f} MB")
        gen.clone(source, target)

    def _fill(
        self,
        folder: Path,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Mapping[str, bytes],
        *,
        fresh: bool,
        checkpoint: Checkpoint,
    ) -> None:
        with _chroma(folder) as client:
            chunks = _guarded(lambda: _create(client) if fresh else client.get_collection(NAME, embedding_function=None))
            _guarded(chunks.count)  # replays the log now; a read after a write would replay that write too
            for batch in _batches(gone):
                _guarded(lambda batch=batch: chunks.delete(ids=batch))
            for batch in _batches(new):
                rows = _matrix([vectors[rid] for rid in batch], self._dim)
                _guarded(lambda batch=batch, rows=rows: chunks.add(ids=batch, embeddings=rows))
            _guarded(lambda: chunks.modify(metadata={"generation": number}))
            checkpoint("written")
            flush = [f"_flush_{n}" for n in range(SYNC_THRESHOLD)]
            _guarded(lambda: chunks.delete(ids=flush))  # as many unknown ids as force a persist
            checkpoint("flushed")

    def _remove(self, name: str) -> None:
        lease = self._tree / f"{name}.lease"
        with contextlib.suppress(OSError):
            with lease.open("ab") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(self._tree / name, ignore_errors=True)
            lease.unlink()

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._tree))
        except OSError:
            return []


class OpenGeneration:
    """One generation with its graph in memory. Implements `effects.ports.OpenIndex`."""

    def __init__(self, folder: str, lease: Any) -> None:
        self._lease = lease
        self._stack = contextlib.ExitStack()
        self._lock = threading.Condition()
        self._users = 0
        client = self._stack.enter_context(_chroma(Path(folder)))
        try:
            self._chunks = _guarded(lambda: client.get_collection(NAME, embedding_function=None))
            self._count = _guarded(self._chunks.count)
        except BaseException:
            self._stack.close()
            raise

    def query(self, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        """Up to n (rid, similarity), best first."""
        with self._lock:
            if self._lease is None:
                raise IndexBroken("the index was closed")
            self._users += 1
        try:
            wanted = min(n, self._count)
            if wanted < 1:
                return []
            rows = _matrix([vector], len(vector) // 4)
            found = _guarded(
                lambda: self._chunks.query(query_embeddings=rows, n_results=wanted, include=["distances"])
            )
            return [(rid, max(0.0, 1.0 - d)) for rid, d in zip(found["ids"][0], found["distances"][0], strict=True)]
        except _ChromaFault as fault:
            raise IndexBroken(str(fault)) from fault
        finally:
            with self._lock:
                self._users -= 1
                self._lock.notify_all()

    def close(self) -> None:
        """Wait for running queries, then let go; idempotent."""
        with self._lock:
            if self._lease is None:
                return
            lease, self._lease = self._lease, None
            while self._users:
                self._lock.wait()
        self._stack.close()
        lease.close()


class _ChromaFault(Exception):
    """Whatever came out of Chroma, a panic of its native code included."""


def _guarded(call: Any) -> Any:
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic in native code is no Exception
        raise _ChromaFault(f"Chroma failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _chroma(folder: Path) -> Iterator[Any]:
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    client = _guarded(lambda: chromadb.PersistentClient(str(folder), settings=settings))
    try:
        yield client
    finally:
        client.close()


def _create(client: Any) -> Any:
    hnsw = {"space": "cosine", "sync_threshold": SYNC_THRESHOLD}
    return client.create_collection(NAME, embedding_function=None, configuration={"hnsw": hnsw})


def _matrix(vectors: Sequence[bytes], dim: int) -> Any:
    import numpy as np

    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dim)


def _batches(items: Sequence[T]) -> Iterator[list[T]]:
    return (list(items[start : start + BATCH]) for start in range(0, len(items), BATCH))
