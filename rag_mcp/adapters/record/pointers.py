"""The pointer, the one line of the record that says what is current: read before anything else is loaded."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import asdict

from rag_mcp.adapters.record.schema import connect_reader, translated
from rag_mcp.effects.record import Indexed, Pointer
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.tail import Tail


def stored_pointer(folder: Path) -> Pointer | None:
    """What the record in a folder points to. Raises as `connect_reader` and `translated` do."""
    with translated(), closing(connect_reader(folder)) as db:
        return read_pointer(db)


def read_pointer(connection: sqlite3.Connection) -> Pointer | None:
    """The current pointer, None before the first commit."""
    row = connection.execute(
        "select generation, token, root, embedder, folder, evidence, tail, vectors, finished from pointer"
    ).fetchone()
    if row is None:
        return None
    generation, token, root, embedder, folder, evidence, tail, vectors, finished = row
    identity = EmbedderIdentity(**json.loads(embedder))
    indexed = Indexed(folder, evidence, _read_tail(tail))
    return Pointer(generation, token, root, identity, indexed, vectors, finished)


def _read_tail(stored: str | None) -> Tail:
    if stored is None:
        return Tail()
    came, went = json.loads(stored)
    return Tail(frozenset(came), frozenset(went))


def _tail_value(tail: Tail) -> str:
    return json.dumps([sorted(tail.came), sorted(tail.went)], separators=(",", ":"))


def pointer_values(pointer: Pointer) -> tuple[Any, ...]:
    """The one line of `pointer`."""
    return (
        1,
        pointer.generation,
        pointer.token,
        pointer.root,
        json.dumps(asdict(pointer.embedder)),
        pointer.indexed.folder,
        pointer.indexed.evidence,
        pointer.vectors,
        pointer.finished,
        _tail_value(pointer.indexed.tail),
    )
