"""What was found out about an installation, a store and what points to them: facts, not judged yet.

Sizes are in bytes. A fact that could not be had is None, with the reason beside it.
"""

from enum import Enum

from attrs import frozen

from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Setting(Shown):
    """A setting in force, and where it came from: an option, a variable, the store, or the default."""

    name: str
    value: str
    origin: str


@frozen(repr=False)
class Package(Shown):
    """A package that is needed, in which versions (as in pyproject.toml), and the version that is there."""

    name: str
    wanted: str
    installed: str | None


@frozen(repr=False)
class Runtime(Shown):
    """What the program runs on. `wanted` is the Python that the package asks for; "" where it runs from its sources."""

    python: str
    wanted: str
    platform: str
    packages: tuple[Package, ...]
    sqlite: str
    fts5: bool
    strange_variables: tuple[str, ...] = ()


@frozen(repr=False)
class Room(Shown):
    """A folder that is written to: free bytes below it, and why it cannot be written to, if it cannot."""

    name: str
    path: str
    free: int | None
    refused: str | None = None


@frozen(repr=False)
class ModelFile(Shown):
    """A file of a model, by its SHA-256 as it should be ("" where that is not known) and as it is."""

    path: str
    expected: str
    found: str


@frozen(repr=False)
class Model(Shown):
    """The files of the embedder's model, or why they could not be had; none for an embedder without a model.

    `engine` runs it in an ingest; `service`: it is run elsewhere.
    """

    name: str
    files: tuple[ModelFile, ...] = ()
    fault: str | None = None
    engine: str | None = None
    service: bool = False


class State(Enum):
    """What stands where the store should be."""

    MISSING = "there is no store"
    BLOCKED = "the store's folder cannot be looked into"
    NO_RECORD = "there is a folder, and no record in it"
    DAMAGED = "the record is damaged"
    FOREIGN = "the record is not one that this version can read"
    UNAVAILABLE = "the record cannot be used now"
    EMPTY = "nothing was ingested yet"
    WHOLE = "the record opens"


@frozen(repr=False)
class Store(Shown):
    """A store's folder, from outside. `holder` writes to it now; `note` is what a writer that was killed left.

    `strays` are folders of the index besides the current generation; `set_aside` says that a damaged record lies there.
    """

    folder: str
    state: State
    why: str = ""
    size: int = 0
    inside_corpus: bool = False
    holder: str | None = None
    note: str | None = None
    set_aside: bool = False
    strays: tuple[str, ...] = ()


@frozen(repr=False)
class Contents(Shown):
    """What the record says. `astray`: files whose rows are not those of the manifest; `vectorless`: no vector."""

    generation: int
    finished: str
    root: str
    embedder: str
    files: int
    passages: int
    vectors: int
    astray: tuple[str, ...] = ()
    vectorless: tuple[str, ...] = ()
    keywords_sound: bool = True


@frozen(repr=False)
class IndexHealth(Shown):
    """The vector index: why it is not what the record names, or would not open and answer; its slots.

    Of the vectors `beside` are not in it, but scanned beside it.
    """

    vectors: int
    slots: int
    doubt: str | None = None
    unopened: str | None = None
    beside: int = 0


@frozen(repr=False)
class Canary(Shown):
    """Whether the embedder makes the stored vector of a stored passage anew: `fault` says why not."""

    embedder: str
    fault: str | None = None


@frozen(repr=False)
class CorpusSeen(Shown):
    """The corpus folder, and why it cannot be seen, if it cannot."""

    root: str
    unseen: str | None = None


@frozen(repr=False)
class Registered(Shown):
    """How a client's file lists this program. None: the entry names no such place; paths are as they stand there."""

    name: str
    command: str
    command_found: bool
    corpus: str | None = None
    corpus_found: bool = False
    store: str | None = None
    store_found: bool = False


@frozen(repr=False)
class ClientFile(Shown):
    """A client's file that is there: what it registers of this program, or why it could not be read."""

    client: str
    path: str
    servers: tuple[Registered, ...] = ()
    fault: str | None = None


@frozen(repr=False)
class Health(Shown):
    """All of it. None where there was nothing to look at: no store named, no model needed, no record that opens."""

    runtime: Runtime
    settings: tuple[Setting, ...] = ()
    unsettled: str | None = None
    rooms: tuple[Room, ...] = ()
    model: Model | None = None
    store: Store | None = None
    contents: Contents | None = None
    index: IndexHealth | None = None
    canary: Canary | None = None
    corpus: CorpusSeen | None = None
    clients: tuple[ClientFile, ...] = ()
    copies: tuple[str, ...] = ()
