"""From one store to another by renames, in an order in which a kill at any place says by itself how to go on.

    STORE.next       the new one, built beside          STORE.undone   the new one, on its way back
    STORE.previous   the old one, for going back

    switch    STORE -> .previous; .next -> STORE
    rollback  STORE -> .undone; .previous -> STORE; .undone -> .next

Without STORE, `.undone` means that a rollback was under way, `.next` beside `.previous` that a switch was: what is left
of it is done. Nothing is embedded, and nothing is removed.
"""

from collections.abc import Sequence

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.shown import Shown

STORE, NEXT, PREVIOUS, UNDONE = "", ".next", ".previous", ".undone"
FAMILY = (STORE, NEXT, PREVIOUS, UNDONE)

Move = tuple[str, str]
"""From which of the family to which."""

SWITCH: tuple[Move, ...] = ((STORE, PREVIOUS), (NEXT, STORE))
ROLLBACK: tuple[Move, ...] = ((STORE, UNDONE), (PREVIOUS, STORE), (UNDONE, NEXT))


@frozen(repr=False)
class Verdict(Shown):
    """What comparing by golden cases said: of which commit of the new store, and whether it was worse."""

    golden: str
    generation: int
    worse: bool


def unfinished(there: frozenset[str]) -> tuple[Move, ...]:
    """What an exchange that was interrupted has still to do, by which of the family are there."""
    if STORE in there:
        return ((UNDONE, NEXT),) if UNDONE in there and NEXT not in there else ()
    if UNDONE in there:
        if PREVIOUS not in there:
            return ((UNDONE, STORE),)
        return ROLLBACK[1:2] if NEXT in there else ROLLBACK[1:]
    return SWITCH[1:] if {NEXT, PREVIOUS} <= there else ()


def switch(
    there: frozenset[str], verdict: Verdict | None, generation: int, *, anyway: bool
) -> Result[Sequence[Move], ConfigError]:
    """The renames of a switch, or why it is not done. `generation`: the commit of the new store, 0 without one."""
    if NEXT not in there or generation == 0:
        return Failure(
            ConfigError("there is no new store to switch to; build one with: rag-mcp cutover --embedder NAME")
        )
    if STORE not in there:
        return Failure(ConfigError("there is no store to be switched from; rename the new one by hand"))
    if PREVIOUS in there:
        return Failure(
            ConfigError("the store of an earlier cutover is still there: rag-mcp cutover --discard removes it")
        )
    if verdict is not None and not anyway:
        if verdict.generation != generation:
            return Failure(ConfigError("the new store changed since it was compared; compare again: rag-mcp cutover"))
        if verdict.worse:
            return Failure(
                ConfigError(
                    f"the new store answers the cases of {verdict.golden} worse; --anyway switches all the same"
                )
            )
    return Success(SWITCH)


def rollback(there: frozenset[str]) -> Result[Sequence[Move], ConfigError]:
    """The renames of going back, or why it cannot be done."""
    if PREVIOUS not in there or STORE not in there:
        return Failure(ConfigError("there is no earlier store to go back to"))
    if NEXT in there:
        return Failure(ConfigError("another new store is being built: rag-mcp cutover --discard removes it"))
    return Success(ROLLBACK)


def discard(there: frozenset[str]) -> Result[str, ConfigError]:
    """Which one goes: a new store that is being built, else the old one that is kept."""
    for which in (NEXT, PREVIOUS):
        if which in there:
            return Success(which)
    return Failure(ConfigError("there is nothing beside the store that could be discarded"))
