"""What a run did, counted."""

from collections.abc import Sequence

from attrs import frozen

from rag_mcp.pure.exits import DONE, HELD
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reason, Reembed, Write, embeds
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Held(Shown):
    """A path that could not be read, and why; what was stored of it was kept."""

    path: str
    reason: str


@frozen(repr=False)
class Report(Shown):
    """What an ingest did. Counts of files and chunks; `texts_embedded` counts calls of the embedder by text.

    `chunks_added` and `chunks_deleted` count rows that appeared and disappeared by place and content;
    `chunks_deduped` is how many stored rows repeat another snapshot and are not shown, `store_count` how many are;
    `generation` is the number of the commit that is now current, `corpus` what the folder was at.
    """

    files_seen: int
    files_ingested: int
    files_unchanged: int
    files_skipped: int
    files_pruned: int
    files_moved: int
    chunks_added: int
    chunks_deleted: int
    chunks_deduped: int
    texts_embedded: int
    texts_reused: int
    rows_rewritten: int
    store_count: int
    incremental: bool
    generation: int
    held: tuple[Held, ...] = ()
    excluded: tuple[Held, ...] = ()
    warnings: tuple[str, ...] = ()
    rebuilt: str | None = None
    corpus: Revision = Revision()

    @property
    def exit_code(self) -> int:
        """4 when files were held, else 0."""
        return HELD if self.held else DONE


@frozen(repr=False)
class Work(Shown):
    """What the shell counted while it applied a plan."""

    chunks_added: int = 0
    chunks_deleted: int = 0
    rows_rewritten: int = 0
    texts_embedded: int = 0
    store_count: int = 0
    deduped: int = 0
    generation: int = 0


def held_paths(plan: Plan) -> tuple[Held, ...]:
    """Every path, file or folder, that the run could not read."""
    gaps = [Held(path or ".", why) for path, why in plan.gaps]
    files = [Held(f.path, f.detail) for f in plan.files if isinstance(f.action, Hold) and f.reason is Reason.UNREADABLE]
    return tuple(sorted(gaps + files, key=lambda held: held.path))


def report(plan: Plan, work: Work, revision: Revision = Revision()) -> Report:
    """The report of a plan that was applied to a corpus at that revision."""
    held = held_paths(plan)

    def count(*kinds: type) -> int:
        return sum(1 for file in plan.files if isinstance(file.action, kinds))

    return Report(
        files_seen=count(Write, Reembed, Keep),
        files_ingested=count(Write),
        files_unchanged=count(Keep, Reembed),
        files_skipped=len(held),
        files_pruned=count(Prune),
        files_moved=sum(1 for file in plan.files if file.reason is Reason.MOVED),
        chunks_added=work.chunks_added,
        chunks_deleted=work.chunks_deleted,
        chunks_deduped=work.deduped,
        texts_embedded=work.texts_embedded,
        texts_reused=reused(plan.files),
        rows_rewritten=work.rows_rewritten,
        store_count=work.store_count,
        incremental=not plan.full,
        generation=work.generation,
        held=held,
        excluded=tuple(Held(e.path, e.why) for e in plan.excluded),
        warnings=plan.warnings,
        rebuilt=plan.rebuild,
        corpus=revision,
    )


def reused(files: Sequence[FilePlan]) -> int:
    """Distinct texts of written files that had a vector already."""
    keys = {key for file in files if isinstance(file.action, Write) for key in file.action.keys}
    return len(keys - {key for file in files for key in embeds(file)})
