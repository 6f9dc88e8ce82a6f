"""Progress for people: bars with rate and time left, on a terminal only; otherwise silence."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rag_mcp.effects.ports import Progress, Silence


def progress_for(*, hidden: bool) -> Progress:
    """Bars on standard error where that is a terminal and they were not turned off."""
    return Silence() if hidden or not sys.stderr.isatty() else Bars()


class Bars:
    """One bar for each task that takes more than a moment. Implements `effects.ports.Progress`."""

    @contextmanager
    def task(self, name: str, total: int, items: int | None = None) -> Iterator[Callable[[int], None]]:
        """A bar of `total` units; loaded and drawn only when there is something to wait for."""
        if total == 0:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            ProgressColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        label = name if items is None else f"{name} {items} texts"
        columns: list[ProgressColumn | str] = [
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(show_speed=True),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        ]
        unit = "files" if items is None else "tokens"
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(label, total=total, rate="")

            def advance(units: int) -> None:
                bars.advance(task, units)
                speed = bars.tasks[0].speed
                bars.update(task, rate=f"{speed:,.0f} {unit}/s" if speed else "")

            yield advance
