"""The composition root: settings in, working parts out. Nothing else in the project names two adapters."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from attrs import evolve, field, frozen
from returns.result import Failure

from rag_mcp.adapters.record import pointers
from rag_mcp.adapters.record.place import FILE_NAME
from rag_mcp.adapters.settings import Settings
from rag_mcp.effects.boundary import Refused
from rag_mcp.effects.ports import (
    Checkpoint,
    Embedder,
    EmbedderFault,
    Exact,
    Parallel,
    Progress,
    Silence,
    Unsure,
    VectorIndex,
)
from rag_mcp.effects.record import Pointer, RecordDamaged, RecordForeign, RecordUnavailable
from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.identity import Choices, RunIdentity
from rag_mcp.pure.services import is_service, service
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.wishes import Wishes

if TYPE_CHECKING:  # a question's model is loaded by what stands here, while all else is yet to be imported
    from rag_mcp.adapters.corpus_files import CorpusFolder
    from rag_mcp.adapters.embedders.custom import TextsToNumbers
    from rag_mcp.adapters.lock import WriterLock
    from rag_mcp.adapters.record.reader import SqliteReader
    from rag_mcp.adapters.record.writer import SqliteRecord
    from rag_mcp.adapters.stores.chroma import ChromaIndex
    from rag_mcp.effects.apply import Hands

T = TypeVar("T")


def no_checkpoint(name: str) -> None:
    """The checkpoint of an ordinary run."""


@frozen(repr=False)
class Parts(Shown):
    """What one store works with. `embedder` and `index` are made of settings, or given.

    `chosen`: the embedder was named or given, and is kept whatever the store was made by.
    """

    settings: Settings
    corpus: "CorpusFolder | None"
    embedder: Embedder
    index: VectorIndex
    wishes: Wishes = Wishes()
    progress: Progress = field(factory=Silence)
    checkpoint: Checkpoint = no_checkpoint
    dedupe_snapshots: bool = True
    chosen: bool = True
    untouched: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the store's collection."""
        return self.settings.folder

    def run(self, own: Choices) -> RunIdentity:
        """What a run with these parts would make of a store that has its `own` choices."""
        choices = self.wishes.over(own)
        return RunIdentity(self.embedder.identity, choices.chunking, choices.labelling, self.dedupe_snapshots)

    def lock(self) -> "WriterLock":
        """The writer's lock, not yet taken."""
        from rag_mcp.adapters.lock import WriterLock

        return WriterLock(self.folder)

    def reader(self) -> "SqliteReader":
        """The record, for reading."""
        from rag_mcp.adapters.record.reader import SqliteReader

        return SqliteReader(self.folder)

    def writer(self) -> "SqliteRecord":
        """The record, for writing; a damaged one is set aside and a new one begun. Hold the lock."""
        from rag_mcp.adapters.record.schema import set_aside
        from rag_mcp.adapters.record.writer import SqliteRecord

        try:
            return SqliteRecord(self.folder)
        except RecordDamaged:
            set_aside(self.folder)
            return SqliteRecord(self.folder)

    def hands(self, record: "SqliteRecord") -> "Hands":
        """What applying a plan works with."""
        from rag_mcp.effects.apply import Hands

        return Hands(record, self.index, self.embedder, self.checkpoint, self.progress, stamp, str(self.folder))

    def wipe(self) -> None:
        """Remove record and index, the lock excepted. Hold the lock."""
        import shutil

        for path in self.folder.glob(f"{FILE_NAME}*"):
            path.unlink()
        shutil.rmtree(self.settings.index, ignore_errors=True)


def stamp() -> tuple[str, str]:
    """A token that no other commit has, and the time."""
    from datetime import UTC, datetime

    return os.urandom(8).hex(), datetime.now(UTC).isoformat(timespec="seconds")


def assemble(
    settings: Settings,
    *,
    embedder: "Embedder | TextsToNumbers | None" = None,
    wishes: Wishes = Wishes(),
    progress: Progress | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    dedupe_snapshots: bool = True,
    untouched: bool = False,
    ahead: str | None = None,
) -> Parts:
    """Parts for these settings. Without an embedder named, the one the store was made by, else the default.

    Raises Refused for a setting that means nothing. Looks at the store, creates nothing, loads nothing heavy, unless
    the question that will be asked is told `ahead`: then all that can wait is imported while it is embedded.
    """
    pointer = stored_pointer(settings.folder)
    maker = make_embedder(settings, pointer) if embedder is None else as_embedder(embedder)
    if ahead is not None and isinstance(maker, Parallel):
        maker.warm(ahead)
    from rag_mcp.adapters.beginning import corpus_folder

    root = settings.corpus or (Path(pointer.root) if pointer else None)
    return Parts(
        settings=settings,
        corpus=corpus_folder(settings, root) if root else None,
        embedder=maker,
        index=make_index(settings, maker, untouched=untouched),
        wishes=wishes,
        progress=progress or Silence(),
        checkpoint=checkpoint,
        dedupe_snapshots=dedupe_snapshots,
        chosen=embedder is not None or settings.embedder is not None,
        untouched=untouched,
    )


