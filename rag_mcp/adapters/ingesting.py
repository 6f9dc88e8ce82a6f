"""A run over an open index: the writer's lock, the record, a plan, and what carries it out.

look at the corpus's folder -> lock -> record (a damaged one is set aside, once) -> plan -> apply
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from rag_mcp.adapters import wiring
from rag_mcp.adapters.beginning import AFRESH, Seen, Start, nothing, seen
from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.exchange import mend_missing
from rag_mcp.adapters.lock import held
from rag_mcp.adapters.record.schema import set_aside
from rag_mcp.adapters.session import Session
from rag_mcp.adapters.settings import is_folder, lies_inside
from rag_mcp.effects.boundary import Refused, store_faults, value
from rag_mcp.effects.embed import embedded_query
from rag_mcp.effects.ingest import Draft, Eyes, Order, carry_out, draft, same_world
from rag_mcp.effects.ports import EmbedderFault, Parallel, Unsure
from rag_mcp.effects.record import Known, RecordDamaged, RecordUnavailable
from rag_mcp.pure import errors
from rag_mcp.pure.identity import Choices
from rag_mcp.pure.paths import ill_placed
from rag_mcp.pure.plans import Plan
from rag_mcp.pure.pruning import Limits
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.summary import Report

if TYPE_CHECKING:
    from rag_mcp.adapters.record.writer import SqliteRecord

Announce = Callable[[], None]
Busy = Callable[[int], None]
FEW_FILES = 3
"""An edit of some notes brings a handful of texts; more files than these are taken to bring many."""


def ordered(*, full: bool, allow_prune: int | None) -> Order:
    """What is asked of a run."""
    return Order(full, Limits(allow=allow_prune))


def nobody(_: int) -> None:
    """Tells nobody that there is work."""


def planned(session: Session, order: Order) -> Plan:
    """What an ingest would do; nothing is written or created. Raises Refused."""
    with store_faults(str(session.store)), _for_planning(session) as known:
        session.follow(known.pointer() if known else None)
        _confirm_embedder(session.parts)
        return _draft(session.parts, Seen(Revision(), _corpus(session.parts).look()), known, order).plan


def ingested(
    session: Session, order: Order, *, clean: bool = False, saved: Plan | None = None, start: Start = AFRESH
) -> Report:
    """Plan and apply; with `saved` only if that is the plan. `clean` removes the store first. Raises Refused."""
    parts = session.parts
    lock = start.lock or parts.lock()
    with store_faults(str(session.store)), held(lock):
        _check_corpus(parts)
        if clean:
            value(embedded_query(parts.embedder, "ready"))  # nothing is removed for one that fails
        mend_missing(session.store)
        value(lock.acquire())
        start.locked()
        own = None
        if clean:
            lock.announce()
            own = wiring.stored_choices(session.store)
            parts.wipe()
        try:
            return _write(session, order, start, lock.announce, saved, own)
        except RecordDamaged:
            lock.announce()
            set_aside(session.store)
            return _write(session, order, start, lock.announce, saved, own)


def _placing(session: Session) -> tuple[str, ...]:
    """What to say of where the store lies."""
    folder, corpus = os.path.realpath(session.store), session.parts.corpus
    inside = corpus is not None and lies_inside(session.store, Path(corpus.root))
    return tuple(f"the store {session.store}: {what}" for what, _ in ill_placed(folder, inside_corpus=inside))


def repaired(parts: wiring.Parts) -> bool:
    """Rebuild index and keywords from the record; False when an ingest must follow. Raises Refused."""
    from rag_mcp.effects.verify import repair

    lock = parts.lock()
    with store_faults(str(parts.folder)), held(lock):
        if not parts.folder.is_dir():
            raise Refused(errors.StoreMissing(str(parts.folder)))
        value(lock.acquire())
        lock.announce()
        record = parts.writer()
        try:
            return value(repair(parts.hands(record)))
        finally:
            record.close()


def _write(
    session: Session, order: Order, start: Start, announce: Announce, saved: Plan | None, own: Choices | None
) -> Report:
    with closing(session.parts.writer()) as record:
        session.follow(record.pointer())
        _confirm_embedder(session.parts)
        found = start.seen or seen(_corpus(session.parts))
        busy = _getting_ready(session.parts, announce)
        drafted = _draft(session.parts, found, record, order, busy, own)
        if saved is not None:
            value(same_world(saved, drafted.plan))
        if not drafted.plan.quiet:
            announce()
        report = _carried_out(session, record, drafted)
    if start.rested is nothing or not wiring.steady(session.parts.embedder):
        return report
    if not drafted.plan.quiet:
        _look_ahead(session, order, start, found)
    elif drafted.still:
        start.rested(found, report)
    return report


def _look_ahead(session: Session, order: Order, start: Start, found: Seen) -> None:
    """What the next run would say, if it saw the same: planned now, so that it need not plan.

    This run is done, so what goes wrong here is for the next one to say.
    """
    start.locked()
    try:
        with closing(session.parts.writer()) as record:
            drafted = _draft(session.parts, found, record, evolve(order, full=False))
            if not drafted.plan.quiet:
                return
            report = _carried_out(session, record, drafted)
    except (Refused, RecordDamaged, RecordUnavailable, OSError):
        return
    if drafted.still:
        start.rested(found, report)


def _carried_out(session: Session, record: "SqliteRecord", drafted: Draft) -> Report:
    report = value(carry_out(session.parts.hands(record), drafted))
    return evolve(report, warnings=(*_placing(session), *report.warnings))


def _getting_ready(parts: wiring.Parts, announce: Announce) -> Busy:
    """Announce that there is work, and load the model while files are read."""

    def busy(reading: int) -> None:
        announce()
        if reading and isinstance(parts.embedder, Parallel):
            parts.embedder.warm(few=reading <= FEW_FILES)

    return busy


def _corpus(parts: wiring.Parts) -> CorpusFolder:
    if parts.corpus is None:
        raise Refused(errors.ConfigError("no corpus was named, and the store does not know one"))
    return parts.corpus


def _draft(
    parts: wiring.Parts,
    found: Seen,
    known: Known | None,
    order: Order,
    busy: Busy = nobody,
    own: Choices | None = None,
) -> Draft:
    own = own or (known.choices() if known else Choices())
    eyes = Eyes(_corpus(parts), known, parts.index, parts.embedder, parts.progress)
    return evolve(value(draft(eyes, found.look, parts.run(own), order, busy)), revision=found.at)


def _confirm_embedder(parts: wiring.Parts) -> None:
    """Nothing is planned, and no file skipped, by what an embedder was when it was last heard of."""
    if isinstance(parts.embedder, Unsure):
        try:
            parts.embedder.confirm()
        except EmbedderFault as fault:
            name = parts.settings.embedder or "of the store"
            raise Refused(errors.EmbedderFailed(name, str(fault))) from fault


def _check_corpus(parts: wiring.Parts) -> None:
    """A mistyped corpus must not even leave an empty store behind."""
    if parts.corpus is not None and not is_folder(Path(parts.corpus.root)):
        raise Refused(errors.CorpusMissing(parts.corpus.root, "no such folder"))


@contextmanager
def _for_planning(session: Session) -> Iterator[Known | None]:
    with ExitStack() as stack:
        try:
            known: Known | None = stack.enter_context(session.reader.snapshot())
        except (FileNotFoundError, RecordDamaged):
            known = None  # an ingest would begin a new record
        yield known
