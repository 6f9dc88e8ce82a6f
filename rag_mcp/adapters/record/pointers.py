"""The pointer, the one line of the record that says what is current: read before anything else is loaded."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import asdict

from rag_mcp.adapters.record.schema import connect_reader, translated
from rag_mcp.effects.record import Pointer
from rag_mcp.pure.identity import EmbedderIdentity


def stored_pointer(folder: Path) -> Pointer | None:
    """What the record in a folder points to. Raises as `connect_reader` and `translated` do."""
    with translated(), closing(connect_reader(folder)) as db:
        return read_pointer(db)


def read_pointer(connection: sqlite3.Connection) -> Pointer | None:
    """The current pointer, None before the first commit."""
    row = connection.execute(
        "select generation, token, root, embedder, folder, evidence, vectors, finished from pointer"
    ).fetchone()
    if row is None:
        return None
    generation, token, root, embedder, folder, evidence, vectors, finished = row
    identity = EmbedderIdentity(**json.loads(embedder))
    return Pointer(generation, token, root, identity, folder, evidence, vectors, finished)


def pointer_values(pointer: Pointer) -> tuple[Any, ...]:
    """The one line of `pointer`."""
    return (
        1,
        pointer.generation,
        pointer.token,
        pointer.root,
        json.dumps(asdict(pointer.embedder)),
        pointer.folder,
        pointer.evidence,
        pointer.vectors,
        pointer.finished,
    )
