"""Expected failures, as values. A closed union: `Failure` at the end names every one.

Each has a `type` (stable, for programs) and a `message`: what, where, and what was done or what to do.
"""

from typing import ClassVar

from attrs import frozen

from rag_mcp.pure.config_error import ConfigError as ConfigError
from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class InvalidQuery(Shown):
    """The question is not text, is blank, or is too long."""

    type: ClassVar[str] = "invalid_query"
    message: str


@frozen(repr=False)
class InvalidDocClass(Shown):
    """A document class that does not exist."""

    type: ClassVar[str] = "invalid_doc_class"
    message: str


@frozen(repr=False)
class StoreMissing(Shown):
    """There is no store at this path."""

    type: ClassVar[str] = "store_missing"
    store: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"there is no store at {self.store}; make one with: rag-mcp ingest CORPUS --db {self.store}"


@frozen(repr=False)
class EmptyStore(Shown):
    """A store that holds no passage yet."""

    type: ClassVar[str] = "empty_store"
    store: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"the store at {self.store} holds no passages yet; run: rag-mcp ingest CORPUS --db {self.store}"


@frozen(repr=False)
class StoreUnreachable(Shown):
    """A store that is damaged, foreign, locked by something else, or not to be opened."""

    type: ClassVar[str] = "store_unreachable"
    store: str
    why: str

    @property
    def message(self) -> str:
        """The sentence."""
        return (
            f"the store at {self.store} could not be used ({self.why}); check it with: rag-mcp verify --db {self.store}"
        )


@frozen(repr=False)
class CorpusMissing(Shown):
    """The corpus folder cannot be looked at; nothing was changed."""

    type: ClassVar[str] = "corpus_missing"
    root: str
    why: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"the corpus {self.root} could not be looked at ({self.why}); nothing was changed"


@frozen(repr=False)
class EmbedderMismatch(Shown):
    """The store was embedded by something else; vectors of two embedders cannot be compared."""

    type: ClassVar[str] = "identity_mismatch"
    stored: str
    stored_dim: int
    given: str
    given_dim: int

    @property
    def message(self) -> str:
        """The sentence."""
        if (self.stored, self.stored_dim) == (self.given, self.given_dim):
            return (
                f"the store was embedded by another state of {self.stored!r} than this one (its files, prefixes or"
                f" window have changed); embed the store anew with: rag-mcp ingest CORPUS --embedder {self.given}"
            )
        return (
            f"the store was embedded by {self.stored!r} ({self.stored_dim} dimensions), this reader has {self.given!r}"
            f" ({self.given_dim}); use --embedder {self.stored} or RAG_MCP_EMBEDDER={self.stored}, or embed the store"
            f" anew with: rag-mcp ingest CORPUS --embedder {self.given}"
        )


@frozen(repr=False)
class WarmingUp(Shown):
    """The server has not finished loading what it searches with."""

    type: ClassVar[str] = "warming_up"
    waited: int

    @property
    def message(self) -> str:
        """The sentence."""
        return f"the search is still being loaded, {self.waited} seconds after it was asked for; repeat the same call"


@frozen(repr=False)
class SourceUnavailable(Shown):
    """A document that is not in the index, or not there any more; which of the two is not said."""

    type: ClassVar[str] = "source_unavailable"
    source: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"{self.source!r} is not a document of this index, or cannot be read now"


@frozen(repr=False)
class PathChanged(Shown):
    """A document whose place is taken by something else than what was indexed; nothing of that was shown."""

    type: ClassVar[str] = "path_changed"
    source: str

    @property
    def message(self) -> str:
        """The sentence."""
        return (
            f"{self.source!r} no longer leads to the file that was indexed: a link, or something else, stands in its"
            " place or on the way to it; nothing was read; look at it, and ingest again"
        )


@frozen(repr=False)
class InvalidArgument(Shown):
    """An argument of a tool that is out of its bounds."""

    type: ClassVar[str] = "invalid_argument"
    message: str


@frozen(repr=False)
class InvalidCitation(Shown):
    """A text that names no lines of a document."""

    type: ClassVar[str] = "invalid_citation"
    citation: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"{self.citation!r} names no lines: write SOURCE:START-END, or SOURCE:LINE, with lines counted from 1"


@frozen(repr=False)
class EmbedderFailed(Shown):
    """The embedder failed or returned what cannot be vectors; nothing of it was stored."""

    type: ClassVar[str] = "embedder_failed"
    embedder: str
    why: str
    path: str | None = None

    @property
    def message(self) -> str:
        """The sentence."""
        where = f" on {self.path}" if self.path else ""
        return f"embedder {self.embedder} failed{where}: {self.why}; what the store answered before stands"


@frozen(repr=False)
class WriterBusy(Shown):
    """Another process is writing to this store."""

    type: ClassVar[str] = "writer_busy"
    store: str
    holder: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"the store at {self.store} is being written by {self.holder}; nothing was done"


@frozen(repr=False)
class PruneRefused(Shown):
    """A run would remove more files than may vanish unasked."""

    type: ClassVar[str] = "prune_refused"
    count: int
    known: int
    allowed: int

    @property
    def message(self) -> str:
        """The sentence."""
        gone = f"{self.count} of {self.known} known files are gone or excluded"
        too_many = f", more than the {self.allowed} that may vanish unasked" if self.allowed else ", and none is left"
        return (
            f"{gone}{too_many}; if a disk is not mounted, mount it; if they are meant to go, run again with"
            f" --allow-prune {self.count}; nothing was changed"
        )


@frozen(repr=False)
class PlanMoved(Shown):
    """A saved plan no longer fits the world."""

    type: ClassVar[str] = "plan_moved"
    what: tuple[str, ...]

    @property
    def message(self) -> str:
        """The sentence."""
        shown = "; ".join(self.what[:5]) + (f"; and {len(self.what) - 5} more" if len(self.what) > 5 else "")
        return f"the plan no longer fits ({shown}); nothing was changed; make a new one with: rag-mcp ingest --plan"


@frozen(repr=False)
class BadPlan(Shown):
    """A plan file that cannot be read as a plan."""

    type: ClassVar[str] = "bad_plan"
    why: str

    @property
    def message(self) -> str:
        """The sentence."""
        return (
            f"the plan could not be read ({self.why}); nothing was changed; make one with: rag-mcp ingest --plan --out"
        )


@frozen(repr=False)
class BadGolden(Shown):
    """A file of golden cases, or a baseline, that is missing or cannot be used."""

    type: ClassVar[str] = "bad_golden"
    file: str
    why: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"{self.file}: {self.why}"


@frozen(repr=False)
class IndexFailed(Shown):
    """The next generation of the index could not be written; the old one stands."""

    type: ClassVar[str] = "index_failed"
    store: str
    why: str

    @property
    def message(self) -> str:
        """The sentence."""
        return f"the index in {self.store} could not be written ({self.why}); the last generation stands; run again"


Failure = (
    InvalidQuery
    | InvalidDocClass
    | StoreMissing
    | EmptyStore
    | StoreUnreachable
    | ConfigError
    | CorpusMissing
    | EmbedderMismatch
    | EmbedderFailed
    | WarmingUp
    | SourceUnavailable
    | PathChanged
    | InvalidArgument
    | InvalidCitation
    | WriterBusy
    | PruneRefused
    | PlanMoved
    | BadPlan
    | BadGolden
    | IndexFailed
)
