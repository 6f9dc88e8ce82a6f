"""Proof that a file is gone, and how many may go in one run. Absent is not unseen.

below a gap, at or below something unreadable    hidden: nothing is known of it
at or below something left out by a rule         excluded: it was seen, and somebody wanted it so
else                                             gone
"""

from collections.abc import Mapping

from attrs import frozen

from rag_mcp.pure.errors import PruneRefused
from rag_mcp.pure.manifest import Belief
from rag_mcp.pure.paths import is_under
from rag_mcp.pure.plans import FilePlan, Reason
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Listing


@frozen(repr=False)
class Limits(Shown):
    """How many files may vanish unasked: max(floor, share of the manifest), or `allow` where it is given."""

    prune_floor: int = 50
    prune_share: float = 0.1
    allow: int | None = None

    def ceiling(self, known: int) -> int:
        """The number of files that one run may prune."""
        return max(self.prune_floor, int(known * self.prune_share)) if self.allow is None else self.allow


def hidden_by(look: Listing, path: str) -> tuple[Reason, str] | None:
    """Why an absent path was not proved gone: (reason, detail), or None when it was."""
    for gap in look.gaps:
        if gap.path == path or is_under(path, gap.path):
            return Reason.UNSEEN, f"{gap.path or 'the corpus'}: {gap.why}"
    for unreadable in look.unreadables:
        if unreadable.path == path or is_under(path, unreadable.path):
            return Reason.UNREADABLE, unreadable.why
    return None


def excluded_by(path: str, ruled_out: Mapping[str, str]) -> str | None:
    """The rule that left out `path` or a folder above it, or None."""
    parts = path.split("/")
    folders = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
    return next((ruled_out[place] for place in (path, *folders) if place in ruled_out), None)


def prune_refusal(
    files: tuple[FilePlan, ...], belief: Belief, look: Listing, limits: Limits, *, foreign: bool
) -> PruneRefused | None:
    """Refuse what looks like a lost disk: an emptied corpus, or more files gone than the ceiling allows.

    A file whose bytes stand, ingested, elsewhere in the corpus does not count: it moved, perhaps in a run that was
    killed before it took the old place away, or it was a copy. A `foreign` corpus, other than the record's, was
    named by the user, so only its being empty is suspicious.
    """
    known = belief.entries
    here = {s.digest for s in look.sightings if s.path in known and known[s.path].digest == s.digest}
    leaving = (file.path for file in files if file.reason in (Reason.GONE, Reason.EXCLUDED))
    going = sum(1 for path in leaving if path in known and known[path].digest not in here)
    emptied = going > 0 and not look.sightings and limits.allow is None
    ceiling = 0 if emptied else limits.ceiling(len(known))
    too_many = going > ceiling and not (foreign and limits.allow is None)
    return PruneRefused(going, len(known), ceiling) if emptied or too_many else None
