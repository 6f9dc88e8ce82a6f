"""What a store holds, counted."""

from collections.abc import Mapping

from attrs import field, frozen

from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Stats(Shown):
    """Counts of one store; sizes in bytes; `finished` is the time of the last commit (ISO 8601, UTC).

    `repeats` are stored rows of dated series that are not shown; they are not among the `passages`. `retired` are those
    of the passages that stand in superseded documents, and are shown when asked for. `revision` is what the corpus was
    at, None where that was not noted.
    """

    store: str
    corpus: str | None
    collection: str
    generation: int
    finished: str | None
    embedder: str | None
    dim: int | None
    files: int
    passages: int
    repeats: int
    retired: int
    distinct_texts: int
    vectors: int
    cached_vectors: int
    bytes_on_disk: int
    classes: Mapping[str, int] = field(factory=dict)
    revision: Revision | None = None
