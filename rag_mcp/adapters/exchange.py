"""Stores exchanged by renames, with the writers' locks of all of them held; `pure.cutover` says in what order."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from returns.result import Failure

from rag_mcp.adapters.lock import WriterLock, held
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure.cutover import FAMILY, STORE, Move, unfinished

if TYPE_CHECKING:
    from rag_mcp.effects.ports import Checkpoint

GOING = ".discarded"
"""A store that is being removed; no command takes it for one."""


def member(store: Path, which: str) -> Path:
    """The folder of one of the family."""
    return store.with_name(store.name + which)


def family(store: Path) -> tuple[Path, ...]:
    """The folders of all of a store's family, whichever of them was named."""
    for which in (*FAMILY[1:], GOING):
        store = store.with_name(store.name.removesuffix(which) or store.name)
    return tuple(member(store, which) for which in (*FAMILY, GOING))


def there(store: Path) -> frozenset[str]:
    """Which of the family have a folder."""
    return frozenset(which for which in FAMILY if member(store, which).is_dir())


def exchange(store: Path, moves: Sequence[Move], checkpoint: "Checkpoint" = lambda _: None) -> None:
    """Do the renames. Raises Refused(WriterBusy) where one is being written; then nothing was renamed."""
    with ExitStack() as locks:
        for which in sorted({source for source, _ in moves} & there(store)):
            lock = WriterLock(member(store, which))
            locks.enter_context(held(lock))
            taken = lock.acquire()
            if isinstance(taken, Failure):
                raise Refused(taken.failure())
        for source, target in moves:
            member(store, source).rename(member(store, target))
            _sync(store.parent)
            checkpoint(f"{source} -> {target}")


def mend(store: Path) -> bool:
    """Finish an exchange that was interrupted; True when there was one. Raises Refused(WriterBusy)."""
    moves = unfinished(there(store))
    if moves:
        exchange(store, moves)
    return bool(moves)


def mend_missing(store: Path) -> None:
    """The same where the store itself is not there: the one stat of an ordinary run."""
    if not member(store, STORE).is_dir():
        mend(store)


def remove(store: Path, which: str) -> None:
    """Remove one of the family: under another name first, so that half of a store is never taken for one."""
    import shutil

    shutil.rmtree(member(store, GOING), ignore_errors=True)
    exchange(store, ((which, GOING),))
    shutil.rmtree(member(store, GOING))


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
