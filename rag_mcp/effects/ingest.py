"""One ingest: look, believe, plan; then stop (preview) or apply.

    look -> belief -> settle -> read what is in doubt -> plan -> [apply -> report]

Preview is the same path, stopped early.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.apply import Hands, apply_plan, counted, sweep
from rag_mcp.effects.ports import Corpus, Embedder, EmbedderFault, Progress, VectorIndex
from rag_mcp.effects.prepare import prepare
from rag_mcp.effects.record import Known
from rag_mcp.pure.coverage import Uncovered, unseen
from rag_mcp.pure.errors import (
    CorpusMissing,
    EmbedderFailed,
    IndexFailed,
    PlanMoved,
    PruneRefused,
)
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.manifest import Belief
from rag_mcp.pure.planning import Cached, Settled, plan_ingest, plan_reads, plan_rows, settle
from rag_mcp.pure.plans import Plan
from rag_mcp.pure.pruning import Limits
from rag_mcp.pure.regrouping import inquiry, regrouped
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.summary import Report, Work, report
from rag_mcp.pure.values import Document, Listing, Prepared

IngestFailure = CorpusMissing | EmbedderFailed | IndexFailed | PlanMoved | PruneRefused


@frozen(repr=False)
class Eyes(Shown):
    """What planning needs of the world. `known` is None where there is no record yet."""

    corpus: Corpus
    known: Known | None
    index: VectorIndex
    embedder: Embedder
    progress: Progress


@frozen(repr=False)
class Draft(Shown):
    """A plan, the documents it was made from, what could not be had of the corpus, and what that was at.

    `still`: every file that was read was, once more, as the look had found it; so the plan follows from the look.
    """

    plan: Plan
    run: RunIdentity
    documents: Mapping[str, Document]
    unseen: tuple[Uncovered, ...] = ()
    revision: Revision = Revision()
    still: bool = True


@frozen(repr=False)
class Order(Shown):
    """What the caller wants: `full` ignores manifest and cache; `limits` bound what may be pruned."""

    full: bool = False
    limits: Limits = Limits()


def draft(
    eyes: Eyes, look: Listing, run: RunIdentity, order: Order, busy: Callable[[int], None] = lambda _: None
) -> Result[Draft, CorpusMissing | EmbedderFailed]:
    """Plan for a corpus as a look found it; nothing is written. `busy` is called when that shows that there is work.

    It is told how many files are to be read: if any, there will nearly always be a text to embed.
    """
    if gap := next((gap for gap in look.gaps if gap.path == ""), None):
        return Failure(CorpusMissing(look.root, gap.why))
    belief = believe(eyes)
    settled = settle(look, belief, run, full=order.full)
    reads = plan_reads(settled)
    waiting = _waiting(eyes, reads)
    if waiting or not belief.entries.keys() <= {s.path for s in look.sightings}:
        busy(waiting)
    try:
        read = prepare(eyes.corpus, reads, run, eyes.embedder.measure, eyes.progress)
    except EmbedderFault as fault:
        return Failure(EmbedderFailed(run.embedder.name, str(fault)))
    prepared = read.prepared
    cached = _cached(eyes, settled, run, prepared, full=order.full)
    plan = plan_ingest(look, settled, run, prepared, cached, order.limits)
    if asked := inquiry(plan, belief, run, prepared):
        stored = eyes.known.passages(asked.stored) if eyes.known else {}
        plan = regrouped(plan, asked, belief, stored, eyes.known.repeats() if eyes.known else {})
    looked = {sighting.path: sighting.digest for sighting in look.sightings}
    still = all(read.digests.get(path) == looked.get(path) for path in reads)
    return Success(Draft(plan, run, read.documents, unseen(look, read.others), still=still))


def _waiting(eyes: Eyes, reads: Sequence[str]) -> int:
    """How many files must be read that were not read in vain, or left out once read, the last time."""
    vain = {each.path for each in eyes.known.unseen()} if eyes.known else set()
    return len(set(reads) - vain)


def believe(eyes: Eyes) -> Belief:
    """The record's belief, completed by what is found of the index."""
    if eyes.known is None:
        return Belief()
    belief = eyes.known.belief()
    folder = belief.index.folder
    if folder is None:
        return belief
    found, slots = eyes.index.evidence(folder), eyes.index.slots(folder)
    return evolve(belief, index=evolve(belief.index, found=found, slots=slots))


def _cached(eyes: Eyes, settled: Settled, run: RunIdentity, prepared: Mapping[str, Prepared], *, full: bool) -> Cached:
    if eyes.known is None:
        return Cached(frozenset(), {})
    rows = eyes.known.keys_of(plan_rows(settled, run))
    if full:
        return Cached(frozenset(), rows)
    keys = {chunk.key for doc in prepared.values() if isinstance(doc, Document) for chunk in doc.chunks}
    keys.update(key for stored in rows.values() for key in stored)
    return Cached(eyes.known.known(run.embedder, sorted(keys)), rows)


def carry_out(hands: Hands, drafted: Draft) -> Result[Report, IngestFailure]:
    """Apply a draft, unless it is refused; a quiet plan writes nothing but what is new besides the files."""
    plan, revision = drafted.plan, drafted.revision
    if plan.refusal:
        return Failure(plan.refusal)
    if plan.quiet:
        kept = hands.record.unseen(), hands.record.choices(), hands.record.revision()
        if kept != (drafted.unseen, drafted.run.choices, revision):
            with hands.record.commit() as tx:
                tx.cover(drafted.unseen)
                tx.choose(drafted.run.choices)
                tx.stamp(revision)
        sweep(hands)
        return Success(report(plan, counted(hands.record, Work()), revision))
    match apply_plan(hands, plan, drafted.run, drafted.documents, drafted.unseen, revision):
        case Success(work):
            return Success(report(plan, work, revision))
        case Failure(failed):
            return Failure(failed)
        case _ as never:
            raise AssertionError(never)


def same_world(saved: Plan, now: Plan) -> Result[None, PlanMoved]:
    """A saved plan is applied only if planning again gives the very same plan."""
    if saved == now:
        return Success(None)
    return Failure(PlanMoved(tuple(differences(saved, now))))


def differences(saved: Plan, now: Plan) -> Sequence[str]:
    """What differs between two plans, as phrases, most telling first."""
    found: list[str] = []
    if saved.root != now.root:
        found.append(f"it was made for {saved.root}")
    if saved.generation != now.generation:
        found.append(f"the store was at generation {saved.generation}, now at {now.generation}")
    if saved.run != now.run:
        found.append("embedder or settings differ")
    old, new = {f.path: f for f in saved.files}, {f.path: f for f in now.files}
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            found.append(f"{path} is no longer there")
        elif path not in old:
            found.append(f"{path} is new")
        elif old[path] != new[path]:
            digests = old[path].digest != new[path].digest
            found.append(f"{path} changed" if digests else f"{path} would be treated otherwise")
    return found or ["what was left out or held differs"]
