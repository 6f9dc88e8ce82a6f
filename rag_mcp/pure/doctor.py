"""From facts about an installation to findings: how grave, where, what, and the command that mends it.

    error      a search or an ingest fails, or answers wrongly, as things stand
    warning    it works, but worse than it could, or may soon fail
    note       worth knowing
    ok         looked at, and as it should be

Every fact that is given leads to at least one finding, so what is not named in the list was not looked at.
"""

import shlex
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain

from attrs import frozen

from rag_mcp.pure.health import (
    Canary,
    ClientFile,
    Contents,
    CorpusSeen,
    Health,
    IndexHealth,
    Model,
    Registered,
    Room,
    Runtime,
    State,
    Store,
)
from rag_mcp.pure.paths import ill_placed
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.versions import satisfies

LITTLE_ROOM = 500 * 1024 * 1024
"""Free bytes below which a warning is due."""
COPIES = 2
"""Times its own size that a store needs: the next generation is written beside the current one."""


class Severity(Enum):
    """How grave; the order is that of a report."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    OK = "ok"


@frozen(repr=False)
class Diagnosis(Shown):
    """One finding. `mend` is a command or a step, "" where nothing is to be done."""

    severity: Severity
    where: str
    what: str
    mend: str = ""


def diagnose(health: Health) -> tuple[Diagnosis, ...]:
    """All findings, the gravest first, and else in the order in which things were looked at."""
    found = chain(
        _of_runtime(health.runtime),
        _of_settings(health),
        *(_of_room(room, health.store) for room in health.rooms),
        _of_model(health.model) if health.model else (),
        _of_store(health) if health.store else (),
        _of_contents(health.contents, health) if health.contents else (),
        _of_index(health.index, health) if health.index else (),
        _of_canary(health.canary, health) if health.canary else (),
        _of_corpus(health.corpus, health) if health.corpus else (),
        *(_of_client(file) for file in health.clients),
        _of_copies(health.copies),
    )
    order = list(Severity)
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def command(health: Health, verb: str, *words: str) -> str:
    """A command line for the store that was looked at, fit to be pasted into a shell."""
    corpus = (health.corpus.root if health.corpus else None) or (health.contents.root if health.contents else "CORPUS")
    named = [setting for setting in health.settings if setting.name in ("store", "collection")]
    options = [
        word
        for setting in named
        if setting.name == "store" or setting.origin != "default"
        for word in ("--db" if setting.name == "store" else "--collection", setting.value)
    ]
    given = [corpus, *options] if verb == "ingest" else options
    return shlex.join(["rag-mcp", verb, *given, *words])


def _of_runtime(runtime: Runtime) -> Iterator[Diagnosis]:
    where = f"Python {runtime.python} on {runtime.platform}"
    if runtime.wanted and satisfies(runtime.python, runtime.wanted) is False:
        yield Diagnosis(
            Severity.ERROR, "Python", f"{runtime.python} is there, {runtime.wanted} is needed", "install it"
        )
    else:
        yield Diagnosis(Severity.OK, "Python", where)
    if not runtime.wanted:
        what = "rag-mcp runs from its sources, not installed, so which versions it needs cannot be told"
        yield Diagnosis(Severity.NOTE, "packages", what, "pip install rag-mcp")
    fit = [
        package for package in runtime.packages if package.installed and satisfies(package.installed, package.wanted)
    ]
    for package in runtime.packages:
        if package.installed is None:
            mend = f"pip install {shlex.quote(package.name + package.wanted)}"
            yield Diagnosis(Severity.ERROR, package.name, "it is not installed", mend)
        elif package not in fit:
            what = f"version {package.installed} is installed, {package.wanted} is needed"
            mend = f"pip install {shlex.quote(package.name + package.wanted)}"
            yield Diagnosis(Severity.ERROR, package.name, what, mend)
    if fit:
        yield Diagnosis(Severity.OK, "packages", ", ".join(f"{package.name} {package.installed}" for package in fit))
    if runtime.fts5:
        yield Diagnosis(Severity.OK, "SQLite", f"{runtime.sqlite}, with FTS5")
    else:
        what = f"{runtime.sqlite} has no FTS5, without which there is no keyword index"
        yield Diagnosis(Severity.ERROR, "SQLite", what, "use a Python whose SQLite has FTS5")
    for name in runtime.strange_variables:
        yield Diagnosis(Severity.WARNING, name, "no setting has this name, so it does nothing", f"unset {name}")


def _of_settings(health: Health) -> Iterator[Diagnosis]:
    if health.unsettled:
        yield Diagnosis(Severity.ERROR, "settings", health.unsettled, "set what it names")
    elif not health.settings:
        what = "neither a corpus nor a store was named, so none was looked at"
        yield Diagnosis(Severity.NOTE, "settings", what, "rag-mcp doctor --corpus ROOT")
    else:
        told = ", ".join(f"{setting.name} {setting.value} ({setting.origin})" for setting in health.settings)
        yield Diagnosis(Severity.OK, "settings", told)


def _of_room(room: Room, store: Store | None) -> Iterator[Diagnosis]:
    enough = max(LITTLE_ROOM, COPIES * store.size if store else 0)
    where = f"{room.name} {room.path}"
    if room.refused:
        what = f"it cannot be written to ({room.refused}); searches work all the same"
        yield Diagnosis(Severity.WARNING, where, what, f"let this user write to {room.path}")
    elif room.free is None:
        yield Diagnosis(Severity.NOTE, where, "how much is free cannot be told")
    elif room.free < enough:
        what = f"only {_bytes(room.free)} are free, and {_bytes(enough)} may be needed"
        yield Diagnosis(Severity.WARNING, where, what, "make room on that disk")
    else:
        yield Diagnosis(Severity.OK, where, f"{_bytes(room.free)} are free")


QUICK = "openvino"


def _of_model(model: Model) -> Iterator[Diagnosis]:
    where = f"model {model.name}"
    if model.fault:
        yield Diagnosis(
            Severity.ERROR, where, model.fault, "pip install --force-reinstall rag-mcp, or RAG_MCP_MODEL_DIR"
        )
        return
    for file in model.files:
        if file.expected and file.expected != file.found:
            what = f"{file.path} has SHA-256 {file.found} and should have {file.expected}"
            yield Diagnosis(Severity.ERROR, where, what, "reinstall its package, or replace the file")
        elif not file.expected:
            what = f"{file.path} has SHA-256 {file.found}; which it should have is not known here"
            yield Diagnosis(Severity.NOTE, where, what)
        else:
            yield Diagnosis(Severity.OK, where, f"{file.path} is the one it should be")
    if not model.files:
        yield Diagnosis(Severity.OK, where, "a service runs it" if model.service else "it needs no files")
    if model.engine == QUICK:
        yield Diagnosis(Severity.OK, where, f"{QUICK} runs it in an ingest, onnxruntime in a single question")
    elif model.engine:
        what = f"{model.engine} runs it; {QUICK} embeds two to four times as much in the same time"
        yield Diagnosis(Severity.NOTE, where, what, f"pip install 'rag-mcp[{QUICK}]'")


def _of_store(health: Health) -> Iterator[Diagnosis]:
    store = health.store
    assert store is not None
    what = store.state.value + (f" ({store.why})" if store.why else "")
    match store.state:
        case State.WHOLE:
            yield Diagnosis(Severity.OK, _place(store), f"{what}, {_bytes(store.size)} in all")
        case State.MISSING | State.NO_RECORD | State.EMPTY:
            yield Diagnosis(Severity.ERROR, _place(store), what, command(health, "ingest"))
        case State.DAMAGED:
            what += "; an ingest sets it aside and begins a new one"
            yield Diagnosis(Severity.ERROR, _place(store), what, command(health, "ingest"))
        case State.FOREIGN:
            mend = "name another folder with --db, or use the version of rag-mcp that made it"
            yield Diagnosis(Severity.ERROR, _place(store), what, mend)
        case State.BLOCKED | State.UNAVAILABLE:
            mend = f"let this user read and write {store.folder}"
            yield Diagnosis(Severity.ERROR, _place(store), what, mend)
        case _ as never:
            raise AssertionError(never)
    yield from _of_neighbourhood(store, health)
    yield from _of_lock(store, health)


def _of_neighbourhood(store: Store, health: Health) -> Iterator[Diagnosis]:
    for what, harms in ill_placed(store.folder, inside_corpus=store.inside_corpus):
        severity = Severity.WARNING if harms else Severity.NOTE
        yield Diagnosis(severity, _place(store), what, "keep the store elsewhere, with --db or RAG_MCP_DB_PATH")
    if store.set_aside:
        what = "a damaged record was set aside here as record.sqlite3.damaged; nothing uses it"
        yield Diagnosis(
            Severity.NOTE, _place(store), what, shlex.join(["rm", f"{store.folder}/record.sqlite3.damaged"])
        )
    if store.strays and store.holder is None:
        more = f" and {len(store.strays) - 3} more" if len(store.strays) > 3 else ""
        what = f"folders besides the current generation: {', '.join(store.strays[:3])}{more}; an ingest sweeps them"
        yield Diagnosis(Severity.NOTE, _place(store), what, command(health, "ingest"))


def _of_lock(store: Store, health: Health) -> Iterator[Diagnosis]:
    if store.holder is not None:
        yield Diagnosis(Severity.NOTE, "lock", f"the store is being written by {store.holder}", "wait for it to end")
    elif store.note is not None:
        what = f"nobody holds it; {store.note} was killed while it wrote, and the next ingest does the rest"
        yield Diagnosis(Severity.WARNING, "lock", what, command(health, "ingest"))
    elif store.state not in (State.MISSING, State.BLOCKED):
        yield Diagnosis(Severity.OK, "lock", "nobody is writing")


def _of_contents(contents: Contents, health: Health) -> Iterator[Diagnosis]:
    held = f"generation {contents.generation} of {contents.finished}: {contents.files} files"
    held += f", {contents.passages} passages, {contents.vectors} vectors by {contents.embedder}"
    yield Diagnosis(Severity.OK, "record", held)
    for paths, what in (
        (contents.astray, "their rows are not those the manifest counts"),
        (contents.vectorless, "rows have no vector, so meaning does not find them"),
    ):
        if paths:
            yield Diagnosis(Severity.ERROR, "record", f"{_some(paths)}: {what}", command(health, "ingest"))
    if contents.keywords_sound:
        yield Diagnosis(Severity.OK, "keyword index", "it holds every row once")
    else:
        mend = command(health, "verify", "--repair")
        yield Diagnosis(Severity.ERROR, "keyword index", "it does not hold every row once", mend)


def _of_index(index: IndexHealth, health: Health) -> Iterator[Diagnosis]:
    where, mend = "vector index", command(health, "verify", "--repair")
    why = index.doubt or index.unopened
    if why:
        what = f"{why}; until it is rebuilt, every vector is compared instead"
        yield Diagnosis(Severity.WARNING, where, what, mend)
    elif index.vectors == 0:
        yield Diagnosis(Severity.OK, where, "there is nothing to index")
    else:
        held = index.vectors - index.beside
        share = max(0, index.slots - held) / index.slots if index.slots else 0.0
        beside = f", {index.beside} more beside it" if index.beside else ""
        what = f"it opens and answers; {held} vectors in {index.slots} slots ({share:.0%} tombstones){beside}"
        yield Diagnosis(Severity.OK, where, what)


def _of_canary(canary: Canary, health: Health) -> Iterator[Diagnosis]:
    where = f"embedder {canary.embedder}"
    if canary.fault is None:
        yield Diagnosis(Severity.OK, where, "it makes the stored vector of a stored passage anew")
    else:
        yield Diagnosis(Severity.ERROR, where, canary.fault, command(health, "ingest", "--full"))


def _of_corpus(corpus: CorpusSeen, health: Health) -> Iterator[Diagnosis]:
    where = f"corpus {corpus.root}"
    if corpus.unseen:
        what = f"it cannot be seen ({corpus.unseen}); nothing that was stored of it is lost"
        yield Diagnosis(Severity.ERROR, where, what, "mount it, mend the path, or let this user read it")
        return
    yield Diagnosis(Severity.OK, where, "it can be seen")
    made_from = health.contents.root if health.contents else corpus.root
    if made_from != corpus.root:
        what = f"the store was made from {made_from}; the next ingest makes it one of this folder"
        mend = shlex.join(["rag-mcp", "doctor", "--corpus", made_from])
        yield Diagnosis(Severity.WARNING, where, what, mend)


def _of_client(file: ClientFile) -> Iterator[Diagnosis]:
    where = f"{file.client} {file.path}"
    if file.fault:
        what = f"it could not be read, so what it registers was not looked at ({file.fault})"
        yield Diagnosis(Severity.WARNING, where, what, "mend the file")
    elif not file.servers:
        yield Diagnosis(Severity.OK, where, "it registers nothing of rag-mcp")
    for server in file.servers:
        yield from _of_server(server, f"{where} [{server.name}]")


def _of_server(server: Registered, where: str) -> Iterator[Diagnosis]:
    register = "register it anew: rag-mcp install CLIENT --corpus ROOT"
    whole = True
    if not server.command_found:
        whole = False
        yield Diagnosis(Severity.ERROR, where, f"its command {server.command!r} was not found", register)
    if server.corpus is None:
        what = "it names no corpus, so it depends on what the client passes on"
        yield Diagnosis(Severity.WARNING, where, what, register)
    elif not server.corpus_found:
        whole = False
        yield Diagnosis(Severity.ERROR, where, f"its corpus {server.corpus} is no folder that can be seen", register)
    if server.store is not None and not server.store_found:
        whole = False
        mend = shlex.join(["rag-mcp", "ingest", server.corpus or "CORPUS", "--db", server.store])
        yield Diagnosis(Severity.ERROR, where, f"there is no store at {server.store}", mend)
    if whole and server.corpus is not None:
        yield Diagnosis(Severity.OK, where, "its command, corpus and store are there")


def _of_copies(copies: Sequence[str]) -> Iterator[Diagnosis]:
    if copies:
        what = f"{_some(copies)}: private copies of servers that were killed; the next server removes them"
        yield Diagnosis(Severity.NOTE, "temporary folder", what, shlex.join(["rm", "-r", *copies]))


def _place(store: Store) -> str:
    return f"store {store.folder}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _bytes(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