def as_embedder(given: "Embedder | TextsToNumbers") -> Embedder:
    """What was given, or an adapter of what can only be called; known by the name of its class. Raises Refused."""
    from rag_mcp.adapters.embedders.custom import adapt

    if not callable(given) or hasattr(type(given), "embed"):
        return cast(Embedder, given)
    try:
        return adapt(given, type(given).__qualname__)
    except (AttributeError, TypeError) as error:
        raise Refused(ConfigError(str(error))) from error


def make_index(settings: Settings, embedder: Embedder, *, untouched: bool) -> "ChromaIndex":
    """The index of vectors such as this embedder makes."""
    from rag_mcp.adapters.stores.chroma import ChromaIndex

    try:
        dim = embedder.identity.dim
    except EmbedderFault as fault:
        raise _failed(settings.embedder or "of this store", str(fault)) from fault
    if not untouched:
        return ChromaIndex(str(settings.index), dim)
    from rag_mcp.adapters.stores.private_copies import PrivateCopies

    return ChromaIndex(str(settings.index), dim, PrivateCopies())


def _failed(name: str, why: str) -> Refused:
    from rag_mcp.pure.errors import EmbedderFailed

    return Refused(EmbedderFailed(name, why))


def follows(parts: Parts, pointer: Pointer | None) -> bool:
    """True when these parts can search what the pointer names, or were told to keep their embedder."""
    return parts.chosen or pointer is None or parts.embedder.identity.fingerprint == pointer.embedder.fingerprint


def reassembled(parts: Parts, pointer: Pointer | None) -> Parts:
    """The parts, with the corpus that the store was made from where none was named, and the embedder it was made by."""
    if pointer is None:
        return parts
    from rag_mcp.adapters.beginning import corpus_folder

    corpus = parts.corpus or corpus_folder(parts.settings, Path(pointer.root))
    if follows(parts, pointer):
        return evolve(parts, corpus=corpus)
    parts.index.close()
    if isinstance(parts.embedder, Unsure):
        parts.embedder.close()
    maker = make_embedder(parts.settings, pointer)
    return evolve(
        parts, corpus=corpus, embedder=maker, index=make_index(parts.settings, maker, untouched=parts.untouched)
    )


def stored_pointer(folder: Path) -> Pointer | None:
    """What the record in a folder points to; None when it cannot say."""
    return _told(lambda: pointers.stored_pointer(folder), None)


def stored_choices(folder: Path) -> Choices:
    """What was chosen for the store in a folder; the defaults where it cannot say."""
    from rag_mcp.adapters.record.reader import SqliteReader

    def choices() -> Choices:
        with SqliteReader(folder).snapshot() as snapshot:
            return snapshot.choices()

    return _told(choices, Choices())


def _told(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except (OSError, RecordDamaged, RecordForeign, RecordUnavailable):
        return otherwise


def make_embedder(settings: Settings, pointer: Pointer | None) -> Embedder:
    """The embedder by name; one whose files are away goes by what the store says of it."""
    name = settings.embedder or (pointer.embedder.name if pointer else "default")
    if name == "hash":
        from rag_mcp.adapters.embedders.hashing import HashEmbedder

        return HashEmbedder()
    if is_service(name):
        return connected_service(name, settings, pointer)
    from rag_mcp.adapters.embedders.absent import present_or_absent
    from rag_mcp.adapters.embedders.models import by_name
    from rag_mcp.adapters.embedders.onnx import FEW, OnnxEmbedder

    spec = by_name(name)
    if spec is None:
        raise Refused(
            ConfigError(f"the store was made by embedder {name!r}, which is not known here; name one with --embedder")
        )
    made = OnnxEmbedder(spec, model_dir=settings.model_dir, engine=settings.engine, few=0 if settings.engine else FEW)
    if pointer is None or pointer.embedder.name != spec.name:
        return made
    return present_or_absent(made, pointer.embedder)


def fetch_model(name: str) -> Sequence[tuple[Path, str]]:
    """Fetch a model that is known by name; its files with their SHA-256. Raises Refused."""
    from rag_mcp.adapters.embedders.models import KNOWN, by_name, fetch, sha256_of

    spec = by_name(name)
    if spec is None:
        raise Refused(ConfigError(f"model {name!r} is not one of {', '.join(sorted(KNOWN))}"))
    files = fetch(spec)
    if isinstance(files, Failure):
        raise _failed(name, files.failure().sentence)
    return [(path, sha256_of(path)) for path in (files.unwrap().weights, files.unwrap().tokenizer)]


def connected_service(name: str, settings: Settings, pointer: Pointer | None) -> Embedder:
    """The embedder that is a service; what the store was made by is what it may be taken for while it is away."""
    from rag_mcp.adapters.embedders.remote import connected

    named = service(name, settings.services)
    if isinstance(named, Failure):
        raise Refused(named.failure())
    return connected(named.unwrap(), pointer.embedder if pointer else None)


def steady(embedder: Embedder) -> bool:
    """Whether what it signs with is the same for as long as the program is: of no file's or service's making."""
    from rag_mcp.adapters.embedders.hashing import HashEmbedder
    from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

    return isinstance(embedder, HashEmbedder) or (isinstance(embedder, OnnxEmbedder) and embedder.pinned)


def scan(pairs: Iterable[tuple[str, bytes]]) -> Exact:
    """An exact index of these vectors."""
    from rag_mcp.adapters.stores.exact import ExactScan

    return ExactScan(pairs)


def environ() -> dict[str, str]:
    """The process's environment."""
    return dict(os.environ)
