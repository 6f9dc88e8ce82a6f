"""From a look, a belief and a run identity to a plan.

    seen, no doubt                 keep          seen, in doubt              write (or re-embed its rows)
    not to be read                 hold          below a gap                 hold
    absent, look was complete      prune         seen and left out           prune

A file is left out by a rule of the look, or once it was read, by what it asks itself.

Doubt buys work; it never buys a skip, and it never buys a delete.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from attrs import evolve, frozen

from rag_mcp.pure.identity import RunIdentity, digest_of
from rag_mcp.pure.manifest import NO_ROWS, Belief
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reason, Reembed, Write, embeds
from rag_mcp.pure.pruning import Limits, excluded_by, hidden_by, prune_refusal
from rag_mcp.pure.recovery import doubt, index_doubt, switches_embedder
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import SUPERSEDED, Document, Excluded, Listing, Prepared, Sighting, Unreadable

GROWTH = 0.25  # of what was committed before may be in the next commit of a run, if that is more than usual
SAME_CORPUS = 10  # one file in so many that is where it was, and as it was, shows that a corpus was moved
REEMBED = frozenset({Reason.EMBEDDER_CHANGED, Reason.VECTORS_MISSING})
SPARED = REEMBED | {Reason.UNCHANGED}  # reasons for which a file need not be read again
ARRIVED = frozenset({Reason.NEW, Reason.CHANGED})
LABELLED = frozenset({Reason.CHANGED, Reason.METADATA_STALE})  # reasons that a lifecycle that changed may stand behind


@frozen(repr=False)
class Settled(Shown):
    """What is known before any file is read: the belief that may be trusted, and the doubts about each sighting."""

    belief: Belief
    doubts: Mapping[str, Reason]
    notes: tuple[str, ...] = ()
    foreign: bool = False
    full: bool = False


def settle(look: Listing, belief: Belief, run: RunIdentity, *, full: bool = False) -> Settled:
    """Distrust what must be distrusted, and say of every sighting whether and why it is in doubt."""
    notes: tuple[str, ...] = ()
    foreign = False
    if belief.root is not None and belief.root != look.root:
        foreign = of_another_corpus(look, belief)
        before = f"the store was made from another corpus ({belief.root}); its rows are replaced"
        notes = (before if foreign else f"the corpus was at {belief.root} before",)
    doubts = {s.path: doubt(belief.entries.get(s.path), s.digest, belief, run) for s in look.sightings}
    if full:
        doubts = {path: Reason.FORCED if reason in SPARED else reason for path, reason in doubts.items()}
    return Settled(belief, doubts, notes, foreign, full)


def of_another_corpus(look: Listing, belief: Belief) -> bool:
    """True when hardly a file that the record knows is here: the user named another folder, not a moved one."""
    same = sum(1 for s in look.sightings if (e := belief.entries.get(s.path)) and e.digest == s.digest)
    return SAME_CORPUS * same < len(belief.entries)


def plan_reads(settled: Settled) -> tuple[str, ...]:
    """The paths whose files must be read and cut before the plan can be made, sorted."""
    return tuple(sorted(path for path, reason in settled.doubts.items() if reason not in SPARED))


def plan_rows(settled: Settled, run: RunIdentity) -> tuple[str, ...]:
    """The paths whose stored rows may have to be embedded as they stand, sorted: `Cached.rows` must hold them."""
    belief = settled.belief
    if not belief.vectorless and not switches_embedder(belief, run):
        return ()
    return tuple(sorted(path for path in belief.rows if settled.doubts.get(path) is not Reason.UNCHANGED))


@frozen(repr=False)
class Cached(Shown):
    """Content keys that have a vector of this run's embedder (none, when all is to be embedded again).

    `rows` gives the stored keys of each path whose rows may have to be embedded as they stand.
    """

    known: frozenset[str]
    rows: Mapping[str, tuple[str, ...]]


def plan_ingest(
    look: Listing,
    settled: Settled,
    run: RunIdentity,
    prepared: Mapping[str, Prepared],
    cached: Cached,
    limits: Limits = Limits(),
) -> Plan:
    """The plan. `prepared` holds every path of plan_reads; `cached.rows` the keys of every path that may need them."""
    belief, look = settled.belief, without_left_out(look, prepared)
    moves = moved_files(look, settled, prepared)
    raw = sorted(
        chain(_seen(look, settled, prepared, cached, moves), _absent(look, belief, cached, moves)),
        key=lambda file: file.path,
    )
    files = tuple(_embed_once(raw))
    return Plan(
        root=look.root,
        generation=belief.generation,
        embedder=run.embedder.name,
        dim=run.embedder.dim,
        run=digest_of(run.embedder.fingerprint, run.recipe, run.labels, run.dedupe_snapshots),
        files=files,
        excluded=look.excluded,
        gaps=tuple((gap.path, gap.why) for gap in look.gaps),
        warnings=tuple(
            f"{path}: {warning}"
            for path in sorted(prepared)
            if isinstance(document := prepared[path], Document)
            for warning in document.warnings
        ),
        rebuild=index_doubt(belief, run),
        switches_embedder=switches_embedder(belief, run),
        notes=settled.notes,
        refill_keywords=not belief.keywords_sound,
        refusal=prune_refusal(files, belief, look, limits, foreign=settled.foreign),
        full=settled.full,
    )


def without_left_out(look: Listing, prepared: Mapping[str, Prepared]) -> Listing:
    """The look, with the files that ask for it left out as by a rule."""
    asked = {path: read for path, read in prepared.items() if isinstance(read, Excluded)}
    if not asked:
        return look
    return evolve(
        look,
        sightings=tuple(s for s in look.sightings if s.path not in asked),
        excluded=tuple(sorted([*look.excluded, *asked.values()], key=lambda each: each.path)),
    )


def moved_files(look: Listing, settled: Settled, prepared: Mapping[str, Prepared]) -> Mapping[str, str]:
    """New path -> old path, for each file that has come to hold the bytes of one that is no longer there."""
    belief, seen = settled.belief, {s.path for s in look.sightings}
    absent = [e for e in belief.entries.values() if e.path not in seen and hidden_by(look, e.path) is None]
    homeless: dict[str, list[str]] = {}
    for entry in sorted(absent, key=lambda e: e.path, reverse=True):
        homeless.setdefault(entry.digest, []).append(entry.path)
    moves = {}
    for sighting in look.sightings if homeless else ():
        came, read = settled.doubts[sighting.path] in ARRIVED, prepared.get(sighting.path)
        if came and isinstance(read, Document) and homeless.get(read.digest):
            moves[sighting.path] = homeless[read.digest].pop()
    return moves


def _seen(
    look: Listing,
    settled: Settled,
    prepared: Mapping[str, Prepared],
    cached: Cached,
    moves: Mapping[str, str],
) -> Iterator[FilePlan]:
    for sighting in look.sightings:
        reason, entry = settled.doubts[sighting.path], settled.belief.entries.get(sighting.path)
        if reason is Reason.UNCHANGED and entry:
            yield FilePlan(sighting.path, reason, Keep(entry.rows.count), sighting.digest)
        elif reason in REEMBED and entry:
            embed = missing(cached.rows.get(sighting.path, ()), cached.known)
            yield FilePlan(sighting.path, reason, Reembed(entry.rows.count, embed), sighting.digest)
        else:
            yield _to_write(sighting, reason, prepared[sighting.path], settled.belief, cached, moves)


def _to_write(
    sighting: Sighting,
    reason: Reason,
    prepared: Prepared,
    belief: Belief,
    cached: Cached,
    moves: Mapping[str, str],
) -> FilePlan:
    path = sighting.path
    if isinstance(prepared, Unreadable | Excluded):  # the latter is in no look that `without_left_out` saw
        return FilePlan(path, Reason.UNREADABLE, held(path, belief, cached), None, prepared.why)
    keys = tuple(chunk.key for chunk in prepared.chunks)
    action = Write(keys, missing(keys, cached.known))
    if path in moves:
        return FilePlan(path, Reason.MOVED, action, prepared.digest, f"from {moves[path]}")
    return FilePlan(path, _told(reason, prepared, belief), action, prepared.digest)


def _told(reason: Reason, document: Document, belief: Belief) -> Reason:
    """The reason, or that a document was retired or taken back where that is what changed most tellingly."""
    entry = belief.entries.get(document.path)
    if entry is None or reason not in LABELLED or entry.lifecycle == document.lifecycle:
        return reason
    return Reason.RETIRED if document.lifecycle == SUPERSEDED else Reason.RESTORED


def _absent(look: Listing, belief: Belief, cached: Cached, moves: Mapping[str, str]) -> Iterator[FilePlan]:
    seen = {s.path for s in look.sightings}
    left, ruled_out = set(moves.values()), {e.path: e.why for e in look.excluded}
    known = belief.entries.keys() | belief.rows.keys()
    for path in known - seen:
        rows = belief.rows.get(path, NO_ROWS).count
        if hidden := hidden_by(look, path):
            yield FilePlan(path, hidden[0], held(path, belief, cached), None, hidden[1])
        elif path in left:
            yield FilePlan(path, Reason.MOVED_AWAY, Prune(rows))
        elif why := excluded_by(path, ruled_out):
            yield FilePlan(path, Reason.EXCLUDED, Prune(rows), None, why)
        else:
            orphaned = "" if path in belief.entries else "rows without an entry"
            yield FilePlan(path, Reason.GONE, Prune(rows), None, orphaned)
    for unreadable in look.unreadables:
        if unreadable.path not in known:
            yield FilePlan(unreadable.path, Reason.UNREADABLE, Hold(0), None, unreadable.why)


def held(path: str, belief: Belief, cached: Cached) -> Hold:
    """What is stored of `path` stays; vectors that its rows lack are made from the rows."""
    return Hold(belief.rows.get(path, NO_ROWS).count, missing(cached.rows.get(path, ()), cached.known))


def missing(keys: tuple[str, ...], known: frozenset[str]) -> tuple[str, ...]:
    """The keys without a vector, each once, in order."""
    return tuple(dict.fromkeys(key for key in keys if key not in known))


def _embed_once(files: list[FilePlan]) -> Iterator[FilePlan]:
    """A key that several files need is counted, and embedded, with the first of them."""
    taken: set[str] = set()
    for file in files:
        match file.action:
            case Write() | Reembed() | Hold() as action:
                embed = tuple(key for key in action.embed if key not in taken)
                taken.update(embed)
                yield evolve(file, action=evolve(action, embed=embed))
            case Prune() | Keep():
                yield file


def segments(plan: Plan, texts: int) -> tuple[tuple[FilePlan, ...], ...]:
    """The plan's work in the order it is committed: writes first, prunes last.

    A segment has at most `texts` embeddings, or GROWTH of what came before it, save where one file alone has more.

    A commit copies the whole index, so a segment grows with what came before it: all the copies of a first build
    together are a few times its size, whatever that is.

    A change of embedder is one segment: no reader may see vectors of two embedders.
    """
    busy = [f for f in plan.files if not isinstance(f.action, Keep) and (embeds(f) or not isinstance(f.action, Hold))]
    ordered = sorted(busy, key=lambda f: isinstance(f.action, Prune))
    if plan.switches_embedder:
        return (tuple(ordered),)
    parts: list[list[FilePlan]] = [[]]
    weight = before = 0
    for file in ordered:
        if weight and weight + len(embeds(file)) > max(texts, int(GROWTH * before)):
            parts.append([])
            before, weight = before + weight, 0
        parts[-1].append(file)
        weight += len(embeds(file))
    return tuple(tuple(part) for part in parts)
