"""Progress for people: bars with rate and time left, on a terminal only; otherwise silence."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rag_mcp.effects.ports import Progress, Silence


def progress_for(*, hidden: bool, after: float = 0.0) -> Progress:
    """Bars on standard error, if that is a terminal and they are wanted; none in the first `after` seconds."""
    return Silence() if hidden or not sys.stderr.isatty() else Bars(after)


AGES = 7 * 86_400.0
"""Seconds."""


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
                    move = drawn.enter_context(_bar(label, total, unit))
                    move(done)

            if not self._after:
                advance(0)
            yield advance


@contextmanager
def _bar(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that is gone when the block ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns: list[ProgressColumn | str] = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=True),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    ]
    # The time left follows from all that was done: what is done in the next half minute may be of another kind.
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=AGES) as bars:
        task = bars.add_task(label, total=total, rate="")

        def advance(units: int) -> None:
            bars.advance(task, units)
            speed = bars.tasks[0].speed
            bars.update(task, rate=f"{speed:,.0f} {unit}/s" if speed else "")

        yield advance
