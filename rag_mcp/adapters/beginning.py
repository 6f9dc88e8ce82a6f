"""How an ingest begins: with the writer's lock, what the corpus is at, and one look at all of it.

In that order: an edit that comes after the question what the corpus is at is in the look, or in the next run's.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.exchange import family
from rag_mcp.adapters.lock import WriterLock
from rag_mcp.adapters.revisions import revision
from rag_mcp.adapters.settings import Settings
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Listing

if TYPE_CHECKING:  # what is told again is not made again
    from rag_mcp.pure.summary import Report


@frozen(repr=False)
class Seen(Shown):
    """A corpus: the commit that it is at, and every file of it, read and hashed."""

    at: Revision
    look: Listing


def seen(corpus: CorpusFolder) -> Seen:
    """The corpus as it is now."""
    return Seen(revision(corpus.root), corpus.look())


def corpus_folder(settings: Settings, root: Path) -> CorpusFolder:
    """The corpus, the store itself left out where it lies inside."""
    return CorpusFolder(str(root), settings.excludes, skip=skipped(settings))


def skipped(settings: Settings) -> tuple[str, ...]:
    """Folders that are no notes wherever they lie: the store, and what a cutover keeps beside it."""
    return tuple({str(folder): None for place in (settings.store, settings.folder) for folder in family(place)})


def unasked() -> None:
    """Nobody waits for the lock."""


def nothing(seen: Seen, report: "Report") -> None:
    """Makes nothing of it."""


@frozen(repr=False)
class Start(Shown):
    """What a run goes on with where it has begun already: the lock, which it holds, and what it saw.

    While the lock is held, `locked` is told before a store is asked anything that `rested` rests on; and `rested`, what
    a run saw that finds nothing to do, and what it says: this one, or the next one, where this one had work.
    """

    lock: WriterLock | None = None
    seen: Seen | None = None
    locked: Callable[[], None] = unasked
    rested: "Callable[[Seen, Report], None]" = nothing


AFRESH = Start()
"""Nothing was done before."""
