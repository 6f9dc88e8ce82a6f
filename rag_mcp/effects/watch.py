"""The loop of a watch: `pure.watching` says what to do next, this does it."""

from collections.abc import Callable
from typing import Protocol

from rag_mcp.pure.watching import Look, Looked, Outcome, Timing, Wait, Watching, ask, begun, changed, ended


class Changes(Protocol):
    """Tells of changes. Between two calls nothing is lost."""

    def wait(self, seconds: float) -> bool:
        """True as soon as something was changed since the last call; False after so long, or once it has ended."""

    @property
    def ended(self) -> bool:
        """True when nobody wants to know any more."""


def watch(
    look: Callable[[], Outcome],
    changes: Changes,
    clock: Callable[[], float],
    tell: Callable[[Looked], None],
    timing: Timing,
) -> None:
    """Look whenever it is time to, and tell of each look, until the changes end. `clock` counts seconds."""
    state = Watching()
    while not changes.ended:
        match ask(state, timing, clock()):
            case Wait(seconds):
                if changes.wait(seconds):
                    state = changed(state, clock())
            case Look():
                state = begun(state, clock())
                state, looked = ended(state, timing, look(), clock())
                tell(looked)
