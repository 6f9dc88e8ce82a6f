"""The plan: one decision and one reason for every path, as frozen data."""

from enum import Enum

from attrs import frozen

from rag_mcp.pure.errors import PruneRefused
from rag_mcp.pure.identity import Choices
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Excluded


class Reason(Enum):
    """Why a path is treated as it is. The order is the order of a report."""

    NEW = "new"
    MOVED = "moved here"
    CHANGED = "content changed"
    FORCED = "done again, as asked"
    RECUT = "reader or chunker changed"
    ROWS_MISSING = "rows differ from the manifest"
    METADATA_STALE = "metadata stale"
    RETIRED = "now superseded"
    RESTORED = "current again"
    EMBEDDER_CHANGED = "embedder changed"
    VECTORS_MISSING = "vectors missing"
    GONE = "gone from corpus"
    MOVED_AWAY = "moved away"
    EXCLUDED = "now excluded"
    UNREADABLE = "unreadable"
    UNSEEN = "out of sight"
    UNCHANGED = "unchanged"


@frozen(repr=False)
class Write(Shown):
    """Replace the file's rows by those of `keys`, in order. `embed` are the keys that have no vector yet."""

    keys: tuple[str, ...]
    embed: tuple[str, ...]


@frozen(repr=False)
class Reembed(Shown):
    """The rows stand; `embed` are keys whose vectors are made anew from the rows' own text."""

    rows: int
    embed: tuple[str, ...]


@frozen(repr=False)
class Prune(Shown):
    """Remove the file's rows and its entry."""

    rows: int


@frozen(repr=False)
class Keep(Shown):
    """Nothing to do: full evidence says that the store holds what a rebuild would."""

    rows: int


@frozen(repr=False)
class Hold(Shown):
    """The file could not be read: what is stored of it stays. `embed` as in Reembed."""

    rows: int
    embed: tuple[str, ...] = ()


Action = Write | Reembed | Prune | Keep | Hold


@frozen(repr=False)
class FilePlan(Shown):
    """One path's decision. `digest` is the hash of the bytes it was made from, None where none were read."""

    path: str
    reason: Reason
    action: Action
    digest: str | None = None
    detail: str = ""


@frozen(repr=False)
class Regroup(Shown):
    """Repeats in dated series, told anew: how many passages collapse and how many come back, and why."""

    why: str
    collapsed: int
    restored: int


@frozen(repr=False)
class Plan(Shown):
    """What a run would do. Equal inputs give equal plans.

    `generation` and `run` (digest of the run identity) say what it was made from; `rebuild` is why the index
    is built from the cache instead of being cloned, None where it is not.
    """

    root: str
    generation: int
    embedder: str
    dim: int
    run: str
    files: tuple[FilePlan, ...]
    excluded: tuple[Excluded, ...] = ()
    gaps: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    rebuild: str | None = None
    switches_embedder: bool = False
    notes: tuple[str, ...] = ()
    refill_keywords: bool = False
    refusal: PruneRefused | None = None
    full: bool = False
    regroup: Regroup | None = None

    @property
    def quiet(self) -> bool:
        """True when applying it would write nothing."""
        idle = all(isinstance(file.action, Keep | Hold) and not embeds(file) for file in self.files)
        return idle and self.rebuild is None and not (self.notes or self.refill_keywords or self.regroup)


@frozen(repr=False)
class SavedPlan(Shown):
    """A plan with all that is needed to make it again: where, with which settings, with which leave to prune."""

    store: str
    collection: str
    excludes: tuple[str, ...]
    allow_prune: int | None
    choices: Choices
    dedupe_snapshots: bool
    plan: Plan


def embeds(file: FilePlan) -> tuple[str, ...]:
    """The keys that must be embedded for this file."""
    match file.action:
        case Write(embed=keys) | Reembed(embed=keys) | Hold(embed=keys):
            return keys
        case _:
            return ()
