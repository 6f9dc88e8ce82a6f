"""Where a record lies, and whether it is all there; known without SQLite."""

from pathlib import Path

FILE_NAME = "record.sqlite3"


def has_log(path: Path) -> bool:
    """Whether somebody is writing, or was killed while he did: what his log holds is not in the file yet."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False
