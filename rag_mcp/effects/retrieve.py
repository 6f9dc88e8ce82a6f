"""Carries a search policy out over one snapshot: ask, recheck, cite.

Every row is checked against the scope again before it is shown, and every passage against its file; scores
are made anew from the cached vectors, so the index and the exact scan give the same numbers and order.
"""

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property

from attrs import define, field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.embed import checked, embedded_query
from rag_mcp.effects.ports import Corpus, Embedder, Exact, IndexBroken, OpenIndex, Scan, VectorIndex
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.pure import stages
from rag_mcp.pure.blocks import line_of, line_starts
from rag_mcp.pure.citations import Answer, Hit, Row, cite, marked_stale, passages
from rag_mcp.pure.documents import decode
from rag_mcp.pure.errors import EmbedderFailed, EmbedderMismatch, EmptyStore
from rag_mcp.pure.query import Query
from rag_mcp.pure.stages import Ask, Enough, Heard, SearchPolicy
from rag_mcp.pure.vectors import dot

SAME = 0.9995
"""Cosine at which two engines of one model count as one."""
FEW = 2
"""Vectors that are read and scored at first for each passage that was asked for."""
SLACK = 2e-4
"""Above what rounding changes: an index's float32, and the four decimals of a hit's score."""

SearchFailure = EmptyStore | EmbedderMismatch | EmbedderFailed


@define
class Held:
    """What a long-lived reader keeps for one commit: an open index, all vectors in memory, those of each class."""

    token: str | None = None
    opened: OpenIndex | None = None
    refused: str | None = None
    exact: Exact | None = None
    passing: dict[str, Sequence[str]] = field(factory=dict)
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
            return Result.do(
                _Search(desk, snapshot, pointer, query, vector).answer()
                for _ in proof(desk, snapshot)
                for vector in embedded_query(desk.embedder, query.text)
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


def proof(desk: Desk, snapshot: Snapshot) -> Result[None, EmbedderFailed]:
    """That the embedder gives what the store holds, on one passage: equal names may hide another engine or model."""
    sung = snapshot.canary() if desk.prove and not desk.held.proven else None
    if sung is None:
        return Success(None)
    text, stored = sung
    name = desk.embedder.identity.name
    return checked(desk.embedder, lambda: desk.embedder.embed([text]), 1).bind(
        lambda vectors: _same(desk.held, name, dot(vectors[0], stored))
    )


def _same(held: Held, name: str, cosine: float) -> Result[None, EmbedderFailed]:
    if cosine < SAME:
        why = f"its vector of a stored passage is not the stored one (cosine {cosine:.4f}); ingest with --full"
        return Failure(EmbedderFailed(name, why))
    held.proven = True
    return Success(None)


class FileNow:
    """A cited file as it is now; it is hashed, decoded and counted into lines at most once, whatever cites it."""

    def __init__(self, source: str, data: bytes) -> None:
        self._source, self._data = source, data

    def holds(self, row: Row) -> bool:
        """True when the file holds the row's text at the lines it names."""
        if self._digest == row.digest:
            return True
        text = self._text
        if text is None or text[row.start : row.end] != row.text:
            return False
        return line_of(self._lines, row.start) == row.start_line

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._data).hexdigest()

    @cached_property
    def _text(self) -> str | None:
        return decode(self._source, self._data).value_or(None)

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        return line_starts(self._text or "")


@define
class _Search:
    """One question under way."""

    desk: Desk
    snapshot: Snapshot
    pointer: Pointer
    query: Query
    vector: bytes
    degraded: str | None = None
    dropped: int = 0
    files: dict[str, FileNow | None] = field(factory=dict)

    def answer(self) -> Answer:
        hits: list[Hit] = []
        heard: Heard | None = None
        total = self.pointer.vectors
        passing = self._passing()
        allowed = total if passing is None else len(passing)
        while not isinstance(step := self._step(total, allowed, heard), Enough):
            found = self._ask(step)
            hits = self._best(found)
            heard = Heard(step, len(hits), exhausted=len(found) < step.n)
        return Answer(self.query.text, self.query.k, tuple(hits), self.dropped, self.degraded)

    def _step(self, total: int, allowed: int, heard: Heard | None) -> stages.Step:
        step = stages.next_step(self.desk.policy, self.query, total, allowed, heard)
        if isinstance(step, Ask) and self._opened() is None:
            return stages.without_index(step, self.query)
        return step

    def _ask(self, step: Ask | stages.Scan) -> Sequence[tuple[str, float]]:
        opened = self._opened() if isinstance(step, Ask) else None
        if opened is not None:
            try:
                return opened.query(self.vector, step.n)
            except IndexBroken as broken:
                self.degraded = str(broken)
        return self._exact(step.n)

    def _exact(self, n: int) -> Sequence[tuple[str, float]]:
        held = self.desk.held
        with held.lock:
            exact = held.exact if held.token == self.pointer.token else None
            if exact is None:
                exact = self.desk.scan(self.snapshot.vectors(None))
                if held.token == self.pointer.token:
                    held.exact = exact
        return exact.query(self.vector, n, self._passing())

    def _passing(self) -> Sequence[str] | None:
        """The vectors with a row that passes the filter; None where there is no filter."""
        held, doc_class = self.desk.held, self.query.doc_class
        if doc_class is None:
            return None
        with held.lock:
            if held.token != self.pointer.token:
                return self.snapshot.passing_rids(doc_class)
            if doc_class not in held.passing:
                held.passing[doc_class] = self.snapshot.passing_rids(doc_class)
            return held.passing[doc_class]

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

    def _best(self, found: Sequence[tuple[str, float]]) -> list[Hit]:
        """The best k: read from the first few found, unless what comes after those might still be among them."""
        few = FEW * self.query.k
        hits = self._hits([rid for rid, _ in found[:few]])
        if len(found) > few and not (len(hits) == self.query.k and found[few][1] < hits[-1].score - SLACK):
            hits = self._hits([rid for rid, _ in found])
        return hits

    def _hits(self, rids: Sequence[str]) -> list[Hit]:
        vectors = dict(self.snapshot.vectors(rids))
        scores = {rid: dot(self.vector, vector) for rid, vector in vectors.items()}
        rows = self.snapshot.rows(list(scores), self.query.doc_class)
        hits: list[Hit] = []
        self.dropped = 0
        for score, group in passages(rows, scores):
            inside = [row for row in group if not self.desk.corpus.escapes(row.source)]
            self.dropped += len(group) - len(inside)
            if inside:
                hit = cite(score, inside)
                hits.append(hit if self._stands(inside[0]) else marked_stale(hit))
            if len(hits) == self.query.k:
                break
        return hits

    def _stands(self, row: Row) -> bool:
        if row.source not in self.files:
            data = self.desk.corpus.read(row.source).value_or(None)
            self.files[row.source] = None if data is None else FileNow(row.source, data)
        file = self.files[row.source]
        return file is not None and file.holds(row)
