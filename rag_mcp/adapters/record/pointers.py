"""The pointer, the one line of the record that says what is current: read before anything else is loaded."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import asdict

from rag_mcp.adapters.record.schema import NO_TAIL, connect_reader, translated
from rag_mcp.effects.record import Indexed, Pointer, RecordDamaged
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
    try:
        identity = EmbedderIdentity(**json.loads(embedder))
    except (ValueError, TypeError) as error:
        raise RecordDamaged("the embedder that it names cannot be read") from error
    told = _read_tail(tail, token)
    indexed = Indexed(folder, evidence, told) if told else Indexed(folder)  # doubted, and made anew by the next run
    return Pointer(generation, token, root, identity, indexed, vectors, finished)


def _read_tail(stored: str, token: str) -> Tail | None:
    """The tail; None where it is not the one that was written with this token."""
    if stored == NO_TAIL:
        return Tail()
    try:
        came, went, mark = json.loads(stored)
        tail = Tail(frozenset(came), frozenset(went))
        return tail if mark == _mark(tail, token) else None
    except (ValueError, TypeError):
        return None


def _tail_value(tail: Tail, token: str) -> str:
    return json.dumps([sorted(tail.came), sorted(tail.went), _mark(tail, token)], separators=(",", ":"))


def _mark(tail: Tail, token: str) -> str:
    return hashlib.sha256(repr((token, sorted(tail.came), sorted(tail.went))).encode()).hexdigest()[:32]


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
        _tail_value(pointer.indexed.tail, pointer.token),
    )
