"""Carries a search policy out over one snapshot: ask, recheck, cite.

Every row is checked against the scope again before it is shown, and every passage against its file; scores
are made anew from the cached vectors, so the index and the exact scan give the same numbers and order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import define, evolve, field
from returns.result import Failure, Result, Success

from rag_mcp.effects.desk import Desk, generation_of
from rag_mcp.effects.embed import embedded_query, proven
from rag_mcp.effects.ports import IndexBroken, OpenIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.effects.source import FileNow
from rag_mcp.effects.threads import beside
from rag_mcp.effects.timing import Stopwatch
from rag_mcp.pure import stages
from rag_mcp.pure.citations import Answer, Hit, Row, cite, marked_stale, passages, united
from rag_mcp.pure.confidence import confidence, nothing_close
from rag_mcp.pure.coverage import brief
from rag_mcp.pure.errors import EmbedderFailed, EmbedderMismatch, EmptyStore
from rag_mcp.pure.fusion import Trace, fuse
from rag_mcp.pure.query import Query
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.stages import Ask, Enough, Heard
from rag_mcp.pure.tail import nearest
from rag_mcp.pure.words import looked_for

FEW = 2
"""Candidates whose rows are read at first, for each passage that was asked for."""

T = TypeVar("T")
SearchFailure = EmptyStore | EmbedderMismatch | EmbedderFailed


def search(desk: Desk, snapshot: Snapshot, query: Query) -> Result[Answer, SearchFailure]:
    """The answer from this snapshot."""
    match admit(desk, snapshot):
        case Success(pointer):
            desk.held.turn_to(pointer)
            if not snapshot.holds_retired():  # then that filter filters nothing, and need not be asked for
                query = evolve(query, retired=True)
            watch = Stopwatch()
            with beside(lambda: watch.of("question", lambda: _vector(desk, query))) as vector:
                words = watch.of("words", lambda: _words(desk, snapshot, query))
                if query.mode != "keyword" and pointer.vectors <= desk.policy.exact_up_to:
                    watch.of("vectors", lambda: desk.scan_of(snapshot, pointer, query.view))
            return Result.do(
                _Search(desk, snapshot, pointer, query, made, words, watch).answer()
                for _ in proof(desk, snapshot, query)
                for made in vector()
            )
        case Failure(refused):
            return Failure(refused)
        case _ as never:
            raise AssertionError(never)


def admit(desk: Desk, snapshot: Snapshot) -> Result[Pointer, EmptyStore | EmbedderMismatch]:
    """What is current, if this desk can search it; told from the record alone, nothing heavy is loaded."""
    pointer = snapshot.pointer()
    if pointer is None or pointer.vectors == 0:
        return Failure(EmptyStore(desk.store))
    stored, given = pointer.embedder, desk.embedder.identity
    if stored.fingerprint != given.fingerprint:
        return Failure(EmbedderMismatch(stored.name, stored.dim, given.name, given.dim))
    return Success(pointer)


def _vector(desk: Desk, query: Query) -> Result[bytes | None, EmbedderFailed]:
    if query.mode == "keyword":
        return Success(None)
    return embedded_query(desk.embedder, query.text)


def _words(desk: Desk, snapshot: Snapshot, query: Query) -> Mapping[str, float]:
    terms = looked_for(query.text) if query.mode != "semantic" else ()
    if not terms:
        return {}
    return snapshot.keywords(terms, max(desk.policy.words, 2 * query.k), query.view, desk.policy.common)


def proof(desk: Desk, snapshot: Snapshot, query: Query) -> Result[None, EmbedderFailed]:
    """That the embedder gives what the store holds, on one passage, once for each commit."""
    needed = desk.prove and not desk.held.proven and query.mode != "keyword"
    sung = snapshot.canary() if needed else None
    if sung is None:
        return Success(None)
    proved = proven(desk.embedder, *sung)
    desk.held.proven = isinstance(proved, Success)
    return proved


@define(repr=False)
class _Search(Shown):
    """One question under way."""

    desk: Desk
    snapshot: Snapshot
    pointer: Pointer
    query: Query
    vector: bytes | None
    words: Mapping[str, float]
    watch: Stopwatch
    degraded: str | None = None
    dropped: int = 0
    files: dict[str, FileNow | None] = field(factory=dict)

    def answer(self) -> Answer:
        hits = self._by_words() if self.vector is None else self._by_meaning(self.vector)
        bound = max(self.desk.policy.words, 2 * self.query.k, len(self.words))
        self.watch.brought("words", len(self.words), bound)
        sure = confidence(self.query.text, hits)
        far = nothing_close(sure)
        missed = brief(self.snapshot.coverage(), retired=self.query.retired) if far else None
        query, took = self.query, self.watch.lookups()
        return Answer(query.text, query.k, tuple(hits), self.dropped, self.degraded, sure, far, missed, took)

    def _by_words(self) -> list[Hit]:
        hits = self._best(self.words)
        if self.words and len(hits) < self.query.k:
            desk = evolve(self.desk, policy=stages.every_word(self.desk.policy))
            self.words = self.watch.of("words", lambda: _words(desk, self.snapshot, self.query))
            hits = self._best(self.words)
        return hits

    def _by_meaning(self, vector: bytes) -> list[Hit]:
        """With what the words found beside."""
        hits: list[Hit] = []
        heard: Heard | None = None
        total, passing = self.pointer.vectors, self.watch.of("vectors", self._passing)
        allowed = total if passing is None else len(passing)
        while not isinstance(step := self._step(total, allowed, heard), Enough):
            found = self._ask(step, vector)
            self.watch.brought("vectors", len(found), step.n)
            hits = self._best([*(rid for rid, _ in found), *self.words])
            heard = Heard(step, len(hits), exhausted=len(found) < step.n)
        self.watch.brought("question", 1, 1)
        return hits

    def _step(self, total: int, allowed: int, heard: Heard | None) -> stages.Step:
        step = stages.next_step(self.desk.policy, self.query, total, allowed, heard)
        if isinstance(step, Ask) and self.watch.of("vectors", self._opened) is None:
            return stages.without_index(step, self.query)
        return step

    def _ask(self, step: Ask | stages.Scan, vector: bytes) -> Sequence[tuple[str, float]]:
        return self.watch.of("vectors", lambda: self._near(step, vector))

    def _near(self, step: Ask | stages.Scan, vector: bytes) -> Sequence[tuple[str, float]]:
        opened = self._opened() if isinstance(step, Ask) else None
        if opened is not None:
            try:
                return self._indexed(opened, vector, step.n)
            except IndexBroken as broken:
                self.degraded = str(broken)
                self.desk.held.broke(opened, self.degraded)
        return self._exact(step.n, vector)

    def _indexed(self, opened: OpenIndex, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        tail = self.pointer.indexed.tail
        found = opened.query(vector, n + len(tail.went))
        scanned = self.desk.tail_of(self.snapshot, self.pointer).query(vector, n) if tail.came else []
        return nearest(found, scanned, tail, n)

    def _exact(self, n: int, vector: bytes) -> Sequence[tuple[str, float]]:
        scan = self.desk.scan_of(self.snapshot, self.pointer, self.query.view)
        return scan.query(vector, n, self._passing())

    def _passing(self) -> Sequence[str] | None:
        return self.desk.passing(self.snapshot, self.pointer, self.query.view)

    def _opened(self) -> OpenIndex | None:
        held, indexed = self.desk.held, self.pointer.indexed
        if indexed.folder is None or indexed.evidence is None:
            return None
        with held.lock:
            if held.generation != generation_of(self.pointer):  # a later commit's; one index at a time is held open
                return None
            if held.opened is None and held.refused is None:
                match self.desk.index.open(indexed.folder, indexed.evidence):
                    case Success(opened):
                        held.opened = opened
                    case Failure(why):
                        held.refused = why
            self.degraded = self.degraded or held.refused
            return held.opened

    def _best(self, rids: Iterable[str]) -> list[Hit]:
        """The best k of these candidates. All are scored; rows are read of the first few, of all if that is too few."""
        traces = self._scored(list(dict.fromkeys(rids)))
        order = sorted(traces, key=lambda rid: (-traces[rid].score, rid))
        few = order[: FEW * self.query.k]
        hits = self.watch.of("rows", lambda: self._cited(few, traces))
        if len(hits) < self.query.k and len(few) < len(order):
            few, hits = order, self.watch.of("rows", lambda: self._cited(order, traces))
        self.watch.brought("rows", len(few), len(order))
        return hits

    def _scored(self, rids: Sequence[str]) -> Mapping[str, Trace]:
        if self.vector is None:
            cosines = dict.fromkeys(rids, 0.0)
        else:
            cosines = dict(self.desk.scan(self.snapshot.vectors(rids)).query(self.vector, len(rids)))
        return fuse(cosines, self.words, self.query.mode, self.desk.policy.weight)

    def _cited(self, rids: Sequence[str], traces: Mapping[str, Trace]) -> list[Hit]:
        scores = {rid: traces[rid].score for rid in rids}
        rows = self.snapshot.rows(list(scores), self.query.view)
        shown: list[tuple[float, list[Row]]] = []
        self.dropped = 0
        for score, group in passages(rows, scores):
            inside = [row for row in group if not self.desk.corpus.escapes(row.source)]
            self.dropped += len(group) - len(inside)
            if not inside or any(_joined(before, inside) for _, before in shown):
                continue
            shown.append((score, inside))
            if len(shown) == self.query.k:
                break
        return [self._hit(score, group, traces) for score, group in shown]

    def _hit(self, score: float, rows: Sequence[Row], traces: Mapping[str, Trace]) -> Hit:
        hit = cite(score, rows, traces[rows[0].rid])
        return hit if self._stands(rows[0]) else marked_stale(hit)

    def _stands(self, row: Row) -> bool:
        if row.source not in self.files:
            data = self.desk.corpus.read(row.source).value_or(None)
            self.files[row.source] = None if data is None else FileNow(row.source, data)
        file = self.files[row.source]
        return file is not None and file.holds(row)


def _joined(shown: list[Row], group: Sequence[Row]) -> bool:
    """True when the group's first row overlaps what is shown already: then it is made part of that."""
    both = united(shown[0], group[0])
    if both is not None:
        shown[:] = [both, *shown[1:], *group[1:]]
    return both is not None
