"""A look at everything that an answer depends on; nothing is changed, and nothing of it need be there.

    from rag_mcp import doctor

    for finding in doctor.examine("notes").findings:
        print(finding.severity.value, finding.where, finding.what, finding.mend)

An index that is open is looked at by `Index.doctor()`. What is judged, and how, stands in `rag_mcp.pure.doctor`.
"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen
from returns.result import Failure, Success

from rag_mcp.adapters import environment, lock, registrations, wiring
from rag_mcp.adapters.beginning import corpus_folder
from rag_mcp.adapters.record.place import FILE_NAME
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.settings import ALIASES, Settings, is_folder, lies_inside, named, origins, resolve
from rag_mcp.adapters.stores import generations, private_copies
from rag_mcp.effects.boundary import Refused
from rag_mcp.effects.record import Pointer, RecordDamaged, RecordForeign, RecordUnavailable
from rag_mcp.pure.doctor import Diagnosis, Severity, diagnose
from rag_mcp.pure.health import CorpusSeen, Health, Model, ModelFile, Setting, State, Store
from rag_mcp.pure.shown import Shown

if TYPE_CHECKING:
    from rag_mcp.adapters.record.reader import SqliteSnapshot
    from rag_mcp.effects.examine import Examined
    from rag_mcp.effects.ports import Embedder

__all__ = ["Diagnosis", "Examination", "Severity", "examine"]


@frozen(repr=False)
class Examination(Shown):
    """The settings in force with their origins, and all findings, the gravest first."""

    settings: tuple[Setting, ...]
    findings: tuple[Diagnosis, ...]

    @property
    def ok(self) -> bool:
        """True without an error; warnings are no errors."""
        return not self.count(Severity.ERROR)

    def count(self, level: Severity) -> int:
        """Number of findings of that level."""
        return sum(1 for finding in self.findings if finding.severity is level)


def examine(
    corpus: str | Path | None = None,
    *,
    store: str | Path | None = None,
    collection: str | None = None,
    embedder: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Examination:
    """Look at the environment, the clients' files and, where one is named, a store; the settings as for Index.open.

    Never raises for what it finds. `environ` stands for the process's environment.
    """
    world = wiring.environ() if environ is None else environ
    given = [name for name, value in (("corpus", corpus), ("store", store)) if value]
    given += [name for name, value in (("collection", collection), ("embedder", embedder)) if value]
    health = _surroundings(world)
    if not given and not any(named(world, name) for name in ALIASES):
        return _examination(evolve(health, rooms=environment.rooms(None)))
    match resolve(world, corpus=corpus, store=store, collection=collection, embedder=embedder):
        case Success(settings):
            return _examination(_of_store(health, settings, origins(world, settings, given)))
        case Failure(wrong):
            return _examination(evolve(health, rooms=environment.rooms(None), unsettled=wrong.message))
        case _ as never:
            raise AssertionError(never)


def of_parts(parts: wiring.Parts) -> Examination:
    """The same for what an index works with, its own embedder included."""
    world = wiring.environ()
    given = ("corpus", "store", "collection", *(["embedder"] if parts.chosen else []))
    health = _surroundings(world)
    own = parts.embedder if parts.chosen and parts.settings.embedder is None else None
    return _examination(_of_store(health, parts.settings, origins(world, parts.settings, given), own))


def _examination(health: Health) -> Examination:
    return Examination(health.settings, diagnose(health))


def _surroundings(world: Mapping[str, str]) -> Health:
    """What does not depend on a store."""
    home = None
    with suppress(RuntimeError):
        home = Path(world["HOME"]) if world.get("HOME") else Path.home()
    copies: list[str] = []
    with suppress(OSError):
        copies = [str(folder) for folder in private_copies.left_over(Path(tempfile.gettempdir()))]
    files = registrations.client_files(world, home, Path.cwd())
    return Health(environment.runtime(world), clients=files, copies=tuple(sorted(copies)))


def _of_store(health: Health, settings: Settings, told: tuple[Setting, ...], own: "Embedder | None" = None) -> Health:
    pointer = None
    with suppress(Exception):  # of damage `_looked_into` will tell
        pointer = wiring.stored_pointer(settings.folder)
    root = settings.corpus or (Path(pointer.root) if pointer else None)
    model = _model(settings, pointer) if own is None else None
    embedder = own if model is None else _embedder(settings, pointer, model)
    store, found = _looked_into(settings, root, embedder)
    health = evolve(
        health,
        settings=tuple(setting for setting in told if setting.value),
        rooms=environment.rooms(settings.folder),
        model=model,
        store=store,
        corpus=_corpus(root) if root else None,
    )
    return evolve(health, contents=found.contents, index=found.index, canary=found.canary) if found else health


def _looked_into(settings: Settings, root: Path | None, embedder: "Embedder | None") -> tuple[Store, "Examined | None"]:
    """The store from outside and, where its record opens, what it says."""
    folder = settings.folder
    try:
        with SqliteReader(folder).snapshot() as snapshot:
            pointer = snapshot.pointer()
            found = None if pointer is None else _examined(settings, snapshot, pointer, root, embedder)
        return _outside(settings, root, State.WHOLE if found else State.EMPTY, pointer=pointer), found
    except FileNotFoundError:
        return _outside(settings, root, State.NO_RECORD if os.path.lexists(folder) else State.MISSING), None
    except RecordForeign as why:
        return _outside(settings, root, State.FOREIGN, str(why)), None
    except RecordUnavailable as why:
        return _outside(settings, root, State.UNAVAILABLE, str(why)), None
    except OSError as why:
        return _outside(settings, root, State.BLOCKED, why.strerror or str(why)), None
    except RecordDamaged as why:
        return _outside(settings, root, State.DAMAGED, str(why)), None
    except Exception as why:  # whoever looks at damage must be surprised by none: a row may say anything
        return _outside(settings, root, State.DAMAGED, f"{type(why).__name__}: {why}"), None


def _examined(
    settings: Settings, snapshot: "SqliteSnapshot", pointer: Pointer, root: Path | None, embedder: "Embedder | None"
) -> "Examined | None":
    from rag_mcp.adapters.stores.chroma import ChromaIndex
    from rag_mcp.effects.desk import Desk
    from rag_mcp.effects.examine import examine
    from rag_mcp.pure.stages import SearchPolicy

    copies = private_copies.PrivateCopies(sweeps=False)  # Chroma writes into what it opens
    index = ChromaIndex(str(settings.index), pointer.embedder.dim, copies)
    corpus = corpus_folder(settings, root or Path(pointer.root))
    desk = None
    if embedder is not None:
        desk = Desk(corpus, index, embedder, wiring.scan, SearchPolicy(), str(settings.folder), prove=True)
    try:
        return examine(snapshot, index, desk)
    finally:
        index.close()


def _outside(
    settings: Settings, root: Path | None, state: State, why: str = "", *, pointer: Pointer | None = None
) -> Store:
    folder = settings.folder
    busy = lock.is_held(folder)
    inside = root is not None and lies_inside(folder, root)
    return Store(
        folder=str(folder),
        state=state,
        why=why,
        size=environment.size(folder),
        inside_corpus=inside,
        holder=(lock.noted(folder) or "another process") if busy else None,
        note=None if busy else lock.noted(folder),
        set_aside=os.path.lexists(folder / f"{FILE_NAME}.damaged"),
        strays=generations.strays(folder / "index", pointer.indexed.folder) if pointer else (),
    )


def _corpus(root: Path) -> CorpusSeen:
    real = os.path.realpath(root)
    if not is_folder(root):
        return CorpusSeen(real, "no such folder, or one on the way to it may not be looked into")
    return CorpusSeen(real, None if os.access(root, os.R_OK | os.X_OK) else "Permission denied")


def _model(settings: Settings, pointer: Pointer | None) -> Model | None:
    """The files of the model that a search would use, hashed; None for an embedder that is not known by name."""
    from rag_mcp.adapters.embedders.engines import best_engine
    from rag_mcp.adapters.embedders.models import by_name, locate, sha256_of
    from rag_mcp.pure.services import is_service

    name = settings.embedder or (pointer.embedder.name if pointer else "default")
    spec = by_name(name)
    if is_service(name):
        return Model(name, service=True)
    if spec is None:
        fault = None if name == "hash" else f"the store was made by embedder {name!r}, which is not known here"
        return Model(name, fault=fault)
    match locate(spec, settings.model_dir):
        case Failure(missing):
            return Model(spec.name, fault=missing.sentence)
        case Success(files):
            try:
                pairs = ((spec.weights, files.weights), (spec.tokenizer, files.tokenizer))
                hashed = [ModelFile(str(path), piece.sha256, sha256_of(path)) for piece, path in pairs]
            except OSError as error:
                return Model(spec.name, fault=f"{error.filename}: {error.strerror}")
            return Model(spec.name, tuple(hashed), engine=settings.engine or best_engine())
        case _ as never:
            raise AssertionError(never)


def _embedder(settings: Settings, pointer: Pointer | None, model: Model) -> "Embedder | None":
    """Who is to embed a stored passage anew; None where its model is not as it should be, which is said already."""
    if model.fault or any(file.expected not in ("", file.found) for file in model.files):
        return None
    try:
        return wiring.make_embedder(settings, pointer)
    except Refused:
        return None
