"""The library: one class, from a folder to cited passages.

    from rag_mcp import Index

    with Index.open("notes") as index:
        print(index.plan())                 # what an ingest would do; nothing is written
        index.ingest()
        for hit in index.search("how do I rotate the keys?").results:
            print(hit.citation.source, hit.citation.start_line, hit.text)

Expected failures are raised as `Refused`; its `failure` is one of the frozen values of `rag_mcp.pure.errors`.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rag_mcp.adapters import wiring
from rag_mcp.adapters.session import Session
from rag_mcp.adapters.settings import Settings, resolve
from rag_mcp.effects.boundary import value
from rag_mcp.effects.ports import Embedder, Progress, Unsure
from rag_mcp.pure.limits import DEFAULT_K
from rag_mcp.pure.wishes import wishes

if TYPE_CHECKING:  # a method loads what it alone needs: an ingest that finds nothing to do is quick
    from rag_mcp.adapters.embedders.custom import TextsToNumbers
    from rag_mcp.doctor import Examination
    from rag_mcp.effects.verify import Verdict
    from rag_mcp.pure.changes import Version
    from rag_mcp.pure.citations import Answer
    from rag_mcp.pure.citing import Cited
    from rag_mcp.pure.corpus import FileText, Found
    from rag_mcp.pure.coverage import Uncovered
    from rag_mcp.pure.identity import Chunking, Setup
    from rag_mcp.pure.manifest import Manifest
    from rag_mcp.pure.plans import Plan, SavedPlan
    from rag_mcp.pure.query import Query
    from rag_mcp.pure.stages import SearchPolicy
    from rag_mcp.pure.statistics import Stats
    from rag_mcp.pure.summary import Report
    from rag_mcp.pure.watching import Looked, Timing

ALL = 2**62
"""As `allow_prune`: any number of files may go."""


def warn(sentence: str) -> None:
    """Log a sentence."""
    import logging

    logging.getLogger(__name__).warning(sentence)


class Index(Session):
    """One corpus and its store. Cheap to make; safe to search from several threads."""

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
        ahead: str | None = None,
    ) -> Self:
        """An index over `corpus`, kept in `store` (a folder of the user's data directory where none is named).

        With a store alone the corpus is the one it was made from. `embedder` is a name ("default", "bge",
        "hash") or an object, if need be one that has a `dim` and can be called with texts; None means the one the
        store was made by, else the default. Nothing is created, and no model is loaded, before there is need.
        Without `dedupe_snapshots` an ingest lets be found what repeats the snapshot before it in a dated series.
        With `untouched`, reading leaves every byte of the store as it is: Chroma, which writes whenever it opens, gets
        a private copy. With `ahead`, the question that will be asked, the model is loaded and asked at once, beside the
        caller's own work.

        The hand-over settings (see `pure.classify`) and `chunking` are what an ingest works with, and are kept in the
        store: None means those it was made with, else the defaults. Raises Refused(ConfigError).
        """
        name = embedder if isinstance(embedder, str) else None
        world = wiring.environ() if environ is None else environ
        settings = value(
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
        asked = value(wishes(handoff_mirror_dir, names, chunking))
        given = None if isinstance(embedder, str) else embedder
        parts = wiring.assemble(
            settings,
            embedder=given,
            wishes=asked,
            progress=progress,
            dedupe_snapshots=dedupe_snapshots,
            untouched=untouched,
            ahead=ahead,
        )
        return cls(parts, policy)

    @classmethod
    def of(cls, settings: Settings, *, untouched: bool = False) -> Self:
        """An index by settings that were resolved before. Raises Refused(ConfigError)."""
        return cls(wiring.assemble(settings, untouched=untouched))

    @property
    def warning(self) -> str | None:
        """What to say before texts are sent away from this machine; None where they stay."""
        embedder = self._parts.embedder
        return embedder.warning if isinstance(embedder, Unsure) else None

    def plan(self, *, full: bool = False, allow_prune: int | None = None) -> "Plan":
        """What an ingest would do, with a reason for every path. Nothing is written or created.

        `full`: ignore manifest and cached vectors. `allow_prune`: so many files may go (`ALL`: any number).
        Raises Refused (CorpusMissing, EmbedderFailed, StoreUnreachable).
        """
        from rag_mcp.adapters.ingesting import ordered, planned

        return planned(self, ordered(full=full, allow_prune=allow_prune))

    def save(self, plan: "Plan", *, allow_prune: int | None = None) -> "SavedPlan":
        """The plan with all that `apply` needs to make it again; write it with `rag_mcp.pure.codec`."""
        from rag_mcp.pure.plans import SavedPlan

        settings, dedupe = self._parts.settings, self._parts.dedupe_snapshots
        choices = self._parts.wishes.over(wiring.stored_choices(self.store))
        return SavedPlan(
            str(settings.store), settings.collection, settings.excludes, allow_prune, choices, dedupe, plan
        )

    def apply(self, plan: "Plan", *, allow_prune: int | None = None) -> "Report":
        """Carry out a plan made before, if planning again gives the very same plan; else Refused(PlanMoved)."""
        from rag_mcp.adapters.ingesting import ingested, ordered

        return ingested(self, ordered(full=plan.full, allow_prune=allow_prune), saved=plan)

    def ingest(self, *, full: bool = False, clean: bool = False, allow_prune: int | None = None) -> "Report":
        """Plan and apply. `full` embeds everything again, `clean` removes the store first.

        Raises Refused (CorpusMissing, EmbedderFailed, IndexFailed, PruneRefused, StoreUnreachable, WriterBusy).
        """
        from rag_mcp.adapters.ingesting import ingested, ordered

        return ingested(self, ordered(full=full, allow_prune=allow_prune), clean=clean)

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
        retired: bool = False,
    ) -> "Answer":
        """The best `k` passages, each with what it cites, from the newest generation.

        `k` is clamped to 1..20; `doc_class` is "note", "handoff" or None; `mode` is "hybrid", "semantic" or
        "keyword", which needs no model. `as_of`, a date (YYYY-MM-DD): of each dated series only its newest snapshot of
        that day or before answers. `retired`: superseded documents answer, too, and their hits say so. Raises Refused
        (InvalidQuery, InvalidDocClass, StoreMissing, EmptyStore, StoreUnreachable, EmbedderMismatch, EmbedderFailed).
        """
        from rag_mcp.effects.retrieve import search
        from rag_mcp.pure.query import parse_query

        query = value(parse_query(text, k, doc_class, mode, as_of, retired))
        with self._snapshot() as snapshot:
            return value(search(self._at_desk(snapshot), snapshot, query))

    def find(self, query: "Query") -> "Found":
        """The answer to a question in bounds, with titles and the stamp of the index. Raises Refused, as `search`."""
        from rag_mcp.effects.files import found

        with self._snapshot() as snapshot:
            return value(found(self._at_desk(snapshot), snapshot, query))

    def file(self, path: str) -> "FileText":
        """The document at a path that the index knows, from disk or, where it is not there, from the index.

        Raises Refused (SourceUnavailable, PathChanged, StoreMissing, EmptyStore, StoreUnreachable).
        """
        from rag_mcp.effects.files import get_file

        with self._snapshot() as snapshot:
            return value(get_file(self._at_desk(snapshot).corpus, snapshot, path, str(self.store)))

    def changes(self, source: str, chunk_index: int, *, as_of: str | None = None) -> "tuple[Version, ...]":
        """How the block of a cited passage changed over its dated series, oldest version first; () in none.

        A block is what stands under one heading. `as_of`: later snapshots are not looked at. Raises Refused
        (StoreMissing, StoreUnreachable).
        """
        from rag_mcp.pure.changes import versions

        with self._snapshot() as snapshot:
            return versions(snapshot.series(source), source, chunk_index, as_of)

    def check(self) -> None:
        """Raise what a search would raise, as far as the record alone can tell; nothing heavy is loaded."""
        from rag_mcp.effects.retrieve import admit

        with self._snapshot() as snapshot:
            value(admit(self._at_desk(snapshot), snapshot))

    def warm(self) -> None:
        """Load what a search needs, so that the next one is as quick as those after it. Raises Refused."""
        from rag_mcp.effects.embed import embedded_query

        value(embedded_query(self._parts.embedder, "ready"))
        self.search("ready", 1)

    def read(self, source: str, lines: tuple[int, int] | None = None) -> str:
        """The text of a document that the index knows, as it is in the corpus now, or some of its lines.

        `lines` are the first and the last, from 1. Raises Refused (SourceUnavailable, StoreMissing, EmptyStore,
        StoreUnreachable).
        """
        from rag_mcp.effects.source import read_source

        with self._snapshot() as snapshot:
            return value(read_source(self._at_desk(snapshot).corpus, snapshot, source, lines))

    def cite(self, citation: str, content_hash: str | None = None) -> "Cited":
        """What became of lines that were cited, `SOURCE:START-END` or `SOURCE:LINE`, and those lines as they are now.

        `content_hash` is that of the hit: with it the verdict says whether the lines still hold what was quoted, or
        where it stands now. Raises Refused (InvalidCitation, SourceUnavailable, StoreMissing, EmptyStore,
        StoreUnreachable).
        """
        from rag_mcp.effects.cite import cite
        from rag_mcp.pure.citing import parse_citation, parse_hash

        asked = value(parse_citation(citation))
        wanted = value(parse_hash(content_hash)) if content_hash is not None else None
        with self._snapshot() as snapshot:
            return value(cite(self._at_desk(snapshot).corpus, snapshot, asked, wanted))

    def documents(self) -> tuple[str, ...]:
        """The paths of all documents that the index knows, in order. Raises Refused."""
        with self._snapshot() as snapshot:
            return tuple(sorted(snapshot.belief().entries))

    def setup(self) -> "Setup":
        """All that an answer depends on besides the question, to tell runs of golden cases apart. Raises Refused."""
        from rag_mcp.effects.inspect import setup

        with self._snapshot() as snapshot:
            return value(setup(snapshot, str(self.store)))

    def verify(self) -> "Verdict":
        """Check record, index and corpus against each other; nothing is changed. Raises Refused."""
        from rag_mcp.effects.verify import verify

        with self._snapshot() as snapshot:
            return verify(snapshot, self._parts.index, self._parts.corpus, self._parts.progress)

    def repair(self) -> bool:
        """Rebuild index and keywords from the record; True when that sufficed, False when an ingest must follow."""
        from rag_mcp.adapters.ingesting import repaired

        return repaired(self._parts)

    def stats(self) -> "Stats":
        """What the store holds and what it was made by. Raises Refused."""
        from rag_mcp.adapters.environment import size
        from rag_mcp.effects.inspect import stats

        with self._snapshot() as snapshot:
            parts = self._parts
            return stats(snapshot, str(self.store), parts.settings.collection, size(self.store), parts.progress)

    def manifest(self) -> "Manifest":
        """What the store was made from, file by file, and by what. Raises Refused (also EmptyStore)."""
        from rag_mcp.effects.inspect import manifest

        with self._snapshot() as snapshot:
            choices = self._parts.wishes.over(snapshot.choices())
            return value(manifest(snapshot, str(self.store), self._parts.settings.collection, choices))

    def coverage(self) -> "tuple[Uncovered, ...]":
        """Every path that the last ingest found not wholly searchable, and why; nothing is looked at anew.

        Raises Refused (StoreMissing, StoreUnreachable).
        """
        with self._snapshot() as snapshot:
            return snapshot.coverage()

    def doctor(self) -> "Examination":
        """Look at all that an answer depends on, as `rag_mcp.doctor.examine`; changes nothing, never raises Refused."""
        from rag_mcp.doctor import of_parts

        return of_parts(self._parts)
