"""The promised ingest function, for callers that want one call and a dictionary."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict
from returns.result import Failure

from rag_mcp.effects.boundary import Refused
from rag_mcp.effects.ports import Embedder
from rag_mcp.index import Index
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.identity import CURRENT_METADATA_VERSION, Chunking
from rag_mcp.pure.wishes import CHARACTERS, in_characters

if TYPE_CHECKING:
    from rag_mcp.adapters.embedders.custom import TextsToNumbers

__all__ = ["CURRENT_METADATA_VERSION", "ingest"]


def ingest(
    root: str | Path,
    store: str | Path | None = None,
    *,
    max_chars: int | None = None,
    overlap: int | None = None,
    exclude_prefixes: Sequence[str] = (),
    incremental: bool = True,
    dedupe_snapshots: bool = True,
    store_dir: str | Path | None = None,
    embedder: "Embedder | TextsToNumbers | None" = None,
    handoff_mirror_dir: str | None = None,
    handoff_mirror_basenames: Sequence[str] | None = None,
    allow_prune: int | None = None,
) -> dict[str, Any]:
    """Bring the store folder up to date with `root`; the report, with the keys of the command's --json.

    `store`, or `store_dir`, is the store's folder. `incremental=False` embeds everything again. Without
    `dedupe_snapshots` what repeats the snapshot before it in a dated series is found like everything else
    (`rag_mcp.snapshots` has the rule). `max_chars` is a budget
    for each passage in characters, 1000 of them for 224 tokens of the embedder (which is the default), `overlap` what a
    passage repeats of the one before it where running text was cut; overlap >= max_chars is refused. These two and the
    hand-over settings are kept in the store: None means those it was made with, else the defaults (hand-overs in
    "context/", named handoff.md, active.md or resume.md). Raises Refused for expected failures.
    """
    named = {Path(place).absolute() for place in (store, store_dir) if place is not None}
    if len(named) != 1:
        raise Refused(ConfigError("name one store: as store, or as store_dir"))
    with Index.open(
        root,
        store=named.pop(),
        embedder=embedder,
        environ={},
        exclude=tuple(exclude_prefixes),
        handoff_mirror_dir=handoff_mirror_dir,
        handoff_mirror_basenames=handoff_mirror_basenames,
        chunking=_chunking(max_chars, overlap),
        dedupe_snapshots=dedupe_snapshots,
    ) as index:
        report = index.ingest(full=not incremental, allow_prune=allow_prune)
    return asdict(report)


def _chunking(max_chars: int | None, overlap: int | None) -> Chunking | None:
    if max_chars is None and overlap is None:
        return None
    made = in_characters(CHARACTERS if max_chars is None else max_chars, overlap or 0)
    if isinstance(made, Failure):
        raise Refused(made.failure())
    return made.unwrap()
