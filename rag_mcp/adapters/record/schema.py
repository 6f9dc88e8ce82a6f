"""Tables of `record.sqlite3`, and how a connection to one is opened, made and distrusted.

WAL, one writer. `application_id` says that a file is ours, `user_version` which shape it has. Content keys and
rids are 16-byte blobs. `keywords` keeps no text of its own (content=''): its rows are taken out by giving it
the very words that were put in, which the rows hold. `repeats`, `snapshots` and `grouped` are derived from the rows.

    version 1   another tokenizer: a reader takes it as it is, a writer makes `keywords` anew and the run fills it
    version 2   nothing was told of repeats: a reader sees none, a writer makes the tables and the run fills them
    version 3   no lifecycle: a reader sees current rows, a writer adds the column and the run writes every row again
    version 4   texts are not compressed: a reader takes both, a writer goes on without (`packs`)
    version 5   the index holds all vectors: no tail is told
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_mcp.adapters.record.place import FILE_NAME, has_log
from rag_mcp.effects.record import RecordDamaged, RecordForeign, RecordUnavailable

APPLICATION_ID = 0x7261674D
SCHEMA_VERSION = 6
OLDEST = 1
WORDS_SINCE = 2
"""The version from which on keywords are filed as they are now."""
REPEATS_SINCE = 3
LIFECYCLE_SINCE = 4
TAIL_SINCE = 6
WAIT_SECONDS = 10.0

KEYWORDS = """
create virtual table keywords using fts5(
    title, headings, body, content='',
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
"""
COVERAGE = """
create table if not exists coverage(one integer primary key check (one = 1), unseen text not null) strict
"""
"""Made at need in a record that began without it; JSON, since a path need not be Unicode."""

REPEATS = """
create table {place}repeats(
    path text not null, ordinal integer not null, first_path text not null, first_ordinal integer not null,
    primary key (path, ordinal)) strict, without rowid;
create index {place}repeats_first on repeats(first_path, first_ordinal);
create table {place}snapshots(path text primary key) strict, without rowid;
create table {place}grouped(
    one integer primary key check (one = 1), dedupe integer not null, broken text not null, mark text not null,
    lines integer not null) strict;
"""
"""`broken` is JSON, as `coverage` is."""
LIFECYCLE = """
alter table rows add column lifecycle text not null default 'current';
alter table files add column lifecycle text not null default 'current';
"""
RETIRED = "create index rows_retired on rows(path) where lifecycle <> 'current'"
CURRENT_VIEWS = """
create temp view rows as select *, 'current' as lifecycle from main.rows;
create temp view files as select *, 'current' as lifecycle from main.files;
"""
"""What a reader takes for the tables of a record that has no lifecycle yet."""
NO_TAIL = "none"
"""What is told where an earlier version made the index."""
TAIL = f"alter table pointer add column tail text not null default '{NO_TAIL}'"
WITHOUT_TAIL = f"create temp view pointer as select *, '{NO_TAIL}' as tail from main.pointer"
CHOICES = """
create table if not exists choices(one integer primary key check (one = 1), choices text not null) strict
"""
"""Made at need, once something was chosen that is not the default; JSON."""
REVISION = """
create table if not exists revision(one integer primary key check (one = 1), revision text not null) strict
"""
"""Made at need; JSON."""

SCHEMA = f"""
create table pointer(
    one integer primary key check (one = 1), generation integer not null, token text not null, root text not null,
    embedder text not null, folder text, evidence text, vectors integer not null,
    finished text not null, tail text not null) strict;
create table files(
    path text primary key, digest text not null, size integer not null, recipe text not null, labels text not null,
    passages integer not null, mark integer not null, title text, doc_class text not null,
    warnings text not null, lifecycle text not null default 'current') strict, without rowid;
create table rows(
    id integer primary key, path text not null, ordinal integer not null, mark integer not null, key blob not null,
    rid blob, "start" integer not null, "end" integer not null, start_line integer not null,
    end_line integer not null, heading_path text not null, crumb text not null, text any not null,
    doc_class text not null, lifecycle text not null default 'current') strict;
create unique index rows_place on rows(path, ordinal, mark);
create index rows_vector on rows(rid, path);
create index rows_class on rows(doc_class, rid);
{RETIRED};
create table embedders(id integer primary key, fingerprint text not null unique, identity text not null) strict;
create table contents(
    embedder integer not null, key blob not null, rid blob not null, serial integer not null,
    primary key (embedder, key)) strict, without rowid;
create index contents_rid on contents(rid);
create table vectors(id integer primary key, rid blob not null unique, vector blob not null) strict;
{KEYWORDS}
{COVERAGE};
{REPEATS.format(place="")}
pragma application_id = {APPLICATION_ID};
pragma user_version = {SCHEMA_VERSION};
"""


@contextmanager
def translated() -> Iterator[None]:
    """SQLite's errors as the record's own three."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if any(told in str(error) for told in ("no such table", "no such column", "decode to UTF-8")):
            raise RecordDamaged(str(error)) from error
        raise RecordUnavailable(str(error)) from error
    except sqlite3.DatabaseError as error:
        raise RecordDamaged(str(error)) from error


def connect_writer(folder: Path) -> sqlite3.Connection:
    """The writer's connection, the folder and the tables made where there are none."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    fresh = not path.exists()
    with translated():
        connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if fresh:
                _create(connection)
            _renew(connection, _check(connection))
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = full")
        except BaseException:
            connection.close()
            raise
    return connection


def connect_reader(folder: Path) -> sqlite3.Connection:
    """A reader's connection: it creates no store, and writes nothing.

    A log that a writer left, or is writing, is read and left: only who may write folds it into the file on closing.
    Where there is none, who may not write would leave an empty one. Where the folder cannot be written SQLite cannot
    keep its shared memory file; then the record is read as it stands, which is safe: nobody can be writing to it.
    """
    path = folder / FILE_NAME
    before = _inode(path)
    with translated():
        try:
            return _opened(path)
        except sqlite3.Error:
            if _inode(path) == before:
                raise
            return _opened(path)  # a store was exchanged for another just then


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _open_reader(path, "mode=ro" if has_log(path) else "mode=rw")
    except sqlite3.OperationalError:
        return _open_reader(path, "mode=ro&immutable=1")


def _inode(path: Path) -> int:
    """What tells this record from another of the same name. Raises FileNotFoundError where there is none."""
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.stat().st_ino


def _open_reader(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    connection = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if (version := _check(connection)) < TAIL_SINCE:
            connection.execute("pragma temp_store = memory")
            repeats = REPEATS.format(place="temp.") if version < REPEATS_SINCE else ""
            current = CURRENT_VIEWS if version < LIFECYCLE_SINCE else ""
            connection.executescript(f"{repeats} {current} {WITHOUT_TAIL}")
        connection.execute("pragma query_only = on")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("pragma page_size = 8192")  # five 384-d vectors a page; with 4096 a quarter is lost
    connection.execute("pragma journal_mode = wal")
    connection.executescript(f"begin immediate; {SCHEMA} commit;")


def _renew(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables of an older version up to this one; the run that comes fills what is new."""
    if version >= TAIL_SINCE:
        return
    words = f"drop table keywords; {KEYWORDS}" if version < WORDS_SINCE else ""
    repeats = REPEATS.format(place="") if version < REPEATS_SINCE else ""
    lifecycle = f"{LIFECYCLE} {RETIRED};" if version < LIFECYCLE_SINCE else ""
    steps = f"{words} {repeats} {lifecycle} {TAIL}; pragma user_version = {TAIL_SINCE};"
    connection.executescript(f"begin immediate; {steps} commit;")


def packs(connection: sqlite3.Connection) -> bool:
    """Whether the table of rows takes compressed texts."""
    sql = "select type from pragma_table_info('rows') where name = 'text'"
    return bool(connection.execute(sql).fetchone() == ("ANY",))


def _check(connection: sqlite3.Connection) -> int:
    """The version of the tables; raises RecordDamaged or RecordForeign."""
    (owner,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
    if owner == 0 and tables == 0:
        raise RecordDamaged("it is empty")
    if owner != APPLICATION_ID:
        raise RecordForeign(f"{FILE_NAME} is a database of another program")
    if not OLDEST <= version <= SCHEMA_VERSION:
        raise RecordForeign(f"{FILE_NAME} has schema {version}, this version of rag-mcp reads schema {SCHEMA_VERSION}")
    return int(version)


def set_aside(folder: Path) -> Path:
    """Rename a damaged record, so that nothing is lost; its log and shared memory files go with it."""
    aside = folder / f"{FILE_NAME}.damaged"
    for end in ("", "-wal", "-shm"):
        source, target = folder / f"{FILE_NAME}{end}", folder / f"{FILE_NAME}.damaged{end}"
        target.unlink(missing_ok=True)
        if source.exists():
            source.replace(target)
    return aside
