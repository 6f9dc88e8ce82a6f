"""Carries a search policy out over one snapshot: ask, recheck, cite.

Every row is checked against the scope again before it is shown, and every passage against its file; scores
are made anew from the cached vectors, so the index and the exact scan give the same numbers and order.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, evolve, field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.embed import embedded_query, proven
from rag_mcp.effects.ports import Corpus, Embedder, Exact, IndexBroken, OpenIndex, Scan, VectorIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.effects.source import FileNow
from rag_mcp.pure import stages
from rag_mcp.pure.citations import Answer, Hit, Row, cite, marked_stale, passages, united
from rag_mcp.pure.confidence import confidence, nothing_close
from rag_mcp.pure.coverage import brief
from rag_mcp.pure.errors import EmbedderFailed, EmbedderMismatch, EmptyStore
from rag_mcp.pure.fusion import Trace, fuse
from rag_mcp.pure.query import Query
from rag_mcp.pure.stages import Ask, Enough, Heard, SearchPolicy
from rag_mcp.pure.view import EVERYTHING, View
from rag_mcp.pure.words import looked_for

FEW = 2
"""Candidates whose rows are read at first, for each passage that was asked for."""

VIEWS = 8
"""Views of which a long-lived reader keeps the vectors: the classes, and some dates."""

T = TypeVar("T")
SearchFailure = EmptyStore | EmbedderMismatch | EmbedderFailed


@define
class Held:
    """What a long-lived reader keeps for one commit: an open index, all vectors in memory, those of some views."""

    token: str | None = None
    opened: OpenIndex | None = None
    refused: str | None = None
    exact: Exact | None = None
    passing: dict[View, Sequence[str]] = field(factory=dict)
    proven: bool = False
    lock: threading.RLock = field(factory=threading.RLock)

    def turn_to(self, token: str | None) -> None:
        """Drop what belongs to another commit."""
        with self.lock:
            if self.token != token:
                if self.opened:
                    self.opened.close()
                self.token, self.opened, self.refused, self.exact, self.passing = token, None, None, None, {}
                self.proven = False


@frozen
class Desk:
    """What searching needs of the world. `prove`: embed one stored passage again before a commit is first searched."""

    corpus: Corpus
    index: VectorIndex
    embedder: Embedder
    scan: Scan
    policy: SearchPolicy
    store: str
    held: Held = field(factory=Held)
    prove: bool = False


def search(desk: Desk, snapshot: Snapshot, query: Query) -> Result[Answer, SearchFailure]:
    """The answer from this snapshot."""
    match admit(desk, snapshot):
        case Success(pointer):
            desk.held.turn_to(pointer.token)
            if not snapshot.holds_retired():  # then that filter filters nothing, and need not be asked for
                query = evolve(query, retired=True)
            with beside(lambda: _vector(desk, query)) as vector:
                words = _words(desk, snapshot, query)
                if query.mode != "keyword" and pointer.vectors <= desk.policy.exact_up_to:
                    _all_vectors(desk, snapshot, pointer)
            return Result.do(
                _Search(desk, snapshot, pointer, query, made, words).answer()
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


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Run `work` in a thread while the block runs; what is given waits for its outcome, or raises it."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="beside", daemon=True)
    thread.start()
    try:
        yield outcome.result
    finally:
        thread.join()


def _vector(desk: Desk, query: Query) -> Result[bytes | None, EmbedderFailed]:
    if query.mode == "keyword":
        return Success(None)
    return embedded_query(desk.embedder, query.text)


def _words(desk: Desk, snapshot: Snapshot, query: Query) -> Mapping[str, float]:
    terms = looked_for(query.text) if query.mode != "semantic" else ()
    if not terms:
        return {}
    return snapshot.keywords(terms, max(desk.policy.words, 2 * query.k), query.view, desk.policy.common)


def _all_vectors(desk: Desk, snapshot: Snapshot, pointer: Pointer) -> Exact:
    """The exact scan of all vectors, kept for as long as the commit is the current one."""
    held = desk.held
    with held.lock:
        exact = held.exact if held.token == pointer.token else None
        if exact is None:
            exact = desk.scan(snapshot.vectors(None))
            if held.token == pointer.token:
                held.exact = exact
        return exact


def proof(desk: Desk, snapshot: Snapshot, query: Query) -> Result[None, EmbedderFailed]:
    """That the embedder gives what the store holds, on one passage, once for each commit."""
    needed = desk.prove and not desk.held.proven and query.mode != "keyword"
    sung = snapshot.canary() if needed else None
    if sung is None:
        return Success(None)
    proved = proven(desk.embedder, *sung)
    desk.held.proven = isinstance(proved, Success)
    return proved


@define
class _Search:
    """One question under way."""

    desk: Desk
    snapshot: Snapshot
    pointer: Pointer
    query: Query
    vector: bytes | None
    words: Mapping[str, float]
    degraded: str | None = None
    dropped: int = 0
    files: dict[str, FileNow | None] = field(factory=dict)

    def answer(self) -> Answer:
        hits: list[Hit] = []
        if self.vector is None:
            hits = self._best(self.words)
            if self.words and len(hits) < self.query.k:
                desk = evolve(self.desk, policy=stages.every_word(self.desk.policy))
                self.words = _words(desk, self.snapshot, self.query)
                hits = self._best(self.words)
        else:
            heard: Heard | None = None
            total = self.pointer.vectors
            passing = self._passing()
            allowed = total if passing is None else len(passing)
            while not isinstance(step := self._step(total, allowed, heard), Enough):
                found = self._ask(step, self.vector)
                hits = self._best([*(rid for rid, _ in found), *self.words])
                heard = Heard(step, len(hits), exhausted=len(found) < step.n)
        sure = confidence(self.query.text, hits)
        far = nothing_close(sure)
        missed = brief(self.snapshot.coverage(), retired=self.query.retired) if far else None
        return Answer(self.query.text, self.query.k, tuple(hits), self.dropped, self.degraded, sure, far, missed)

    def _step(self, total: int, allowed: int, heard: Heard | None) -> stages.Step:
        step = stages.next_step(self.desk.policy, self.query, total, allowed, heard)
        if isinstance(step, Ask) and self._opened() is None:
            return stages.without_index(step, self.query)
        return step

    def _ask(self, step: Ask | stages.Scan, vector: bytes) -> Sequence[tuple[str, float]]:
        opened = self._opened() if isinstance(step, Ask) else None
        if opened is not None:
            try:
                return opened.query(vector, step.n)
            except IndexBroken as broken:
                self.degraded = str(broken)
        return self._exact(step.n, vector)

    def _exact(self, n: int, vector: bytes) -> Sequence[tuple[str, float]]:
        return _all_vectors(self.desk, self.snapshot, self.pointer).query(vector, n, self._passing())

    def _passing(self) -> Sequence[str] | None:
        """The vectors with a row that passes the filter; None where there is no filter."""
        held, view = self.desk.held, self.query.view
        if view == EVERYTHING:
            return None
        with held.lock:
            if held.token != self.pointer.token:
                return self.snapshot.passing_rids(view)
            if view not in held.passing:
                if len(held.passing) >= VIEWS:
                    held.passing.clear()
                held.passing[view] = self.snapshot.passing_rids(view)
            return held.passing[view]

    def _opened(self) -> OpenIndex | None:
        held, pointer = self.desk.held, self.pointer
        if pointer.folder is None or pointer.evidence is None:
            return None
        with held.lock:
            if held.token != pointer.token:
                return None
            if held.opened is None and held.refused is None:
                match self.desk.index.open(pointer.folder, pointer.evidence):
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
        hits = self._cited(few, traces)
        return hits if len(hits) == self.query.k or len(few) == len(order) else self._cited(order, traces)

    def _scored(self, rids: Sequence[str]) -> Mapping[str, Trace]:
        if self.vector is None:
            cosines = dict.fromkeys(rids, 0.0)
        else:
            vectors = self.snapshot.vectors(rids)
            cosines = dict(self.desk.scan(vectors).query(self.vector, len(vectors)))
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
