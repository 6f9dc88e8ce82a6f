"""How rows and entries lie in the tables, and how they are read back."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import asdict

from rag_mcp.adapters.record.schema import translated
from rag_mcp.effects.record import RecordDamaged
from rag_mcp.pure.classify import HANDOFF
from rag_mcp.pure.coverage import Uncovered
from rag_mcp.pure.identity import Choices, Chunking, Labelling
from rag_mcp.pure.manifest import Entry, RowsSeen, row_mark
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.values import Chunk, Lack

if TYPE_CHECKING:
    from rag_mcp.pure.citations import Row

T = TypeVar("T")
MANY = 5_000
PAGE = 500  # bound parameters of one statement; SQLite allows 32,766

ROW_COLUMNS = (
    'path, ordinal, mark, key, rid, "start", "end", start_line, end_line, heading_path, crumb, text,'
    " doc_class, lifecycle"
)


def of_class(doc_class: str | None) -> tuple[str, list[str]]:
    """A condition on rows of the class (None: any), begun with "and", and its values.

    Whatever is no hand-over is a note, so that what another version left unclassified is missing from no answer.
    """
    if doc_class is None:
        return "", []
    return ("and rows.doc_class = ?" if doc_class == HANDOFF else "and rows.doc_class <> ?"), [HANDOFF]


def pages(items: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """The items in lists of at most `size`."""
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page


def marks(count: int) -> str:
    """Placeholders for `count` parameters."""
    return ",".join("?" * count)


def packed(text: str) -> str | bytes:
    """A text as it is stored: compressed, where that makes it shorter."""
    plain = text.encode()
    short = zlib.compress(plain)
    return short if len(short) < len(plain) else text


def unpacked(stored: str | bytes) -> str:
    """The text that was stored. Raises RecordDamaged."""
    if isinstance(stored, str):
        return stored
    try:
        return zlib.decompress(stored).decode()
    except (zlib.error, UnicodeDecodeError, TypeError) as error:
        raise RecordDamaged(f"a text is not what was stored ({error})") from error


def row_values(path: str, chunk: Chunk, doc_class: str, lifecycle: str, *, pack: bool) -> tuple[Any, ...]:
    """One row, in the order of ROW_COLUMNS; its vector is named later."""
    return (
        path,
        chunk.ordinal,
        row_mark(path, chunk, doc_class, lifecycle),
        bytes.fromhex(chunk.key),
        None,
        chunk.start,
        chunk.end,
        chunk.start_line,
        chunk.end_line,
        json.dumps(chunk.heading_path),
        chunk.crumb,
        packed(chunk.text) if pack else chunk.text,
        doc_class,
        lifecycle,
    )


def chunk_of(row: sqlite3.Row) -> Chunk:
    """A stored row as a chunk; `tokens` is not stored. Raises RecordDamaged."""
    try:
        heading_path = tuple(map(str, json.loads(row["heading_path"])))
    except (ValueError, TypeError) as error:
        raise RecordDamaged(f"a heading is not what was stored ({error})") from error
    return Chunk(
        ordinal=row["ordinal"],
        key=row["key"].hex(),
        text=unpacked(row["text"]),
        start=row["start"],
        end=row["end"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        heading=heading_path[-1] if heading_path else None,
        heading_path=heading_path,
        crumb=row["crumb"],
        tokens=0,
    )


def sound(rows: Iterable[sqlite3.Row]) -> Iterator[tuple[sqlite3.Row, Chunk]]:
    """Rows with their chunks; damaged ones, which a check finds, are left out."""
    for row in rows:
        with suppress(RecordDamaged):
            yield row, chunk_of(row)


def stored_chunks(db: sqlite3.Connection, path: str) -> list[tuple[int, Chunk]]:
    """(row id, chunk) of a path's rows, in order. Raises RecordDamaged."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    found = cursor.execute(f"select id, {ROW_COLUMNS} from rows where path = ? order by ordinal", [path])
    with translated():
        return [(row["id"], chunk_of(row)) for row in found]


def cited_row(row: sqlite3.Row, chunk: Chunk, holders: tuple[str, ...] = ()) -> "Row":
    """A stored row, joined with its file's digest, as a search reads it; `holders` as in `citations.Row`."""
    from rag_mcp.pure.citations import Row

    return Row(
        rid=row["rid"].hex(),
        key=chunk.key,
        source=row["path"],
        ordinal=chunk.ordinal,
        heading=chunk.heading,
        heading_path=chunk.heading_path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        start=chunk.start,
        end=chunk.end,
        text=chunk.text,
        doc_class=row["doc_class"],
        digest=row["digest"] or "",
        holders=holders,
        lifecycle=row["lifecycle"],
    )


