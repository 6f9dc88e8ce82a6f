"""One Chroma folder, seen from outside: evidence, checks and copies, by SQLite and file sizes alone.

Nothing here loads Chroma's native code, so a damaged folder can be told from a sound one without risk. The
formats read here are private to chromadb 1.5.9, which is why it is pinned exactly; a test holds the pin.
"""

import contextlib
import io
import json
import os
import pickle
import shutil
import sqlite3
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

NAME = "chunks"
FILES = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")
HEADER = "<i6QiI2Q"  # hnswlib: version, offset 0, capacity, count, bytes a node, label and vector offsets, ...
FICLONE = 0x40049409

EVIDENCE = (
    "select c.id, c.dimension, (select int_value from collection_metadata where collection_id = c.id"
    " and key = 'generation'), max(q.seq_id) filter (where s.scope = 'METADATA'), max(q.seq_id)"
    " filter (where s.scope = 'VECTOR'), max(s.id) filter (where s.scope = 'VECTOR')"
    " from collections c join segments s on s.collection = c.id"
    " left join max_seq_id q on q.segment_id = s.id where c.name = ? group by c.id"
)


class Unfit(Exception):
    """A generation that must not be used; the sentence says why."""


def connect(folder: Path, wait: float = 2.0) -> contextlib.closing[sqlite3.Connection]:
    """The database of an existing folder. `rw`, because `ro` refuses a hot journal that a kill left."""
    database = folder / "chroma.sqlite3"
    if not database.is_file():
        raise FileNotFoundError(database)
    uri = database.absolute().as_uri() + "?mode=rw"
    return contextlib.closing(sqlite3.connect(uri, uri=True, timeout=wait))


def facts(folder: Path) -> tuple[Any, ...] | None:
    """(collection id, dimension, generation, metadata seq, vector seq, vector segment), or None."""
    try:
        with connect(folder) as db:
            db.execute("pragma query_only = on")
            found = db.execute(EVIDENCE, (NAME,)).fetchone()
            return None if found is None else tuple(found)
    except (OSError, sqlite3.Error):
        return None


def evidence(folder: Path) -> str | None:
    """A fingerprint that reading does not change and a foreign write or a cut file does; None if unreadable."""
    found = facts(folder)
    if found is None or found[5] is None:
        return None
    try:
        sizes = [(folder / found[5] / name).stat().st_size for name in FILES]
    except OSError:
        return None
    return json.dumps([*found, sizes], separators=(",", ":"))


def slots(folder: Path) -> int:
    """Places in the HNSW graph, deleted ones included; 0 when it cannot be told."""
    found = facts(folder)
    try:
        return int(header_of(folder / str(found[5]))[3]) if found else 0
    except (OSError, struct.error):
        return 0


def header_of(segment: Path) -> tuple[int, ...]:
    """The fields of hnswlib's header."""
    return struct.unpack_from(HEADER, (segment / FILES[0]).read_bytes())


class PlainOnly(pickle.Unpickler):
    """Reads the id map, which holds plain values; anything that would run code is refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse every class."""
        raise pickle.UnpicklingError(f"the id map names {module}.{name}")


def preflight(folder: Path, want: Iterable[str], vectors: Mapping[str, bytes] | None = None) -> str | None:
    """Why a flushed, closed generation is unfit, or None. With vectors, each is compared with the cache."""
    try:
        _inspect(folder, set(want), vectors)
    except Unfit as why:
        return str(why)
    except Exception as error:  # noqa: BLE001 - any way of being unreadable is an answer here
        return f"it is unreadable ({type(error).__name__}: {error})"
    return None


def _inspect(folder: Path, want: set[str], vectors: Mapping[str, bytes] | None) -> None:
    found = facts(folder)
    if found is None or found[3] is None or found[3] != found[4]:
        raise Unfit("it is missing, foreign or was not flushed")
    collection, dimension = found[0], found[1]
    with connect(folder) as db:
        segments = dict(db.execute("select scope, id from segments where collection = ?", [collection]))
        stored = db.execute("select embedding_id from embeddings where segment_id = ?", [segments["METADATA"]])
        rows = {rid for (rid,) in stored}
    segment = folder / segments["VECTOR"]
    ids = PlainOnly(io.BytesIO((segment / FILES[4]).read_bytes())).load()
    names: dict[int, str] = ids["label_to_id"]
    if not rows == want == set(ids["id_to_label"]) == set(names.values()):
        raise Unfit("ids differ between record, metadata and graph")
    _inspect_graph(segment, ids["total_elements_added"], names, dimension, vectors)


def _inspect_graph(
    segment: Path, added: int, names: Mapping[int, str], dimension: int, vectors: Mapping[str, bytes] | None
) -> None:
    import numpy as np

    _, _, capacity, count, step, label_at, vector_at, _, _, links, links0 = header_of(segment)
    if count != added:
        raise Unfit("header and id map come from different persists")
    link = 4 + 4 * links
    sizes = [(segment / name).stat().st_size for name in FILES[1:4]]
    bounds = ((count * step, capacity * step), (4 * count, 4 * capacity), (0, count * (4 + 16 * link)))
    if not all(low <= size <= high for size, (low, high) in zip(sizes, bounds, strict=True)):
        raise Unfit(f"its files have implausible sizes ({sizes})")
    nodes = np.memmap(segment / FILES[1], np.uint8, "r", shape=(count, step))

    def field(at: int, width: int, kind: str) -> Any:
        return np.ascontiguousarray(nodes[:, at : at + width]).view(kind)

    labels, alive = field(label_at, 8, "<u8")[:, 0], nodes[:, 2] & 1 == 0
    if sorted(labels[alive].tolist()) != sorted(names):
        raise Unfit("delete marks and id map disagree")
    if (field(4, 4 * links0, "<u4")[np.arange(links0) < field(0, 2, "<u2")] >= count).any():
        raise Unfit("a neighbour is out of range")
    _inspect_links((segment / FILES[3]).read_bytes(), count, link)
    if vectors is not None and names:
        ours = np.frombuffer(b"".join(vectors[names[n]] for n in labels[alive].tolist()), "<f4")
        if not np.allclose(field(vector_at, 4 * dimension, "<f4")[alive].ravel(), ours, atol=1e-4):
            raise Unfit("its vectors differ from the cache")


def _inspect_links(data: bytes, count: int, link: int) -> None:
    at = 0
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, at)
        at += 4 + length
        if length % link or at > len(data):
            raise Unfit("its link lists are damaged")


def clone(source: Path, target: Path) -> None:
    """Copy a generation: the database by SQLite's backup, the live segment's files by reflink where possible."""
    target.mkdir(parents=True)
    with connect(source, 30) as a, contextlib.closing(sqlite3.connect(target / "chroma.sqlite3")) as b:
        a.backup(b)
    found = facts(source)
    if found is None:
        raise Unfit("it is unreadable")
    (target / found[5]).mkdir()
    for name in FILES:
        copy_file(source / found[5] / name, target / found[5] / name)


def copy_file(source: Path, target: Path) -> None:
    """Copy by reflink, else by bytes; never by hard link, Chroma writes in place."""
    import fcntl

    with source.open("rb") as a, target.open("xb") as b:
        try:
            fcntl.ioctl(b, FICLONE, a.fileno())
        except OSError:
            shutil.copyfileobj(a, b, 1 << 20)


def sync_tree(folder: Path) -> None:
    """Bring every file and folder below to the disk: Chroma never does."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place, name), os.O_RDWR)
        sync(Path(place))


def sync(path: Path, flags: int = os.O_RDONLY) -> None:
    """fsync one file or folder."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
