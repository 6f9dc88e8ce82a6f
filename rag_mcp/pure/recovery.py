"""Reasons to distrust, most telling first; what falls through is trusted.

Less evidence never means less work: a missing record, row, vector or index each has a reason here, and no
reason leads to a skip.
"""

from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.manifest import NO_ROWS, Belief, Entry
from rag_mcp.pure.plans import Reason
from rag_mcp.pure.tail import crowded


def doubt(entry: Entry | None, digest: str, belief: Belief, run: RunIdentity) -> Reason:
    """Why the file with these bytes must be done again, or UNCHANGED."""
    if entry is None:
        return Reason.NEW
    if entry.digest != digest:
        return Reason.CHANGED
    if entry.recipe != run.recipe:
        return Reason.RECUT
    if belief.rows.get(entry.path, NO_ROWS) != entry.rows:
        return Reason.ROWS_MISSING
    if entry.labels != run.labels:
        return Reason.METADATA_STALE
    if switches_embedder(belief, run):
        return Reason.EMBEDDER_CHANGED
    if entry.path in belief.vectorless:
        return Reason.VECTORS_MISSING
    return Reason.UNCHANGED


def switches_embedder(belief: Belief, run: RunIdentity) -> bool:
    """True when the index holds vectors of another embedder than this run's."""
    return belief.fingerprint is not None and belief.fingerprint != run.embedder.fingerprint


def index_doubt(belief: Belief, run: RunIdentity) -> str | None:
    """Why the index must be rebuilt from the cache, or None."""
    index = belief.index
    if switches_embedder(belief, run):
        return "the embedder changed"
    if index.folder is None:
        return "the record names no index" if index.vectors else None
    if index.found is None:
        return "its folder is missing or unreadable"
    if index.found != index.expected:
        return "it is not what the last run left"
    if index.built_of != index.vectors:
        return f"it was built of {index.built_of} vectors, the rows need {index.vectors}"
    if crowded(index.slots, index.vectors):
        return f"it holds {index.slots} slots for {index.vectors} vectors"
    return None
