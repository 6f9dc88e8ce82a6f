"""Progress for people: bars with rate and time left, on a terminal only; otherwise silence."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from rag_mcp.effects.ports import Progress, Silence


def progress_for(*, hidden: bool, after: float = 0.0) -> Progress:
    """Bars on standard error, if that is a terminal and they are wanted; none in the first `after` seconds."""
    return Silence() if hidden or not sys.stderr.isatty() else Bars(after)


class Bars:
    """One bar for each task that takes more than a moment. Implements `effects.ports.Progress`."""

    def __init__(self, after: float = 0.0) -> None:
        self._after = after

    @contextmanager
    def task(
        self, name: str, total: int, items: int | None = None, unit: str = "files"
    ) -> Iterator[Callable[[int], None]]:
        """A bar of `total` units; loaded and drawn only when there is something to wait for."""
        begun, done = time.monotonic(), 0
        label = name if items is None else f"{name} {items} texts"
        move: Callable[[int], None] | None = None
        with ExitStack() as drawn:

            def advance(units: int) -> None:
                nonlocal done, move
                done += units
                if move is not None:
                    move(units)
                elif total and time.monotonic() - begun >= self._after:
                    move = drawn.enter_context(_bar(label, total, unit, begun))
                    move(done)

            if not self._after:
                advance(0)
            yield advance


@contextmanager
def _bar(label: str, total: int, unit: str, begun: float) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that is gone when the block ends; `begun` is a time of `time.monotonic`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn

    columns: list[ProgressColumn | str] = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total, rate="")

        def advance(units: int) -> None:
            bars.advance(task, units)
            bars.update(task, rate=rate(bars.tasks[0].completed, total, time.monotonic() - begun, unit))

        yield advance


def rate(done: float, total: float, seconds: float, unit: str) -> str:
    """How quick it goes, and the time left: by all that was done, since what comes next may be of another kind."""
    if done <= 0 or seconds <= 0:
        return ""
    left = round(seconds * (total - done) / done)
    return f"{done / seconds:,.0f} {unit}/s   {timedelta(seconds=left)} left"
