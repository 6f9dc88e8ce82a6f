"""The library: one class, from a folder to cited passages.

    from rag_mcp import Index

    with Index.open("notes") as index:
        print(index.plan())                 # what an ingest would do; nothing is written
        index.ingest()
        for hit in index.search("how do I rotate the keys?").results:
            print(hit.citation.source, hit.citation.start_line, hit.text)

Expected failures are raised as `Refused`; its `failure` is one of the frozen values of `rag_mcp.pure.errors`.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from returns.result import Failure, Result

from rag_mcp.adapters import wiring
from rag_mcp.adapters.exchange import mend_missing
from rag_mcp.adapters.lock import held
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.record.schema import set_aside
from rag_mcp.adapters.settings import Settings, is_folder, resolve
from rag_mcp.effects.boundary import Refused, store_faults
from rag_mcp.effects.embed import embedded_query
from rag_mcp.effects.ingest import Draft, Eyes, Order, carry_out, draft, same_world
from rag_mcp.effects.ports import Embedder, EmbedderFault, Progress, Unsure
from rag_mcp.effects.record import Known, RecordDamaged
from rag_mcp.pure import errors
from rag_mcp.pure.identity import Choices
from rag_mcp.pure.plans import Plan, SavedPlan
from rag_mcp.pure.pruning import Limits
from rag_mcp.pure.query import DEFAULT_K, parse_query
from rag_mcp.pure.summary import Report
from rag_mcp.pure.wishes import wishes

if TYPE_CHECKING:  # a method loads what it alone needs: an ingest that finds nothing to do is quick
    from rag_mcp.adapters.embedders.custom import TextsToNumbers
    from rag_mcp.adapters.record.reader import SqliteSnapshot
    from rag_mcp.doctor import Examination
    from rag_mcp.effects.record import Pointer
    from rag_mcp.effects.retrieve import Desk
    from rag_mcp.effects.verify import Verdict
    from rag_mcp.pure.changes import Version
    from rag_mcp.pure.citations import Answer
    from rag_mcp.pure.citing import Cited
    from rag_mcp.pure.coverage import Uncovered
    from rag_mcp.pure.identity import Chunking, Setup
    from rag_mcp.pure.manifest import Manifest
    from rag_mcp.pure.stages import SearchPolicy
    from rag_mcp.pure.statistics import Stats
    from rag_mcp.pure.watching import Looked, Timing

T = TypeVar("T")
Announce = Callable[[], None]
ALL = 2**62
"""As `allow_prune`: any number of files may go."""


def warn(sentence: str) -> None:
    """Log a sentence."""
    logging.getLogger(__name__).warning(sentence)


def nobody() -> None:
    """Tells nobody that there is work."""


class Index:
    """One corpus and its store. Cheap to make; safe to search from several threads."""

    def __init__(self, parts: wiring.Parts, policy: "SearchPolicy | None" = None) -> None:
        self._parts = parts
        self._reader: SqliteReader = parts.reader()
        self._desk: Desk | None = None
        self._turn = threading.Lock()
        self._policy = policy

    @classmethod
    def open(
        cls,
        corpus: str | Path | None = None,
        *,
        store: str | Path | None = None,
        embedder: "str | Embedder | TextsToNumbers | None" = None,
        engine: str | None = None,
        collection: str | None = None,
        exclude: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        policy: "SearchPolicy | None" = None,
        dedupe_snapshots: bool = True,
        untouched: bool = False,
        handoff_mirror_dir: str | None = None,
        handoff_mirror_basenames: Sequence[str] | None = None,
        chunking: "Chunking | None" = None,
    ) -> Self:
        """An index over `corpus`, kept in `store` (a folder of the user's data directory where none is named).

        With a store alone the corpus is the one it was made from. `embedder` is a name ("default", "bge",
        "hash") or an object, if need be one that has a `dim` and can be called with texts; None means the one the
        store was made by, else the default. Nothing is created, and no model is loaded, before there is need.
        Without `dedupe_snapshots` an ingest lets be found what repeats the snapshot before it in a dated series.
        With `untouched`, reading leaves every byte of the store as it is: Chroma, which writes whenever it opens, gets
        a private copy.

        The hand-over settings (see `pure.classify`) and `chunking` are what an ingest works with, and are kept in the
        store: None means those it was made with, else the defaults. Raises Refused(ConfigError).
        """
        name = embedder if isinstance(embedder, str) else None
        world = wiring.environ() if environ is None else environ
        settings = _value(
            resolve(
                world,
                corpus=corpus,
                store=store,
                collection=collection,
                embedder=name,
                excludes=exclude,
                engine=engine,
            )
        )
        names = None if handoff_mirror_basenames is None else tuple(handoff_mirror_basenames)
        asked = _value(wishes(handoff_mirror_dir, names, chunking))
        given = None if isinstance(embedder, str) else embedder
        parts = wiring.assemble(
            settings,
            embedder=given,
            wishes=asked,
            progress=progress,
            dedupe_snapshots=dedupe_snapshots,
            untouched=untouched,
        )
        return cls(parts, policy)

    @classmethod
    def of(cls, settings: Settings, *, untouched: bool = False) -> Self:
        """An index by settings that were resolved before. Raises Refused(ConfigError)."""
        return cls(wiring.assemble(settings, untouched=untouched))

    @property
    def store(self) -> Path:
        """The store's folder."""
        return self._parts.folder

    @property
    def warning(self) -> str | None:
        """What to say before texts are sent away from this machine; None where they stay."""
        embedder = self._parts.embedder
        return embedder.warning if isinstance(embedder, Unsure) else None

    def plan(self, *, full: bool = False, allow_prune: int | None = None) -> Plan:
        """What an ingest would do, with a reason for every path. Nothing is written or created.

        `full`: ignore manifest and cached vectors. `allow_prune`: so many files may go (`ALL`: any number).
        Raises Refused (CorpusMissing, EmbedderFailed, StoreUnreachable).
        """
        with store_faults(str(self.store)), self._for_planning() as known:
            self._follow(known.pointer() if known else None)
            return self._draft(known, Order(full, Limits(allow=allow_prune))).plan

    def save(self, plan: Plan, *, allow_prune: int | None = None) -> SavedPlan:
        """The plan with all that `apply` needs to make it again; write it with `rag_mcp.pure.codec`."""
        settings, dedupe = self._parts.settings, self._parts.dedupe_snapshots
        choices = self._parts.wishes.over(wiring.stored_choices(self.store))
        return SavedPlan(
            str(settings.store), settings.collection, settings.excludes, allow_prune, choices, dedupe, plan
        )

    def apply(self, plan: Plan, *, allow_prune: int | None = None) -> Report:
        """Carry out a plan made before, if planning again gives the very same plan; else Refused(PlanMoved)."""
        return self._ingest(Order(plan.full, Limits(allow=allow_prune)), saved=plan)

    def ingest(self, *, full: bool = False, clean: bool = False, allow_prune: int | None = None) -> Report:
        """Plan and apply. `full` embeds everything again, `clean` removes the store first.

        Raises Refused (CorpusMissing, EmbedderFailed, IndexFailed, PruneRefused, StoreUnreachable, WriterBusy).
        """
        return self._ingest(Order(full, Limits(allow=allow_prune)), clean=clean)

    def watch(
        self,
        tell: "Callable[[Looked], None]",
        *,
        timing: "Timing | None" = None,
        allow_prune: int | None = None,
        stop: threading.Event | None = None,
        say: Callable[[str], None] = warn,
    ) -> None:
        """Keep the store up to date with the corpus until `stop` is set: an ingest in each quiet moment after changes.

        `tell` is called after every look, in this thread (`pure.watching.line` puts one into words); the writer's lock
        is free between looks. Failures are told and tried again, a corpus that went away is waited for, and nothing is
        pruned beyond `allow_prune`. `say` gets a sentence where the system cannot watch. Raises Refused (ConfigError;
        CorpusMissing where there is no store yet either).
        """
        from rag_mcp.adapters.watching import watch

        watch(self._parts, partial(self.ingest, allow_prune=allow_prune), tell, timing, stop or threading.Event(), say)

    def search(
        self,
        text: str,
        k: int = DEFAULT_K,
        doc_class: str | None = None,
        *,
        mode: str = "hybrid",
        as_of: str | None = None,
    ) -> "Answer":
        """The best `k` passages, each with what it cites, from the newest generation.

        `k` is clamped to 1..20; `doc_class` is "note", "handoff" or None; `mode` is "hybrid", "semantic" or
        "keyword", which needs no model. `as_of`, a date (YYYY-MM-DD): of each dated series only its newest snapshot of
        that day or before answers. Raises Refused (InvalidQuery, InvalidDocClass, StoreMissing, EmptyStore,
        StoreUnreachable, EmbedderMismatch, EmbedderFailed).
        """
        from rag_mcp.effects.retrieve import search

        query = _value(parse_query(text, k, doc_class, mode, as_of))
        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return _value(search(self._at_desk(snapshot), snapshot, query))

    def changes(self, source: str, chunk_index: int, *, as_of: str | None = None) -> "tuple[Version, ...]":
        """How the block of a cited passage changed over its dated series, oldest version first; () in none.

        A block is what stands under one heading. `as_of`: later snapshots are not looked at. Raises Refused
        (StoreMissing, StoreUnreachable).
        """
        from rag_mcp.pure.changes import versions

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return versions(snapshot.series(source), source, chunk_index, as_of)

    def check(self) -> None:
        """Raise what a search would raise, as far as the record alone can tell; nothing heavy is loaded."""
        from rag_mcp.effects.retrieve import admit

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            _value(admit(self._at_desk(snapshot), snapshot))

    def warm(self) -> None:
        """Load what a search needs, so that the next one is as quick as those after it. Raises Refused."""
        _value(embedded_query(self._parts.embedder, "ready"))
        self.search("ready", 1)

    def read(self, source: str, lines: tuple[int, int] | None = None) -> str:
        """The text of a document that the index knows, as it is in the corpus now, or some of its lines.

        `lines` are the first and the last, from 1. Raises Refused (SourceUnavailable, StoreMissing, EmptyStore,
        StoreUnreachable).
        """
        from rag_mcp.effects.source import read_source

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return _value(read_source(self._at_desk(snapshot).corpus, snapshot, source, lines))

    def cite(self, citation: str, content_hash: str | None = None) -> "Cited":
        """What became of lines that were cited, `SOURCE:START-END` or `SOURCE:LINE`, and those lines as they are now.

        `content_hash` is that of the hit: with it the verdict says whether the lines still hold what was quoted, or
        where it stands now. Raises Refused (InvalidCitation, SourceUnavailable, StoreMissing, EmptyStore,
        StoreUnreachable).
        """
        from rag_mcp.effects.cite import cite
        from rag_mcp.pure.citing import parse_citation, parse_hash

        asked = _value(parse_citation(citation))
        wanted = _value(parse_hash(content_hash)) if content_hash is not None else None
        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return _value(cite(self._at_desk(snapshot).corpus, snapshot, asked, wanted))

    def documents(self) -> tuple[str, ...]:
        """The paths of all documents that the index knows, in order. Raises Refused."""
        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return tuple(sorted(snapshot.belief().entries))

    def setup(self) -> "Setup":
        """All that an answer depends on besides the question, to tell runs of golden cases apart. Raises Refused."""
        from rag_mcp.pure.identity import Setup, digest_of

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            pointer, belief = snapshot.pointer(), snapshot.belief()
            passages = snapshot.statistics().passages
        if pointer is None:
            raise Refused(errors.EmptyStore(str(self.store)))
        entries = sorted(belief.entries.values(), key=lambda entry: entry.path)
        return Setup(
            embedder=pointer.embedder.name,
            fingerprint=pointer.embedder.fingerprint,
            recipes=tuple(sorted({entry.recipe for entry in entries})),
            corpus=digest_of([(entry.path, entry.digest) for entry in entries]),
            passages=passages,
        )

    def verify(self) -> "Verdict":
        """Check record, index and corpus against each other; nothing is changed. Raises Refused."""
        from rag_mcp.effects.verify import verify

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return verify(snapshot, self._parts.index, self._parts.corpus, self._parts.progress)

    def repair(self) -> bool:
        """Rebuild index and keywords from the record; True when that sufficed, False when an ingest must follow."""
        from rag_mcp.effects.verify import repair

        lock = self._parts.lock()
        with store_faults(str(self.store)), held(lock):
            if not self.store.is_dir():
                raise Refused(errors.StoreMissing(str(self.store)))
            _value(lock.acquire())
            lock.announce()
            record = self._parts.writer()
            try:
                return _value(repair(self._parts.hands(record)))
            finally:
                record.close()

    def stats(self) -> "Stats":
        """What the store holds and what it was made by. Raises Refused."""
        from rag_mcp.effects.record import STEPS
        from rag_mcp.pure.statistics import Stats

        counting = self._parts.progress.task("counting", STEPS, unit="counts")
        with counting as advance, store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            counted = snapshot.statistics(advance)
            pointer = snapshot.pointer()
        sizes = sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())
        return Stats(
            store=str(self.store),
            corpus=pointer.root if pointer else None,
            collection=self._parts.settings.collection,
            generation=pointer.generation if pointer else 0,
            finished=pointer.finished if pointer else None,
            embedder=pointer.embedder.name if pointer else None,
            dim=pointer.embedder.dim if pointer else None,
            files=counted.files,
            passages=counted.passages,
            repeats=counted.deduped,
            distinct_texts=counted.contents,
            vectors=pointer.vectors if pointer else 0,
            cached_vectors=counted.cached,
            classes=counted.classes,
            bytes_on_disk=sizes,
        )

    def manifest(self) -> "Manifest":
        """What the store was made from, file by file, and by what. Raises Refused (also EmptyStore)."""
        from rag_mcp.pure.identity import RunIdentity
        from rag_mcp.pure.manifest import Manifest

        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            pointer, belief = snapshot.pointer(), snapshot.belief()
            choices = self._parts.wishes.over(snapshot.choices())
        if pointer is None:
            raise Refused(errors.EmptyStore(str(self.store)))
        return Manifest(
            store=str(self.store),
            collection=self._parts.settings.collection,
            root=pointer.root,
            generation=pointer.generation,
            finished=pointer.finished,
            embedder=pointer.embedder,
            run=RunIdentity(pointer.embedder, choices.chunking, choices.labelling),
            entries=tuple(entry for _, entry in sorted(belief.entries.items())),
        )

    def coverage(self) -> "tuple[Uncovered, ...]":
        """Every path that the last ingest found not wholly searchable, and why; nothing is looked at anew.

        Raises Refused (StoreMissing, StoreUnreachable).
        """
        with store_faults(str(self.store)), self._reader.snapshot() as snapshot:
            return snapshot.coverage()

    def doctor(self) -> "Examination":
        """Look at all that an answer depends on, as `rag_mcp.doctor.examine`; changes nothing, never raises Refused."""
        from rag_mcp.doctor import of_parts

        return of_parts(self._parts)

    def close(self) -> None:
        """Release files and memory; idempotent."""
        self._leave_desk()
        self._parts.index.close()
        if isinstance(self._parts.embedder, Unsure):
            self._parts.embedder.close()

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Close."""
        self.close()

    def _ingest(self, order: Order, *, clean: bool = False, saved: Plan | None = None) -> Report:
        lock = self._parts.lock()
        with store_faults(str(self.store)), held(lock):
            self._check_corpus()
            if clean:
                _value(embedded_query(self._parts.embedder, "ready"))  # nothing is removed for one that fails
            mend_missing(self.store)
            _value(lock.acquire())
            own = None
            if clean:
                lock.announce()
                own = wiring.stored_choices(self.store)
                self._parts.wipe()
            try:
                return self._write(order, lock.announce, saved, own)
            except RecordDamaged:
                lock.announce()
                set_aside(self.store)
                return self._write(order, lock.announce, saved, own)

    def _write(self, order: Order, announce: Announce, saved: Plan | None, own: "Choices | None") -> Report:
        record = self._parts.writer()
        try:
            self._follow(record.pointer())
            drafted = self._draft(record, order, announce, own)
            if saved is not None:
                _value(same_world(saved, drafted.plan))
            if not drafted.plan.quiet:
                announce()
            return _value(carry_out(self._parts.hands(record), drafted))
        finally:
            record.close()

    def _follow(self, pointer: "Pointer | None") -> None:
        """Go on with the embedder that the store was made by since, where none was named: never back to another."""
        with self._turn:
            if not wiring.follows(self._parts, pointer):
                self._parts = wiring.reassembled(self._parts, pointer)
                self._leave_desk()

    def _draft(
        self, known: Known | None, order: Order, announce: Announce = nobody, own: "Choices | None" = None
    ) -> Draft:
        parts = self._parts
        own = own or (known.choices() if known else Choices())
        if parts.corpus is None:
            raise Refused(errors.ConfigError("no corpus was named, and the store does not know one"))
        self._confirm_embedder()
        eyes = Eyes(parts.corpus, known, parts.index, parts.embedder, parts.progress)
        return _value(draft(eyes, parts.run(own), order, announce))

    def _confirm_embedder(self) -> None:
        """Nothing is planned, and no file skipped, by what an embedder was when it was last heard of."""
        embedder = self._parts.embedder
        if isinstance(embedder, Unsure):
            try:
                embedder.confirm()
            except EmbedderFault as fault:
                name = self._parts.settings.embedder or "of the store"
                raise Refused(errors.EmbedderFailed(name, str(fault))) from fault

    def _check_corpus(self) -> None:
        """A mistyped corpus must not even leave an empty store behind."""
        corpus = self._parts.corpus
        if corpus is not None and not is_folder(Path(corpus.root)):
            raise Refused(errors.CorpusMissing(corpus.root, "no such folder"))

    @contextmanager
    def _for_planning(self) -> Iterator[Known | None]:
        with ExitStack() as stack:
            try:
                known: Known | None = stack.enter_context(self._reader.snapshot())
            except (FileNotFoundError, RecordDamaged):
                known = None  # an ingest would begin a new record
            yield known

    def _leave_desk(self) -> None:
        if self._desk is not None:
            self._desk.held.turn_to(None)
            self._desk = None

    def _at_desk(self, snapshot: "SqliteSnapshot") -> "Desk":
        """Where searches are carried out; made anew when the store was made anew by another embedder."""
        from rag_mcp.effects.retrieve import Desk
        from rag_mcp.pure.stages import SearchPolicy

        with self._turn:
            pointer = snapshot.pointer()
            if self._desk is not None and wiring.follows(self._parts, pointer):
                return self._desk
            parts = self._parts = wiring.reassembled(self._parts, pointer)
            if parts.corpus is None:
                raise Refused(errors.EmptyStore(str(self.store)))
            self._leave_desk()
            self._desk = Desk(
                parts.corpus,
                parts.index,
                parts.embedder,
                wiring.scan,
                self._policy or SearchPolicy(),
                str(self.store),
                prove=parts.untouched,
            )
            return self._desk


def _value(result: Result[T, errors.Failure]) -> T:
    if isinstance(result, Failure):
        raise Refused(result.failure())
    return result.unwrap()
