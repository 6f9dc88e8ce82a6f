"""What a record, its index and its embedder say of themselves: facts for the doctor, in one snapshot. Writes nothing.

Less is looked at than by `verify`: counts, marks and evidence, one passage embedded anew, one question to the index.
"""

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.desk import Desk
from rag_mcp.effects.ports import EmbedderFault, IndexBroken, VectorIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.effects.retrieve import admit, proof
from rag_mcp.pure.health import Canary, Contents, IndexHealth
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.manifest import NO_ROWS, Belief
from rag_mcp.pure.query import Query
from rag_mcp.pure.recovery import index_doubt
from rag_mcp.pure.shown import Shown

ANY = Query("ready", 1, None, "semantic")


@frozen(repr=False)
class Examined(Shown):
    """What was found; the canary is None where nobody could sing it."""

    contents: Contents
    index: IndexHealth
    canary: Canary | None = None


def examine(snapshot: Snapshot, index: VectorIndex, desk: Desk | None) -> Examined | None:
    """What is in the record, and whether index and embedder go with it; None before the first commit.

    `desk` must want proof; None: there is no embedder to be asked. Raises what a snapshot raises.
    """
    pointer = snapshot.pointer()
    if pointer is None:
        return None
    belief = snapshot.belief()
    contents = Contents(
        generation=pointer.generation,
        finished=pointer.finished,
        root=pointer.root,
        embedder=pointer.embedder.name,
        files=len(belief.entries),
        passages=sum(rows.count for rows in belief.rows.values()),
        vectors=belief.index.vectors,
        astray=_astray(belief),
        vectorless=tuple(sorted(belief.vectorless)),
        keywords_sound=belief.keywords_sound,
    )
    canary = sung(desk, snapshot) if desk and pointer.vectors else None
    return Examined(contents, index_health(snapshot, index, pointer, belief), canary)


def _astray(belief: Belief) -> tuple[str, ...]:
    expected = {path: entry.rows for path, entry in belief.entries.items()}
    paths = expected.keys() | belief.rows.keys()
    return tuple(sorted(p for p in paths if expected.get(p, NO_ROWS) != belief.rows.get(p, NO_ROWS)))


def index_health(snapshot: Snapshot, index: VectorIndex, pointer: Pointer, belief: Belief) -> IndexHealth:
    """Whether the index is what the record names, and answers with a stored vector when it is asked for it."""
    indexed = pointer.indexed
    if indexed.folder is None or indexed.evidence is None:
        return IndexHealth(belief.index.vectors, 0, index_doubt(belief, RunIdentity(pointer.embedder)))
    found, slots = index.evidence(indexed.folder), index.slots(indexed.folder)
    seen = evolve(belief, index=evolve(belief.index, found=found, slots=slots))
    doubt = index_doubt(seen, RunIdentity(pointer.embedder))
    told = IndexHealth(belief.index.vectors, slots, doubt, beside=len(indexed.tail.came))
    if doubt:
        return told
    stored = next((vector for rid, vector in snapshot.vectors(None) if rid not in indexed.tail.came), None)
    return evolve(told, unopened=unopened(index, indexed.folder, indexed.evidence, stored))


def unopened(index: VectorIndex, folder: str, evidence: str, stored: bytes | None) -> str | None:
    """Why the index does not open, or does not find a vector that is stored in it; None when it does both."""
    match index.open(folder, evidence):
        case Failure(why):
            return str(why)
        case Success(opened):
            try:
                found = opened.query(stored, 1) if stored else []
            except IndexBroken as broken:
                return str(broken)
            finally:
                opened.close()
            near = not stored or (bool(found) and found[0][1] > 1 - NEAR)
            return None if near else "it does not find a vector that it holds"
        case _ as never:
            raise AssertionError(never)


NEAR = 1e-3
"""How far from 1 the similarity of a vector with itself may come out."""


def sung(desk: Desk, snapshot: Snapshot) -> Canary:
    """Whether the embedder is the one that made the store, told by its name and by one passage embedded anew."""
    try:
        name = desk.embedder.identity.name
    except EmbedderFault as fault:
        return Canary("", str(fault))
    proven = Result.do(sung for _ in admit(desk, snapshot) for sung in proof(desk, snapshot, ANY))
    match proven:
        case Failure(refused):
            return Canary(name, refused.message)
        case _:
            return Canary(name)
