"""What a check found amiss, how bad it is, and the command that mends it."""

from collections.abc import Collection, Iterator, Sequence
from enum import Enum

from attrs import frozen

from rag_mcp.pure.manifest import NO_ROWS, Belief
from rag_mcp.pure.paths import printable
from rag_mcp.pure.pruning import hidden_by
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Listing


class Severity(Enum):
    """ERROR: answers may be wrong or missing. STALE: the corpus has moved on. HELD: something could not be read."""

    ERROR = "error"
    STALE = "stale"
    HELD = "held"


@frozen(repr=False)
class Finding(Shown):
    """One thing amiss: where, what, and what mends it."""

    severity: Severity
    where: str
    what: str
    mend: str


INGEST, REPAIR = "rag-mcp ingest CORPUS", "rag-mcp verify --repair"


def record_findings(
    belief: Belief, faults: Sequence[str], bad_rows: Sequence[str], bad_vectors: Sequence[str]
) -> Iterator[Finding]:
    """The record against itself."""
    for fault in faults:
        yield Finding(Severity.ERROR, "record", fault, "rag-mcp ingest CORPUS --clean")
    for path in bad_rows:
        yield Finding(Severity.ERROR, printable(path), "its rows were altered", f"{REPAIR}, then {INGEST}")
    for path, entry in sorted(belief.entries.items()):
        if belief.rows.get(path, NO_ROWS) != entry.rows:
            yield Finding(Severity.ERROR, printable(path), "its rows are not those the manifest counts", INGEST)
    for path in sorted(belief.rows.keys() - belief.entries.keys()):
        yield Finding(Severity.ERROR, printable(path), "it has rows and no entry in the manifest", INGEST)
    for path in sorted(belief.vectorless):
        yield Finding(Severity.ERROR, printable(path), "a row has no vector", INGEST)
    if bad_vectors:
        what = f"{len(bad_vectors)} vectors are not those their names stand for"
        yield Finding(Severity.ERROR, "vector cache", what, f"{REPAIR}, then {INGEST}")
    if not belief.keywords_sound:
        yield Finding(Severity.ERROR, "keyword index", "it does not hold every row once", REPAIR)


def index_finding(fault: str | None) -> tuple[Finding, ...]:
    """The vector index against the record."""
    return () if fault is None else (Finding(Severity.ERROR, "vector index", fault, REPAIR),)


def snapshots_finding(fault: str | None) -> tuple[Finding, ...]:
    """What repeats what in dated series, against the rows."""
    return (
        () if fault is None else (Finding(Severity.ERROR, "repeats in dated series", fault, f"{REPAIR}, or {INGEST}"),)
    )


def corpus_findings(look: Listing, belief: Belief, left_out: Collection[str] = ()) -> Iterator[Finding]:
    """The corpus against the record, one line for each kind of drift, naming the first file.

    `left_out` are files that ask to be.
    """
    seen = {s.path: s.digest for s in look.sightings}
    new = [path for path in seen if path not in belief.entries and path not in left_out]
    changed = [path for path, digest in seen.items() if (e := belief.entries.get(path)) and e.digest != digest]
    gone = [path for path in belief.entries if path not in seen and hidden_by(look, path) is None]
    for what, paths in (("new", new), ("changed", changed), ("gone", gone)):
        if paths:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield Finding(Severity.STALE, printable(min(paths)) + more, f"{what} since the last ingest", INGEST)
    for path, why in ((place.path, place.why) for places in (look.unreadables, look.gaps) for place in places):
        yield Finding(Severity.HELD, printable(path) or "the corpus", why, f"make it readable, then {INGEST}")
