"""Applies a plan, segment by segment, in this order and no other.

1 embed      every missing vector goes into the cache           a kill: vectors stay, nothing else happened
2 begin      rows, keywords, manifest, repeats of snapshots     a kill: rolled back, it is one transaction
3 index      a short tail: nothing; else clone or rebuild,      a kill: a folder that nobody names
             apply the delta, flush, rename
4 commit     the transaction names index and tail, and ends     a kill after: the segment is done
5 sweep      folders that nothing names are removed             a kill: the next run sweeps
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.embed import Text, agreed, embed_texts, nearness
from rag_mcp.effects.ports import Checkpoint, Embedder, Progress, VectorIndex
from rag_mcp.effects.record import Changed, Commit, Indexed, Pointer, Record
from rag_mcp.effects.snapshots import regroup
from rag_mcp.pure.coverage import Uncovered
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.errors import EmbedderFailed, IndexFailed
from rag_mcp.pure.identity import EmbedderIdentity, RunIdentity
from rag_mcp.pure.manifest import entry_of
from rag_mcp.pure.planning import segments
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reembed, Write, embeds
from rag_mcp.pure.regrouping import rule_of, shown_changes
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.summary import Work
from rag_mcp.pure.tail import Course, Tail, course
from rag_mcp.pure.values import Chunk, Document

SEGMENT_TEXTS = 5_000  # a first build of any size becomes searchable in steps of some minutes
IDLE_CONTENTS = 5_000  # cached texts that no row needs: reverted edits and branches cost no embedding


@frozen(repr=False)
class Hands(Shown):
    """What applying needs of the world. `stamp` gives (token, time in ISO 8601) for a commit."""

    record: Record
    index: VectorIndex
    embedder: Embedder
    checkpoint: Checkpoint
    progress: Progress
    stamp: Callable[[], tuple[str, str]]
    store: str


class _NotWritten(Exception):
    """Rolls a segment back; carries why the index could not be written."""


def apply_plan(
    hands: Hands,
    plan: Plan,
    run: RunIdentity,
    documents: Mapping[str, Document],
    unseen: Sequence[Uncovered] = (),
    revision: Revision = Revision(),
) -> Result[Work, EmbedderFailed | IndexFailed]:
    """Carry the plan out; the last commit notes down what was `unseen`, each what the corpus is at (`revision`).

    On failure every finished segment stands and the unfinished one left nothing.
    """
    work, current = Work(), plan
    parts = segments(plan, SEGMENT_TEXTS)
    if isinstance(doubt := _proof(hands, plan, run), Failure):
        return doubt
    tokens, texts = _weight(hands.record, plan, documents)
    with hands.progress.task("embedding", tokens, texts, "tokens") as advance:
        for part, segment in enumerate(parts, start=1):
            wanted = _texts(hands.record, segment, documents)
            match embed_texts(hands.record, hands.embedder, wanted, hands.checkpoint, advance):
                case Failure(failed):
                    return Failure(failed)
                case Success(embedded):
                    work = evolve(work, texts_embedded=work.texts_embedded + embedded)
            learned = unseen if part == len(parts) else None
            match _commit(hands, current, run, segment, documents, learned, revision):
                case Failure(why):
                    return Failure(IndexFailed(hands.store, why))
                case Success((changes, repeats)):
                    work = _summed(work, changes, repeats)
            current = evolve(plan, rebuild=None, refill_keywords=False, switches_embedder=False)
            sweep(hands)
    return Success(counted(hands.record, work))


def counted(record: Record, work: Work) -> Work:
    """The work, with what the record holds after it."""
    pointer = record.pointer()
    return evolve(
        work,
        store_count=record.rows_count(),
        deduped=record.repeats_count(),
        generation=pointer.generation if pointer else 0,
    )


def sweep(hands: Hands) -> None:
    """Remove what no pointer names and no reader holds."""
    pointer = hands.record.pointer()
    hands.index.collect([pointer.indexed.folder] if pointer and pointer.indexed.folder else [])
    hands.checkpoint("swept")


def _proof(hands: Hands, plan: Plan, run: RunIdentity) -> Result[None, EmbedderFailed]:
    """That new vectors will be like the stored ones, where there are both."""
    pointer = hands.record.pointer()
    adds = not plan.full and any(embeds(file) for file in plan.files)
    if not adds or pointer is None or pointer.embedder.fingerprint != run.embedder.fingerprint:
        return Success(None)
    sung = hands.record.canary()
    if sung is None:
        return Success(None)
    match nearness(hands.embedder, *sung):
        case Success(cosine):
            return agreed(hands.embedder, cosine)
        case _:
            return Success(None)  # one that fails fails at the first new text as well, and then a file is named


def _weight(record: Record, plan: Plan, documents: Mapping[str, Document]) -> tuple[int, int]:
    """Tokens and texts that are to be embedded, in all segments: so a bar tells of all that is left."""
    sizes = [_size(chunk) for file in plan.files for chunk in _fresh(record, file, documents)]
    return sum(sizes), len(sizes)


def _texts(record: Record, segment: Sequence[FilePlan], documents: Mapping[str, Document]) -> Iterator[Text]:
    from rag_mcp.pure.chunking import embedded_text

    for file in segment:
        for chunk in _fresh(record, file, documents):
            yield Text(chunk.key, file.path, embedded_text(chunk, own_date(file.path)), _size(chunk))


def _fresh(record: Record, file: FilePlan, documents: Mapping[str, Document]) -> Iterable[Chunk]:
    """The chunks of a file that must be embedded, one of each content."""
    if not (wanted := frozenset(embeds(file))):
        return ()
    return {chunk.key: chunk for chunk in _chunks(record, file, documents) if chunk.key in wanted}.values()


def _size(chunk: Chunk) -> int:
    return chunk.tokens or len(chunk.text) // 4


def _chunks(record: Record, file: FilePlan, documents: Mapping[str, Document]) -> tuple[Chunk, ...]:
    match file.action:
        case Write():
            return documents[file.path].chunks
        case _:
            return record.chunks_of(file.path)


def _commit(
    hands: Hands,
    plan: Plan,
    run: RunIdentity,
    segment: Sequence[FilePlan],
    documents: Mapping[str, Document],
    unseen: Sequence[Uncovered] | None,
    revision: Revision,
) -> Result[tuple[list[Changed], int], str]:
    """What changed in each file, and how many more rows repeat another."""
    pointer = hands.record.pointer()
    hands.checkpoint("beginning")
    try:
        with hands.record.commit() as tx:
            before = tx.rids()
            tx.choose(run.choices)  # with the first rows that rest on it: a run after a kill goes on the same way
            tx.stamp(revision)
            if plan.refill_keywords:  # first: what is taken out below must be there to be taken out
                tx.refill_keywords()
            changes = [change for file in segment if (change := _rewrite(tx, file, run, documents))]
            tx.name_vectors(run.embedder, None if plan.switches_embedder else [f.path for f in segment])
            repeats = regroup(tx, rule_of(plan.files, run))
            hands.checkpoint("rows written")
            if unseen is not None:  # the last segment
                tx.trim(IDLE_CONTENTS)
                tx.cover(unseen)
            tx.point(_next_pointer(hands, plan, run, pointer, tx, before))
            hands.checkpoint("committing")
    except _NotWritten as error:
        return Failure(str(error))
    hands.checkpoint("committed")
    return Success((changes, repeats))


def _rewrite(tx: Commit, file: FilePlan, run: RunIdentity, documents: Mapping[str, Document]) -> Changed | None:
    match file.action:
        case Write():
            document = documents[file.path]
            return tx.replace(document, entry_of(document, run))
        case Prune():
            return tx.remove(file.path)
        case Reembed() | Hold() | Keep():
            return None


def _next_pointer(
    hands: Hands, plan: Plan, run: RunIdentity, pointer: Pointer | None, tx: Commit, before: frozenset[str]
) -> Pointer:
    after = tx.rids()
    built_of_these = pointer is not None and pointer.vectors == len(before)  # else lost ones were made again since
    base = pointer if plan.rebuild is None and built_of_these else None
    indexed = _next_index(hands, base, before, after, tx)
    return _pointer(hands, pointer, plan.root, run.embedder, indexed, len(after))


def _pointer(
    hands: Hands,
    previous: Pointer | None,
    root: str,
    embedder: EmbedderIdentity,
    indexed: Indexed,
    vectors: int,
) -> Pointer:
    token, now = hands.stamp()
    return Pointer(previous.generation + 1 if previous else 1, token, root, embedder, indexed, vectors, now)


def _next_index(
    hands: Hands, base: Pointer | None, before: frozenset[str], after: frozenset[str], tx: Commit
) -> Indexed:
    """A generation that holds just `after`, but for its tail; none where that is nothing."""
    if not after:
        return Indexed()
    built: Result[str, str] = Failure("")
    if base and base.indexed.folder and hands.index.evidence(base.indexed.folder) == base.indexed.evidence:
        tail = base.indexed.tail.after(after - before, before - after)
        match course(tail, len(after), hands.index.slots(base.indexed.folder)):
            case Course.KEEP:
                return evolve(base.indexed, tail=tail)
            case Course.CLONE:
                built = _written(hands, base.indexed.folder, tail, after, tx)
    if not isinstance(built, Success):  # no base, or one that is not what it should be: from the cache
        built = _written(hands, None, Tail(after), after, tx)
    match built:
        case Success(folder):
            return Indexed(folder, hands.index.evidence(folder))
        case Failure(why):
            raise _NotWritten(why)
        case _ as never:
            raise AssertionError(never)


def _written(hands: Hands, base: str | None, tail: Tail, want: frozenset[str], tx: Commit) -> Result[str, str]:
    went, came = sorted(tail.went), sorted(tail.came)
    number = hands.index.next_number()
    return hands.index.write(base, number, went, came, tx.vectors, sorted(want), hands.checkpoint)


def rebuild(hands: Hands, pointer: Pointer) -> Result[None, IndexFailed]:
    """Commit a new generation made from the cached vectors, and keywords and repeats made from the rows."""
    try:
        with hands.record.commit() as tx:
            tx.refill_keywords()
            if (told := tx.grouped()).mark or not told.sound:
                regroup(tx, told.rule, anew=True)
            after = tx.rids()
            indexed = _next_index(hands, None, after, after, tx)
            tx.point(_pointer(hands, pointer, pointer.root, pointer.embedder, indexed, len(after)))
    except _NotWritten as error:
        return Failure(IndexFailed(hands.store, str(error)))
    return Success(None)


def _summed(work: Work, changes: Sequence[Changed], repeats: int) -> Work:
    added, deleted = (sum(counts) for counts in ([c.added for c in changes], [c.deleted for c in changes]))
    added, deleted = shown_changes(added, deleted, repeats)
    return evolve(
        work,
        chunks_added=work.chunks_added + added,
        chunks_deleted=work.chunks_deleted + deleted,
        rows_rewritten=work.rows_rewritten + sum(change.rewritten for change in changes),
    )
