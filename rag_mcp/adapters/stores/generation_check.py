"""Preflight: why a finished generation is unfit, told before native code that a torn file would crash is loaded.

    database   flushed (both segments took in the same writes), dimension, cosine
    sizes      bounded by the header before anything is read whole: torn files can be sparse and huge
    ids        record = database = id map, both ways
    graph      delete marks agree with the id map, every neighbour exists
    vectors    equal to those that are given

Chroma rewrites HNSW files in place, without checksum, and does not check them when it loads them.
"""

import io
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from attrs import frozen

from rag_mcp.adapters.stores.generation_files import (
    HEADER,
    IDS,
    LENGTHS,
    LINKS,
    NODES,
    SPACE,
    Facts,
    Header,
    connect,
    file_sizes,
    read_facts,
    read_header,
)
from rag_mcp.adapters.stores.hnsw_graph import graph_faults, level_bytes, vector_faults
from rag_mcp.effects.ports import Vectors
from rag_mcp.pure.shown import Shown

LAYOUT = 1  # the only version of the header that is known here
LARGEST_HEADER = 4096
LARGEST_ID = 256  # bytes that an id may take in the id map, which names it twice
MOST_LEVELS = 16  # of one node; a sixteenth of the nodes of a level stand in the next one
SPARE = 4096  # slots that may be reserved beyond four times those in use


@frozen(repr=False)
class IdMap(Shown):
    """Names of the graph's nodes. `added` counts those ever made."""

    added: int
    label_of: dict[str, int]
    id_of: dict[int, str]


def preflight(folder: Path, dim: int, want: Iterable[str] | None, vectors: Vectors | None) -> str | None:
    """Why the generation is unfit, as a clause, or None. Without `want` the ids need only agree among themselves."""
    seen = Generation(folder, dim)
    return seen.uncopyable() or seen.unloadable() or seen.unlike(want, vectors)


def _first(faults: Iterable[str]) -> str | None:
    """The first reason. What follows one may rely on what it checks, so only that one counts."""
    try:
        return next(iter(faults), None)
    except Exception as error:  # a damaged file may raise anything, and nothing here is worth more than a rebuild
        return f"unreadable ({type(error).__name__}: {error})"


class Generation:
    """A generation under examination: what was read of it once serves all checks. Each may rely on those before it."""

    def __init__(self, folder: Path, dim: int) -> None:
        self._folder, self._dim = folder, dim

    @cached_property
    def facts(self) -> Facts:
        """What its database says; raises one of UNREADABLE."""
        return read_facts(self._folder)

    @cached_property
    def _header(self) -> Header:
        return read_header(self._folder, self.facts)

    @property
    def _segment(self) -> Path:
        return self._folder / self.facts.vectors_segment

    @cached_property
    def _ids(self) -> IdMap:
        return _read_ids(self._segment / IDS)

    def uncopyable(self) -> str | None:
        """Why it cannot even be copied: by its database, its header and the sizes of its files."""
        return _first(self._outline())

    def unloadable(self) -> str | None:
        """Why the native code cannot be given it: by its graph, and the names of the nodes."""
        return _first(self._graph())

    def unlike(self, want: Iterable[str] | None, vectors: Vectors | None) -> str | None:
        """Why it is not what it should be: by the ids in its database, and its vectors, where there are some."""
        return _first(self._contents(want, vectors))

    def _outline(self) -> Iterator[str]:
        yield from _database_faults(self.facts, self._dim)
        sizes = file_sizes(self._folder, self.facts)  # first: opening a pipe would wait for ever
        yield from _layout_faults(self._header, self._dim)
        yield from _size_faults(self._header, sizes)

    def _graph(self) -> Iterator[str]:
        yield from _id_faults(self._header, self._ids)
        yield from graph_faults(self._header, self._segment / NODES, self._segment / LINKS, self._ids.id_of)

    def _contents(self, want: Iterable[str] | None, vectors: Vectors | None) -> Iterator[str]:
        rows = _row_ids(self._folder, self.facts)
        yield from _row_faults(self._ids, rows, None if want is None else frozenset(want))
        if vectors is not None:
            yield from vector_faults(self._header, self._segment / NODES, self._dim, self._ids.id_of, vectors)


def _database_faults(facts: Facts, dim: int) -> Iterator[str]:
    if facts.rows_seq is None or facts.rows_seq != facts.vectors_seq:
        yield f"not flushed (rows at {facts.rows_seq}, vectors at {facts.vectors_seq})"
    if facts.dim != dim:
        yield f"its vectors have {facts.dim} dimensions, not {dim}"
    if facts.space != SPACE:
        yield f"its distance is {facts.space}, not {SPACE}"


def _layout_faults(header: Header, dim: int) -> Iterator[str]:
    vector_at = 4 + 4 * header.m0
    label_at = vector_at + 4 * dim
    seen = (header.version, header.level0_at, header.vector_at, header.label_at, header.step)
    if seen != (LAYOUT, 0, vector_at, label_at, label_at + 8) or header.m0 != 2 * header.m:
        yield "its header describes another layout"
    if not header.count <= header.capacity <= 4 * header.count + SPARE:
        yield f"its header tells of {header.count} nodes in {header.capacity} slots"


def _size_faults(header: Header, sizes: Mapping[str, int]) -> Iterator[str]:
    count, capacity = header.count, header.capacity
    bounds = {
        HEADER: (0, LARGEST_HEADER),
        NODES: (count * header.step, capacity * header.step),
        LENGTHS: (4 * count, 4 * capacity),
        LINKS: (4 * count, count * (4 + MOST_LEVELS * level_bytes(header))),
        IDS: (0, LARGEST_HEADER + 2 * LARGEST_ID * count),
    }
    for name, (least, most) in bounds.items():
        if not least <= sizes[name] <= most:
            yield f"{name} has {sizes[name]} bytes, not {least} to {most}"


def _row_ids(folder: Path, facts: Facts) -> frozenset[str]:
    with connect(folder) as db:
        db.execute("pragma query_only = on")
        sql = "select json_group_array(embedding_id) from embeddings where segment_id = ?"  # one row: it is read beside
        return frozenset(json.loads(db.execute(sql, (facts.rows_segment,)).fetchone()[0]))


class _PlainOnly(pickle.Unpickler):
    """Reads numbers, strings and containers of them; a pickle that wants code is refused."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"the id map asks for {module}.{name}")


def _read_ids(file: Path) -> IdMap:
    held = _PlainOnly(io.BytesIO(file.read_bytes())).load()
    return IdMap(held["total_elements_added"], held["id_to_label"], held["label_to_id"])


def _id_faults(header: Header, ids: IdMap) -> Iterator[str]:
    if ids.added != header.count:
        yield f"header and id map come from different writes ({header.count} nodes, {ids.added} named)"
    if {label: rid for rid, label in ids.label_of.items()} != ids.id_of:
        yield "the id map contradicts itself"


def _row_faults(ids: IdMap, rows: frozenset[str], want: frozenset[str] | None) -> Iterator[str]:
    if rows != ids.label_of.keys():
        yield f"{len(rows ^ ids.label_of.keys())} ids differ between its database and its graph"
    if want is not None and rows != want:
        yield f"it lacks {len(want - rows)} ids of the record and has {len(rows - want)} others"
