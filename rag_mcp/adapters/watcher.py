"""Changes below a folder, as the operating system tells of them (watchfiles); by looking where it cannot.

armed           counts as a change: whatever happened before is looked at once
root gone       waited for; a folder that is put in its place is watched anew
no more watches (inotify has limits) said in a sentence, then the tree is looked through every few seconds
"""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from returns.result import Success

from rag_mcp.pure.ignore import Rules
from rag_mcp.pure.paths import is_under, relative
from rag_mcp.pure.watching import concerns

GATHER, STEP = 200, 50
"""Milliseconds in which events are put together; when a look follows is decided elsewhere."""
WAKE = 500
"""Milliseconds after which the root itself is looked at: that it went away is told to nobody."""
POLL = 3_000
"""Milliseconds between two looks through a tree that cannot be watched."""


class FolderChanges:
    """Implements `effects.watch.Changes` for the folder `root`; `skip` are folders whose changes mean nothing.

    `say` is given a sentence when the system has no more watches to give. Use as a context manager.
    """

    def __init__(
        self,
        root: str,
        excludes: tuple[str, ...],
        skip: Iterable[str],
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self._root = root
        match Rules.of(excludes):
            case Success(rules):
                self._rules = rules
            case _:  # every look will say what is amiss with them
                self._rules = Rules()
        self._skip = [below for place in skip if (below := relative(os.path.realpath(place), root))]
        self._stop = stop
        self._say = say
        self._polling = False
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> "FolderChanges":
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End watching."""
        self._stop.set()
        self._thread.join(timeout=5)

    @property
    def ended(self) -> bool:
        """True once `stop` is set."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """True as soon as there is a change."""
        if not self._changed.wait(seconds):
            return False
        self._changed.clear()
        return not self.ended

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                here = identity(self._root)
                if here is None:
                    self._stop.wait(WAKE / 1000)
                else:
                    self._follow(here)
        finally:
            self._stop.set()
            self._changed.set()

    def _follow(self, here: tuple[int, int]) -> None:
        """Tell of changes until the root is another, or cannot be watched."""
        from watchfiles import watch

        told = watch(
            self._root,
            watch_filter=None,
            debounce=GATHER,
            step=STEP,
            rust_timeout=WAKE,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
            force_polling=self._polling or None,
            poll_delay_ms=POLL,
            ignore_permission_denied=True,
        )
        armed = False
        try:
            for changes in told:
                moved = identity(self._root) != here
                if not armed or moved or any(self._matters(path) for _, path in changes):
                    self._changed.set()
                armed = True
                if moved:
                    return
        except (OSError, RuntimeError) as error:
            self._cannot(here, error)

    def _cannot(self, here: tuple[int, int], error: Exception) -> None:
        if identity(self._root) == here and not self._polling:
            self._polling = True
            self._say(
                f"the system could not watch {self._root} ({' '.join(str(error).split())[:200]}); it is looked through"
                f" every {POLL // 1000} seconds instead; more watches: fs.inotify.max_user_watches, max_user_instances"
            )
        else:
            self._stop.wait(WAKE / 1000)

    def _matters(self, path: str) -> bool:
        below = relative(path, self._root)
        if not below:
            return True
        if any(below == place or is_under(below, place) for place in self._skip):
            return False
        return concerns(self._rules, below, regular=Path(path).is_file())


def identity(root: str) -> tuple[int, int] | None:
    """What tells this folder from another of the same name; None where there is none."""
    try:
        found = Path(root).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
