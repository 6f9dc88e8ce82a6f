"""A watch over one index: its changes, its looks, and the failures that no waiting mends."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from rag_mcp.adapters.beginning import skipped
from rag_mcp.adapters.settings import is_folder
from rag_mcp.adapters.watcher import FolderChanges
from rag_mcp.adapters.wiring import Parts, stored_pointer
from rag_mcp.effects import watch as loop
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure.errors import ConfigError, CorpusMissing
from rag_mcp.pure.summary import Report
from rag_mcp.pure.watching import Looked, Outcome, Timing


def watch(
    parts: Parts,
    ingest: Callable[[], Report],
    tell: Callable[[Looked], None],
    timing: Timing | None,
    stop: threading.Event,
    say: Callable[[str], None],
) -> None:
    """Ingest whenever it is time to, until `stop` is set. Raises Refused(ConfigError | CorpusMissing)."""
    if parts.corpus is None:
        raise Refused(ConfigError("no corpus was named, and the store does not know one"))
    root = parts.corpus.root
    if not is_folder(Path(root)) and stored_pointer(parts.folder) is None:  # mistyped, rather than not mounted
        raise Refused(CorpusMissing(root, "no such folder"))

    def look() -> Outcome:
        try:
            return ingest()
        except Refused as refused:
            if isinstance(refused.failure, ConfigError):
                raise
            return refused.failure

    settings = parts.settings
    with FolderChanges(root, settings.excludes, skipped(settings), stop, say) as changes:
        loop.watch(look, changes, time.monotonic, tell, timing or Timing())
