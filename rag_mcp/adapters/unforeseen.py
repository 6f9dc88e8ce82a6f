"""What nobody foresaw, for a user of the command line: a sentence; where it happened goes to a file."""

import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from rag_mcp.adapters.settings import log_folder
from rag_mcp.pure.paths import printable


def sentence(error: Exception) -> str:
    """What to say of it; the traceback is noted in the user's log folder, if that can be written."""
    place = noted(error)
    where = f"where it happened stands in {printable(str(place))}" if place else "its traceback could not be noted"
    said = printable(" ".join(str(error).split()))[:300]
    return f"unexpected {type(error).__name__}: {said}; this is a fault of rag-mcp, please report it: {where}"


def noted(error: Exception) -> Path | None:
    """The file with the traceback, which holds the last one only; None where none could be written."""
    with suppress(OSError, RuntimeError):  # the latter where nobody knows of a home
        folder = log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / "fault.log"
        lines = traceback.format_exception(error)
        place.write_text(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n{''.join(lines)}", "utf-8", "backslashreplace")
        return place
    return None
