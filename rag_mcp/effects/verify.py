"""Record against itself, index against record, corpus against record; and the repair that needs no embedding."""

from attrs import frozen
from returns.result import Result, Success

from rag_mcp.effects.apply import Hands, rebuild, sweep
from rag_mcp.effects.ports import Corpus, Progress, Silence, VectorIndex
from rag_mcp.effects.prepare import left_out
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.effects.snapshots import regroup_fault
from rag_mcp.pure.errors import IndexFailed
from rag_mcp.pure.findings import Finding, corpus_findings, index_finding, record_findings, snapshots_finding
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.view import EVERYTHING


@frozen(repr=False)
class Verdict(Shown):
    """All that verify found, and what it looked at."""

    findings: tuple[Finding, ...]
    files: int
    passages: int
    vectors: int

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings


def verify(snapshot: Snapshot, index: VectorIndex, corpus: Corpus | None, progress: Progress | None = None) -> Verdict:
    """Look through everything; nothing is changed. Of what grows with the store, names alone are held in memory."""
    belief, pointer = snapshot.belief(), snapshot.pointer()
    passages, vectors = sum(rows.count for rows in belief.rows.values()), belief.index.vectors
    files = len(belief.entries)
    with (progress or Silence()).task("checking", passages + 2 * vectors + files, unit="checks") as advance:
        audit = snapshot.audit(advance)
        findings = list(record_findings(belief, audit.faults, audit.rows, audit.vectors))
        findings += index_finding(index_fault(snapshot, index, pointer))
        findings += snapshots_finding(regroup_fault(snapshot))
        advance(vectors)
        if corpus is not None:
            look = corpus.look()
            unknown = [s.path for s in look.sightings if s.path not in belief.entries]
            findings += corpus_findings(look, belief, left_out(corpus, unknown))
        advance(files)
    return Verdict(tuple(findings), files, passages, vectors)


def index_fault(snapshot: Snapshot, index: VectorIndex, pointer: Pointer | None) -> str | None:
    """Why the index is not what the record says, or None."""
    if pointer is None or (folder := pointer.indexed.folder) is None:
        return None
    if index.evidence(folder) != pointer.indexed.evidence:
        return "it is missing or not what the last run left"
    rids, tail = frozenset(snapshot.passing_rids(EVERYTHING)), pointer.indexed.tail
    if not tail.came <= rids or tail.went & rids:
        return "what came and went since it was made is not what the rows say"
    return index.preflight(folder, tail.indexed(rids), lambda some: dict(snapshot.vectors(some)))


def repair(hands: Hands) -> Result[bool, IndexFailed]:
    """Rebuild index, keywords and repeats from the record; False when vectors are missing: only an ingest makes them.

    Altered rows and vectors are marked, so that the next ingest does them again.
    """
    audit = hands.record.audit()
    with hands.record.commit() as tx:
        tx.distrust(audit.rows, audit.vectors)
    belief, pointer = hands.record.belief(), hands.record.pointer()
    if belief.vectorless or pointer is None:
        return Success(False)
    rebuilt = rebuild(hands, pointer)
    sweep(hands)
    return rebuilt.map(lambda _: True)