def entry_values(entry: Entry) -> tuple[Any, ...]:
    """One line of `files`."""
    return (
        entry.path,
        entry.digest,
        entry.size,
        entry.recipe,
        entry.labels,
        entry.rows.count,
        entry.rows.mark,
        entry.title,
        entry.doc_class,
        json.dumps(entry.warnings),
        entry.lifecycle,
    )


def read_entries(connection: sqlite3.Connection, path: str | None = None) -> dict[str, Entry]:
    """The manifest, or what it says of one path."""
    rows = connection.execute(
        "select path, digest, size, recipe, labels, passages, mark, title, doc_class, warnings, lifecycle from files"
        + ("" if path is None else " where path = ?"),
        [] if path is None else [path],
    )
    return {
        path: Entry(
            path, digest, size, recipe, labels, RowsSeen(*seen), title, doc_class, read_warnings(warnings), lifecycle
        )
        for path, digest, size, recipe, labels, *seen, title, doc_class, warnings, lifecycle in rows
    }


def read_warnings(stored: str) -> tuple[str, ...]:
    """The warnings of an entry as `files` holds them."""
    return () if stored == "[]" else tuple(json.loads(stored))


def unseen_value(unseen: Sequence[Uncovered]) -> str:
    """What a run could not have, as the one line of `coverage` holds it."""
    return json.dumps([(each.path, each.lack.value, each.why) for each in unseen])


def read_unseen(connection: sqlite3.Connection) -> tuple[Uncovered, ...]:
    """What the last run could not have; nothing where the record is older than the question."""
    if not connection.execute("select 1 from sqlite_schema where name = 'coverage'").fetchone():
        return ()
    row = connection.execute("select unseen from coverage").fetchone()
    return tuple(Uncovered(path, Lack(lack), why) for path, lack, why in json.loads(row[0])) if row else ()


def choices_value(choices: Choices) -> str:
    """What was chosen, as the one line of `choices` holds it."""
    return json.dumps(asdict(choices))


def read_choices(connection: sqlite3.Connection) -> Choices:
    """What was chosen for the store; the defaults where nothing was, or nothing that this version understands."""
    if not connection.execute("select 1 from sqlite_schema where name = 'choices'").fetchone():
        return Choices()
    row = connection.execute("select choices from choices").fetchone()
    with suppress(ValueError, TypeError, KeyError):
        kept = json.loads(row[0])
        names = tuple(map(str, kept["labelling"].pop("mirror_basenames")))
        return Choices(Chunking(**kept["chunking"]), Labelling(**kept["labelling"], mirror_basenames=names))
    return Choices()


def revision_value(revision: Revision) -> str:
    """The stamp of a corpus, as the one line of `revision` holds it."""
    return json.dumps(asdict(revision))


def read_revision(connection: sqlite3.Connection) -> Revision | None:
    """What the corpus was at; None where the record is older than the question, or says what nobody understands."""
    if not connection.execute("select 1 from sqlite_schema where name = 'revision'").fetchone():
        return None
    row = connection.execute("select revision from revision").fetchone()
    with suppress(ValueError, TypeError):
        return Revision(**json.loads(row[0]))
    return None


def keyword_values(row_id: int, title: str | None, chunk: Chunk) -> tuple[Any, ...]:
    """What the keyword index is told of a row, when it comes and, word for word, when it goes."""
    from rag_mcp.pure.words import filed

    return (row_id, filed(title or ""), filed(" ".join(chunk.heading_path)), filed(chunk.text))


def read_vectors(connection: sqlite3.Connection, rids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """(rid, vector) of those that are there. Very many are found sooner by reading all in their order on the disk."""
    if len(rids) > MANY:
        wanted = set(rids)
        every = ((rid.hex(), vector) for rid, vector in connection.execute("select rid, vector from vectors"))
        yield from ((name, vector) for name, vector in every if name in wanted)
        return
    for page in pages(rids):
        found = connection.execute(
            f"select rid, vector from vectors where rid in ({marks(len(page))})", [bytes.fromhex(r) for r in page]
        )
        yield from ((rid.hex(), vector) for rid, vector in found)
