"""The promised ingest function, for callers that want one call and a dictionary."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict

from rag_mcp.adapters import wiring
from rag_mcp.adapters.settings import Settings
from rag_mcp.effects.ports import Embedder
from rag_mcp.index import Index
from rag_mcp.pure.identity import CURRENT_METADATA_VERSION, Labelling

if TYPE_CHECKING:
    from rag_mcp.adapters.embedders.custom import TextsToNumbers

__all__ = ["CURRENT_METADATA_VERSION", "ingest"]


def ingest(
    root: str | Path,
    store: str | Path,
    *,
    exclude_prefixes: Sequence[str] = (),
    incremental: bool = True,
    dedupe_snapshots: bool = True,
    embedder: "Embedder | TextsToNumbers | None" = None,
    handoff_mirror_dir: str = "context/",
    handoff_mirror_basenames: Sequence[str] = ("handoff.md", "active.md", "resume.md"),
    allow_prune: int | None = None,
) -> dict[str, Any]:
    """Bring the store folder up to date with `root`; the report, with the keys of the command's --json.

    `incremental=False` embeds everything again; `dedupe_snapshots=False` shows what repeats the snapshot before it in a
    dated series like everything else (`rag_mcp.snapshots` has the rule). Raises Refused for expected failures.
    """
    labelling = Labelling(handoff_mirror_dir, tuple(handoff_mirror_basenames))
    settings = Settings(store=Path(store).absolute(), corpus=Path(root), excludes=tuple(exclude_prefixes))
    parts = wiring.assemble(settings, embedder=embedder, labelling=labelling, dedupe_snapshots=dedupe_snapshots)
    with Index(parts) as index:
        report = index.ingest(full=not incremental, allow_prune=allow_prune)
    return asdict(report)
