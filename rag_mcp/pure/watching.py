"""When a watched folder is looked at again, and which looks are worth a line.

    look at the start
         when `debounce` quiet seconds followed a change, or `longest` seconds after the first of a row of changes
         `again`, after a look that failed: `retry` seconds later, twice as long each time, at most `whole`
         `whole` seconds after the last look, so that a change that nobody reported is found all the same

A change that comes while a look is under way counts for the next look.
"""

from typing import Any

from attrs import evolve, frozen

from rag_mcp.pure import render
from rag_mcp.pure.codec import converter
from rag_mcp.pure.errors import CorpusMissing, Failure, PruneRefused, WriterBusy
from rag_mcp.pure.ignore import IGNORE_FILE, Rules
from rag_mcp.pure.paths import is_markdown, printable
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.summary import Held, Report

Outcome = Report | Failure


@frozen(repr=False)
class Timing(Shown):
    """Seconds. `longest` is as many times `debounce` as continuous edits may put a look off."""

    debounce: float = 1.0
    whole: float = 300.0
    retry: float = 2.0

    @property
    def longest(self) -> float:
        """Seconds after the first of a row of changes at which they are looked at, quiet or not."""
        return 10 * self.debounce


@frozen(repr=False)
class Watching(Shown):
    """What the watch knows; times in seconds of one clock.

    `first` and `last` are of the changes since the last look began, which was at `looked`; `again` is when a failed
    one is repeated, `failures` how many failed in a row. `told` is the failure, `held` the files, that were told last.
    """

    first: float | None = None
    last: float | None = None
    looked: float | None = None
    again: float | None = None
    failures: int = 0
    told: Failure | None = None
    held: tuple[Held, ...] = ()


@frozen(repr=False)
class Look(Shown):
    """Look now."""


@frozen(repr=False)
class Wait(Shown):
    """Wait for a change, for so many seconds at most."""

    seconds: float


@frozen(repr=False)
class Looked(Shown):
    """A look that ended; `news`: it did something, or failed in a way that was not told yet."""

    outcome: Outcome
    news: bool


def ask(state: Watching, timing: Timing, now: float) -> Look | Wait:
    """What to do at this time."""
    if state.looked is None:
        return Look()
    due = [state.looked + timing.whole]
    if state.first is not None and state.last is not None:
        due.append(min(state.last + timing.debounce, state.first + timing.longest))
    if state.again is not None:
        due.append(state.again)
    return Look() if min(due) <= now else Wait(min(due) - now)


def changed(state: Watching, at: float) -> Watching:
    """Something was changed."""
    return evolve(state, first=at if state.first is None else state.first, last=at)


def begun(state: Watching, at: float) -> Watching:
    """A look begins; it sees every change that was reported before."""
    return evolve(state, first=None, last=None, again=None, looked=at)


def ended(state: Watching, timing: Timing, outcome: Outcome, at: float) -> tuple[Watching, Looked]:
    """A look ended."""
    if isinstance(outcome, Report):
        news = worked(outcome) or outcome.held != state.held or state.told is not None
        return evolve(state, failures=0, told=None, held=outcome.held), Looked(outcome, news)
    news = not _told(state.told, outcome)
    if isinstance(outcome, PruneRefused):  # nothing but a change, or a person, makes that another answer
        return evolve(state, failures=0, told=outcome), Looked(outcome, news)
    again = at + min(timing.retry * 2 ** min(state.failures, 30), timing.whole)
    return evolve(state, failures=state.failures + 1, told=outcome, again=again), Looked(outcome, news)


def _told(before: Failure | None, now: Failure) -> bool:
    """True when the failure says nothing new; another writer is one whoever it is."""
    return before == now or (isinstance(before, WriterBusy) and isinstance(now, WriterBusy))


def worked(report: Report) -> bool:
    """True when the run changed anything that is searched."""
    counts = (report.files_ingested, report.files_pruned, report.rows_rewritten, report.texts_embedded)
    return any(counts) or report.rebuilt is not None


def concerns(rules: Rules, path: str, *, regular: bool) -> bool:
    """True when a change at corpus-relative `path` may change what is read; `regular`: it is a file, not a folder.

    What is gone may have been a folder, whatever its name. Rules of ignore files inside the corpus are not asked: a
    look that finds nothing to do is cheap.
    """
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    if any(rules.verdict(folder, is_folder=True) for folder in above):
        return False
    if regular:
        return parts[-1] == IGNORE_FILE or (is_markdown(path) and rules.verdict(path, is_folder=False) is None)
    return rules.verdict(path, is_folder=True) is None


def line(looked: Looked) -> str:
    """A look in one line."""
    match looked.outcome:
        case Report() as report:
            held = "".join(f"; {printable(held.path)} ({printable(held.reason)})" for held in report.held[:3])
            return render.report_line(report) + held if worked(report) or held else "looked again, nothing to do"
        case CorpusMissing() as failure:
            return f"{failure.message}; waiting for it"
        case PruneRefused() as failure:
            return failure.message
        case failure:
            return f"{failure.message}; it will be tried again"


def shape(looked: Looked, at: str) -> dict[str, Any]:
    """A look as programs read it; `event` is "ingested", "quiet" or "refused"."""
    match looked.outcome:
        case Report() as report:
            event = "ingested" if worked(report) else "quiet"
            return {"at": at, "event": event, **converter().unstructure(report)}
        case failure:
            return {"at": at, "event": "refused", "error": {"type": failure.type, "message": failure.message}}
