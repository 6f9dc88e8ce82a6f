"""The composition root: settings in, working parts out. Nothing else in the project names two adapters."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen
from returns.result import Failure

from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.lock import WriterLock
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.record.schema import set_aside
from rag_mcp.adapters.record.writer import SqliteRecord
from rag_mcp.adapters.settings import Settings
from rag_mcp.effects.apply import Hands
from rag_mcp.effects.boundary import Refused
from rag_mcp.effects.ports import Checkpoint, Embedder, EmbedderFault, Exact, Progress, Silence, Unsure, VectorIndex
from rag_mcp.effects.record import Pointer, RecordDamaged, RecordForeign, RecordUnavailable
from rag_mcp.pure.errors import ConfigError, EmbedderFailed
from rag_mcp.pure.identity import Chunking, Labelling, RunIdentity
from rag_mcp.pure.services import is_service, service

if TYPE_CHECKING:
    from rag_mcp.adapters.stores.chroma import ChromaIndex


def no_checkpoint(name: str) -> None:
    """The checkpoint of an ordinary run."""


@frozen
class Parts:
    """What one store works with. `embedder` and `index` are made of settings, or given.

    `chosen`: the embedder was named or given, and is kept whatever the store was made by.
    """

    settings: Settings
    corpus: CorpusFolder | None
    embedder: Embedder
    index: VectorIndex
    labelling: Labelling = Labelling()
    chunking: Chunking = Chunking()
    progress: Progress = field(factory=Silence)
    checkpoint: Checkpoint = no_checkpoint
    chosen: bool = True
    untouched: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the store's collection."""
        return self.settings.folder

    @property
    def run(self) -> RunIdentity:
        """What a run with these parts would make."""
        return RunIdentity(self.embedder.identity, self.chunking, self.labelling)

    def lock(self) -> WriterLock:
        """The writer's lock, not yet taken."""
        return WriterLock(self.folder)

    def reader(self) -> SqliteReader:
        """The record, for reading."""
        return SqliteReader(self.folder)

    def writer(self) -> SqliteRecord:
        """The record, for writing; a damaged one is set aside and a new one begun. Hold the lock."""
        try:
            return SqliteRecord(self.folder)
        except RecordDamaged:
            set_aside(self.folder)
            return SqliteRecord(self.folder)

    def hands(self, record: SqliteRecord) -> Hands:
        """What applying a plan works with."""
        return Hands(record, self.index, self.embedder, self.checkpoint, self.progress, stamp, str(self.folder))

    def wipe(self) -> None:
        """Remove record and index, the lock excepted. Hold the lock."""
        import shutil

        for path in self.folder.glob("record.sqlite3*"):
            path.unlink()
        shutil.rmtree(self.folder / "index", ignore_errors=True)


def stamp() -> tuple[str, str]:
    """A token that no other commit has, and the time."""
    return os.urandom(8).hex(), datetime.now(UTC).isoformat(timespec="seconds")


def assemble(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    labelling: Labelling | None = None,
    chunking: Chunking | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    untouched: bool = False,
) -> Parts:
    """Parts for these settings. Without an embedder named, the one the store was made by, else the default.

    Raises Refused for a setting that means nothing. Looks at the store, creates nothing, loads nothing heavy.
    """
    pointer = stored_pointer(settings.folder)
    maker = embedder or make_embedder(settings, pointer)
    root = settings.corpus or (Path(pointer.root) if pointer else None)
    return Parts(
        settings=settings,
        corpus=corpus_folder(settings, root) if root else None,
        embedder=maker,
        index=make_index(settings, maker, untouched=untouched),
        labelling=labelling or Labelling(),
        chunking=chunking or Chunking(),
        progress=progress or Silence(),
        checkpoint=checkpoint,
        chosen=embedder is not None or settings.embedder is not None,
        untouched=untouched,
    )


def make_index(settings: Settings, embedder: Embedder, *, untouched: bool) -> "ChromaIndex":
    """The index of vectors such as this embedder makes."""
    from rag_mcp.adapters.stores.chroma import ChromaIndex
    from rag_mcp.adapters.stores.private_copies import PrivateCopies

    try:
        dim = embedder.identity.dim
    except EmbedderFault as fault:
        raise Refused(EmbedderFailed(settings.embedder or "", str(fault))) from fault
    return ChromaIndex(str(settings.folder / "index"), dim, PrivateCopies() if untouched else None)


def follows(parts: Parts, pointer: Pointer | None) -> bool:
    """True when these parts can search what the pointer names, or were told to keep their embedder."""
    return parts.chosen or pointer is None or parts.embedder.identity.fingerprint == pointer.embedder.fingerprint


def reassembled(parts: Parts, pointer: Pointer | None) -> Parts:
    """The parts, with the corpus that the store was made from where none was named, and the embedder it was made by."""
    if pointer is None:
        return parts
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
    try:
        with SqliteReader(folder).snapshot() as snapshot:
            return snapshot.pointer()
    except (OSError, RecordDamaged, RecordForeign, RecordUnavailable):
        return None


def make_embedder(settings: Settings, pointer: Pointer | None) -> Embedder:
    """The embedder by name."""
    name = settings.embedder or (pointer.embedder.name if pointer else "default")
    if name == "hash":
        from rag_mcp.adapters.embedders.hashing import HashEmbedder

        return HashEmbedder()
    if is_service(name):
        return connected_service(name, settings, pointer)
    from rag_mcp.adapters.embedders.models import by_name
    from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

    spec = by_name(name)
    if spec is None:
        raise Refused(
            ConfigError(f"the store was made by embedder {name!r}, which is not known here; name one with --embedder")
        )
    return OnnxEmbedder(spec, model_dir=settings.model_dir)


def connected_service(name: str, settings: Settings, pointer: Pointer | None) -> Embedder:
    """The embedder that is a service; what the store was made by is what it may be taken for while it is away."""
    from rag_mcp.adapters.embedders.remote import connected

    named = service(name, settings.services)
    if isinstance(named, Failure):
        raise Refused(named.failure())
    return connected(named.unwrap(), pointer.embedder if pointer else None)


def scan(pairs: Sequence[tuple[str, bytes]]) -> Exact:
    """An exact index of these vectors."""
    from rag_mcp.adapters.stores.exact import ExactScan

    return ExactScan(pairs)


def corpus_folder(settings: Settings, root: Path) -> CorpusFolder:
    """The corpus, the store itself left out where it lies inside."""
    return CorpusFolder(str(root), settings.excludes, skip=(str(settings.store),))


def environ() -> dict[str, str]:
    """The process's environment."""
    return dict(os.environ)
