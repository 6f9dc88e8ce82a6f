"""What a server says beside the protocol: short lines on stderr, and few of them; details in a file of its own.

Hosts may start a server with a pipe on stderr that nobody reads. Once it is full, the next line blocks the server for
good; so no more than ROOM characters ever go there, and never a traceback.
"""

import logging
import os
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from rag_mcp.adapters.settings import log_folder

ROOM = 3_500
"""Characters for each process; a pipe may hold as little as 4,096."""
LINE = 300
KEPT = 20
"""Log files of earlier processes."""


class OneLine(logging.StreamHandler):  # type: ignore[type-arg]
    """Warnings on stderr, one line each, until there is no more room."""

    left = ROOM

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, or that there are no more."""
        error = record.exc_info[1] if record.exc_info else None
        cause = f" [{type(error.__cause__ or error).__name__}]" if error else ""
        said = " | ".join(record.getMessage().split("\n"))[:LINE]
        line = f"rag-mcp {record.levelname} {said}{cause}"
        if self.left > 0:
            self.left -= len(line) + 1
            with suppress(OSError, ValueError):
                self.stream.write((line if self.left > 0 else "rag-mcp WARNING more in the log file only") + "\n")
                self.flush()


def begin() -> None:
    """Send all logging and all warnings to the two places, before the SDK is imported and sets up its own."""
    root = logging.getLogger()
    root.handlers.clear()
    root.setLevel(logging.INFO)
    lines = OneLine()
    lines.setLevel(logging.WARNING)
    root.addHandler(lines)
    with suppress(OSError):
        root.addHandler(_file())
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False


def _file() -> logging.Handler:
    place = log_folder()
    place.mkdir(parents=True, exist_ok=True)
    _tidy(place)
    handler = RotatingFileHandler(
        place / f"server-{os.getpid()}.log", maxBytes=1_000_000, backupCount=3, delay=True, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.setLevel(logging.INFO)
    return handler


def _tidy(place: Path) -> None:
    """Remove the oldest files of processes that are gone or long silent."""
    with suppress(OSError):
        files = sorted(place.glob("server-*.log*"), key=lambda path: path.stat().st_mtime)
        for path in files[: -KEPT or None]:
            path.unlink(missing_ok=True)
