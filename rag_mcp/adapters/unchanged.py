"""What a run says that finds nothing to do: said again, while all that it followed from is as it was.

    the program     its version, and the size and time of each of its files
    what was asked  the verb and its options, the working folder, the variables that are read
    the store       name, size, times and inode of each of its files, and no open log beside its database
    the corpus      its commit, and every path with the hash of its bytes, looked at anew each time

Planning is a function of these: where none has changed, its outcome has not, and neither record nor index is opened.
Whatever differs, or cannot be told, is planned as ever, with the lock and the look of this run. The note is no part of
the store, which a run without work does not touch: it lies in the user's cache, and may be lost at any time.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from attrs import define
from returns.result import Failure, Success

import rag_mcp
from rag_mcp.adapters.beginning import Seen, Start, corpus_folder, nothing, seen
from rag_mcp.adapters.lock import WriterLock
from rag_mcp.adapters.record.place import FILE_NAME, has_log
from rag_mcp.adapters.settings import Settings, cache_folder, named, resolve
from rag_mcp.pure.shown import Shown

if TYPE_CHECKING:
    from rag_mcp.pure.summary import Report

WORK = ("plan_only", "full", "clean")
"""Options of runs that are never told again."""


@define(repr=False)
class Note(Shown):
    """The note of one verb on one store, and this run as far as it has begun; leave it as a context manager."""

    asked: str
    settings: Settings
    root: Path
    file: Path
    lock: WriterLock
    again: bool = True
    found: Seen | None = None
    store: object = None
    cause: str | None = None
    rest: "Report | None" = None

    def told(self) -> tuple[str, int] | None:
        """What the last run said, and its exit code, where this one would say the same; None where one must plan."""
        kept = _read(self.file) if self.again else None
        if kept is None or not self._locked():
            return None
        self.found = seen(corpus_folder(self.settings, self.root))
        if kept[0] != self._cause(self.found):
            return None
        self.lock.release()
        return kept[1:]

    def _locked(self) -> bool:
        """Whether there is a store, and its lock was free; what else is amiss is for a run to say that plans."""
        with suppress(OSError):
            if (self.settings.folder / FILE_NAME).is_file() and not isinstance(self.lock.acquire(), Failure):
                self._stamp()
                return True
        return False

    def _stamp(self) -> None:
        """Note down what the store is before anything is asked of it."""
        self.store = _store(self.settings)

    @property
    def start(self) -> Start:
        """How the run goes on that must be planned."""
        return Start(self.lock, self.found, self._stamp, self._rested if self.again else nothing)

    def keep(self, say: "Callable[[Report], str]") -> None:
        """Keep what is said by a run without work, if this one had none, or left none."""
        if self.cause is None or self.rest is None:
            return
        said, code = say(self.rest), self.rest.exit_code
        draft = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_bytes(f"{self.cause} {code} {said}".encode("utf-8", "surrogatepass"))
                draft.replace(self.file)
            finally:
                draft.unlink(missing_ok=True)

    def _rested(self, found: Seen, report: "Report") -> None:
        self.cause, self.rest = self._cause(found), report

    def _cause(self, found: Seen) -> str | None:
        """A hash of all that the outcome follows from; None where some of it cannot be told, or changed meanwhile."""
        store, program = _store(self.settings), _program()
        if store is None or store != self.store or program is None:
            return None
        return _hash(repr((self.asked, program, store, _corpus(found))))

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Release the lock."""
        self.lock.release()


def note(verb: str, options: Mapping[str, Any], environ: Mapping[str, str]) -> Note | None:
    """The note of what was asked; None where a setting is missing or wrong, or there is no home or working folder."""
    try:
        here, place = str(Path.cwd()), cache_folder() / "unchanged"
    except (OSError, RuntimeError):
        return None
    root = options["corpus"] or named(environ, "RAG_MCP_CORPUS_ROOT")
    if not root:
        return None
    told = resolve(
        environ,
        corpus=root,
        store=options["db"],
        collection=options["collection"],
        embedder=options["embedder"],
        excludes=tuple(options["exclude"]),
        engine=options["engine"],
    )
    match told:
        case Success(settings):
            folder = os.path.realpath(settings.folder)
            name = _hash(folder)[:32]
            read = sorted((name, value) for name, value in environ.items() if name.startswith("RAG_"))
            asked = repr((rag_mcp.__version__, verb, sorted(options.items()), here, read, folder, settings))
            file = place / f"{name}-{verb}"
            again = not any(options.get(name) for name in WORK)
            return Note(asked, settings, Path(root).expanduser(), file, WriterLock(settings.folder), again)
        case _:
            return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(file: Path) -> tuple[str, str, int] | None:
    try:
        if not file.is_file():  # a pipe would be waited for
            return None
        cause, code, said = file.read_bytes().decode("utf-8", "surrogatepass").split(" ", 2)
        return cause, said, int(code)
    except (OSError, ValueError):
        return None


def _store(settings: Settings) -> object:
    """The store's files; None where somebody is writing, or was killed while he did, or there is something to sweep."""
    with suppress(OSError):
        record = settings.folder / FILE_NAME
        generations = {path.name.partition(".")[0] for path in settings.index.iterdir()}
        if len(generations) == 1 and not has_log(record):
            return _stamp(record.stat()), list(_stamps(settings.index))
    return None


def _program() -> object:
    """Every source file of the package: one that was edited may plan otherwise under the same version."""
    with suppress(OSError):
        return list(_stamps(Path(rag_mcp.__file__).parent, ".py"))
    return None


def _stamps(folder: Path, ending: str = "") -> Iterator[tuple[object, ...]]:
    """Each file below a folder, in order. Raises OSError."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            yield from _stamps(Path(entry.path), ending)
        elif entry.name.endswith(ending):
            yield entry.path, *_stamp(entry.stat())


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _corpus(found: Seen) -> object:
    """All that planning is given of the corpus; its thousands of files as the hash of their list."""
    look = found.look
    files = "\0".join([f"{each.path}\0{each.digest}\0{each.size}" for each in look.sightings])
    return found.at, look.root, _hash(files), look.unreadables, look.excluded, look.gaps, look.others
