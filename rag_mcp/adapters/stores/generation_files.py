"""What a finished generation says of itself, read from its files without any vendor code.

    gen-000124/chroma.sqlite3               ids, metadata, settings, sequence numbers
    gen-000124/<segment id>/<HNSW file>     the graph and the vectors, five files

Nothing here creates a file. The database is opened for reading and writing all the same: a kill may have left
a journal that must be rolled back before anything can be read, and opening it for reading alone refuses that.
"""

import json
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from struct import Struct
from struct import error as StructError  # noqa: N812

from attrs import frozen

from rag_mcp.pure.shown import Shown

COLLECTION = "chunks"
SPACE = "cosine"
HEADER, NODES, LENGTHS, LINKS, IDS = HNSW_FILES = (
    "header.bin",
    "data_level0.bin",
    "length.bin",
    "link_lists.bin",
    "index_metadata.pickle",
)
WAIT = 2.0  # seconds; whoever opens a generation writes one row into its database

UNREADABLE = (OSError, sqlite3.Error, StructError, ValueError, TypeError, KeyError)
"""What reading a damaged or foreign folder may raise."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEADER = Struct("<i6QiI2Q")
_FACTS = """
    select c.id, c.dimension, c.schema_str,
        (select int_value from collection_metadata where collection_id = c.id and key = 'generation'),
        (select str_value from collection_metadata where collection_id = c.id and key = 'made'),
        max(s.id) filter (where s.scope = 'METADATA'), max(q.seq_id) filter (where s.scope = 'METADATA'),
        max(s.id) filter (where s.scope = 'VECTOR'), max(q.seq_id) filter (where s.scope = 'VECTOR')
    from collections c join segments s on s.collection = c.id left join max_seq_id q on q.segment_id = s.id
    where c.name = ? group by c.id"""


@frozen(repr=False)
class Facts(Shown):
    """The collection of a generation. A sequence number counts the writes that a segment has taken in."""

    collection: str
    dim: int | None
    schema: str
    generation: int | None
    made: str | None
    rows_segment: str
    rows_seq: int | None
    vectors_segment: str
    vectors_seq: int | None

    @property
    def space(self) -> str:
        """The distance that the collection was made for."""
        keys = json.loads(self.schema)["keys"]
        return str(keys["#embedding"]["float_list"]["vector_index"]["config"]["space"])


@frozen(repr=False)
class Header(Shown):
    """The head of an HNSW graph: counts in nodes, offsets and `step` in bytes from the start of a node."""

    version: int
    level0_at: int
    capacity: int
    count: int
    step: int
    label_at: int
    vector_at: int
    top_level: int
    entry: int
    m: int
    m0: int


def connect(folder: Path, wait: float = WAIT) -> closing[sqlite3.Connection]:
    """The database of a generation, if there is one; raises FileNotFoundError or sqlite3.Error."""
    file = folder / "chroma.sqlite3"
    if not file.is_file():
        raise FileNotFoundError(f"{file.name} is missing")
    return closing(sqlite3.connect(file.resolve().as_uri() + "?mode=rw", uri=True, timeout=wait))


def read_facts(folder: Path) -> Facts:
    """The facts of a generation; raises one of UNREADABLE."""
    with connect(folder) as db:
        db.execute("pragma query_only = on")
        found = db.execute(_FACTS, (COLLECTION,)).fetchall()
    if len(found) != 1:
        raise ValueError(f"it holds {len(found)} collections named {COLLECTION!r}")
    facts = Facts(*found[0])
    if not _UUID.fullmatch(facts.vectors_segment):
        raise ValueError("its segment has no proper name")
    return facts


def file_sizes(folder: Path, facts: Facts) -> dict[str, int]:
    """Bytes of each HNSW file; raises OSError where one is missing or no regular file."""
    found = {name: (folder / facts.vectors_segment / name).stat() for name in HNSW_FILES}
    if odd := [name for name, seen in found.items() if not stat.S_ISREG(seen.st_mode)]:
        raise OSError(f"{odd[0]} is not a regular file")
    return {name: seen.st_size for name, seen in found.items()}


def read_header(folder: Path, facts: Facts) -> Header:
    """The header of the graph; raises OSError or struct.error."""
    with (folder / facts.vectors_segment / HEADER).open("rb") as file:
        return Header(*_HEADER.unpack(file.read(_HEADER.size)))


def evidence(folder: Path) -> str | None:
    """The fingerprint, a JSON list; None when anything that it is made of cannot be read.

    File times and the database's size are left out: they change when a reader opens the generation.
    """
    try:
        facts = read_facts(folder)
        sizes = file_sizes(folder, facts)
        told = (facts.collection, facts.dim, facts.generation, facts.rows_seq, facts.vectors_seq, sizes)
        signed = (*told, facts.made) if facts.made else told  # one of an earlier version is not
        return json.dumps(signed, separators=(",", ":"))
    except UNREADABLE:
        return None


def slots(folder: Path) -> int:
    """Nodes of the graph, deleted ones included; 0 when it cannot be told."""
    try:
        facts = read_facts(folder)
        file_sizes(folder, facts)
        return read_header(folder, facts).count
    except UNREADABLE:
        return 0
