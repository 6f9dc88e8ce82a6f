"""How long each look-up of a search took."""

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

from attrs import define, field

from rag_mcp.pure.citations import LookUp
from rag_mcp.pure.shown import Shown

ORDER = ("question", "words", "vectors", "rows")
T = TypeVar("T")


@define(repr=False)
class Stopwatch(Shown):
    """Sums by name, of one search; what runs in another thread has a name of its own."""

    _spent: dict[str, float] = field(factory=lambda: defaultdict(float))
    _found: dict[str, tuple[int, int]] = field(factory=dict)

    def of(self, name: str, work: Callable[[], T]) -> T:
        """What the work gives; its time is added to the name."""
        began = perf_counter()
        try:
            return work()
        finally:
            self._spent[name] += perf_counter() - began

    def brought(self, name: str, found: int, bound: int) -> None:
        """What it found last, of how many at most."""
        self._found[name] = found, bound

    def lookups(self) -> tuple[LookUp, ...]:
        """All that were done, in the order in which they begin."""
        done = [name for name in ORDER if name in self._found and name in self._spent]
        return tuple(LookUp(name, 1e3 * self._spent[name], *self._found[name]) for name in done)
