"""What the SQLite at hand can do."""

import sqlite3
from contextlib import closing


def features() -> tuple[str, bool]:
    """Its version, and whether it has FTS5, asked of a database in memory."""
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("create virtual table words using fts5(body)")
        except sqlite3.OperationalError:
            return sqlite3.sqlite_version, False
    return sqlite3.sqlite_version, True
