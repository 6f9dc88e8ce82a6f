"""The HNSW graph on disk: nodes of one size, then a list of links to upper levels for each of them.

    node    = count:u16 deleted:bit 0 of the third byte, neighbours:u32[m0], vector:f32[dim], label:u64
    list    = bytes:u32, then for each upper level of the node: count:u16 and padding, neighbours:u32[m]

(Malkov and Yashunin 2018; the layout is that of hnswlib.) A neighbour that does not exist, or does not stand
in the level where it is named, is an address that the native code would follow.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any

from rag_mcp.adapters.stores.generation_files import Header
from rag_mcp.effects.ports import Vectors

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

CLOSE = 1e-4
"""How far a stored number may lie from ours: normalising rounds, another vector differs by far more."""
COMPARED = 256
"""Vectors that are compared at a time: what is made of them stays in the processor's cache."""


def level_bytes(header: Header) -> int:
    """Bytes that one upper level of one node takes."""
    return 4 + 4 * header.m


def graph_faults(header: Header, nodes: Path, links: Path, id_of: Mapping[int, str]) -> Iterator[str]:
    """What is amiss in the graph, as clauses; the files must have the sizes that the header implies."""
    import numpy as np

    table = _table(header, nodes)
    alive = _alive(table)
    labels = _column(table, header.label_at, 8, "<u8")[:, 0]
    named = np.fromiter(id_of, np.uint64, len(id_of))
    if not np.array_equal(np.sort(labels[alive]), np.sort(named)) or len(np.unique(labels)) != header.count:
        yield "delete marks and id map disagree"
    counts = _column(table, 0, 2, "<u2")
    if (counts > header.m0).any():
        yield "a node has more neighbours than it has room for"
    neighbours = _column(table, 4, 4 * header.m0, "<u4")
    if (neighbours[np.arange(header.m0) < counts] >= header.count).any():
        yield "a neighbour is out of range"
    yield from _upper_faults(header, links.read_bytes())


def _upper_faults(header: Header, data: bytes) -> Iterator[str]:
    import numpy as np

    width = level_bytes(header)
    lengths, blocks = _split(data, header.count)
    levels = np.array(lengths) // width
    whole = len(lengths) == header.count and sum(map(len, blocks)) == sum(lengths)
    if not whole or any(length % width for length in lengths):
        yield "its link lists are damaged"
    if header.entry >= header.count or levels[header.entry] != header.top_level or levels.max() > header.top_level:
        yield "the entry point does not stand at the top"
    upper = np.frombuffer(b"".join(blocks), "<u4").reshape(-1, header.m + 1)
    own = np.array([level for top in levels[levels > 0] for level in range(1, top + 1)], int)
    counts = upper[:, :1] & 0xFFFF
    if (counts > header.m).any():
        yield "a node has more upper neighbours than it has room for"
    used = np.arange(header.m) < counts
    named, at = upper[:, 1:][used], np.broadcast_to(own[:, None], used.shape)[used]
    if (named >= header.count).any() or (levels[named] < at).any():
        yield "an upper neighbour is out of range"


def _split(data: bytes, count: int) -> tuple[list[int], list[bytes]]:
    """The told length of each list, and the lists that are not empty; fewer and shorter where data ends early."""
    lengths: list[int] = []
    blocks, at = [], 0
    while len(lengths) < count and at + 4 <= len(data):
        (length,) = unpack_from("<I", data, at)
        lengths.append(length)
        if length:
            blocks.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return lengths, blocks


def vector_faults(header: Header, nodes: Path, dim: int, id_of: Mapping[int, str], vectors: Vectors) -> Iterator[str]:
    """That a stored vector is not the one we know of it, as a clause. Stored ones are normalised, so ours are too."""
    whole = _table(header, nodes)
    for start in range(0, header.count, COMPARED):
        if not _same(header, whole[start : start + COMPARED], dim, id_of, vectors):
            yield "a vector is not that of the record"
            return


def _same(header: Header, table: "Array", dim: int, id_of: Mapping[int, str], vectors: Vectors) -> bool:
    import numpy as np

    alive = _alive(table)
    stored = _column(table, header.vector_at, 4 * dim, "<f4")[alive]
    rids = [id_of[label] for label in _column(table, header.label_at, 8, "<u8")[:, 0][alive].tolist()]
    known = vectors(rids)
    if len(known) < len(rids):
        stored = stored[[rid in known for rid in rids]]
    ours = np.frombuffer(b"".join([known[rid] for rid in rids if rid in known]), "<f4").reshape(-1, dim)
    apart = ours / np.sqrt(np.einsum("ij,ij->i", ours, ours))[:, None]
    apart -= stored
    return bool((np.abs(apart, out=apart) <= CLOSE).all())  # what is no number is not close either


def _table(header: Header, nodes: Path) -> "Array":
    import numpy as np

    return np.memmap(nodes, np.uint8, "r", shape=(header.count, header.step))


def _alive(table: "Array") -> "Array":
    alive: Array = table[:, 2] & 1 == 0
    return alive


def _column(table: "Array", at: int, width: int, kind: str) -> "Array":
    import numpy as np

    return np.ascontiguousarray(table[:, at : at + width]).view(kind)
