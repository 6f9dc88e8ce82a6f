"""What an index lacks of the present: the distinct vectors that came and went since its generation was made.

A generation is never written again, so a change of one vector would copy all of them. A short tail is told in the
record instead: a search scans what came, and leaves out what went.

    a short tail        the generation stays, the tail is told
    a long one          the generation is cloned, and takes the tail in
    too many dead slots a generation is made from nothing
"""

from collections.abc import Sequence
from enum import Enum

from attrs import frozen

from rag_mcp.pure.shown import Shown

CAME_AT_MOST = 1_000
"""Vectors that are read and scanned beside the index for one question, in about as long as the index takes."""
WENT_AT_MOST = 250
"""So many more than are wanted are asked of the index, since all that went may be nearest."""
SLOTS_PER_VECTOR = 1.5
"""Deleted slots are never used again; beyond this they cost disk, memory and time."""


@frozen(repr=False)
class Tail(Shown):
    """Rids that came and went since; those that came are not in the generation, those that went are."""

    came: frozenset[str] = frozenset()
    went: frozenset[str] = frozenset()

    def after(self, came: frozenset[str], went: frozenset[str]) -> "Tail":
        """The tail once these came and went as well."""
        return Tail((self.came | (came - self.went)) - went, (self.went - came) | (went - self.came))

    def indexed(self, rids: frozenset[str]) -> frozenset[str]:
        """What the generation holds, where the rows name `rids`."""
        return (rids - self.came) | self.went


class Course(Enum):
    """What becomes of a generation."""

    KEEP = "keep"
    CLONE = "clone"
    ANEW = "anew"


def course(tail: Tail, vectors: int, slots: int) -> Course:
    """What to do with a generation of `slots`, dead ones included, that lacks the tail, where `vectors` are wanted."""
    if crowded(slots, vectors):
        return Course.ANEW
    if len(tail.came) <= CAME_AT_MOST and len(tail.went) <= WENT_AT_MOST:
        return Course.KEEP
    return Course.ANEW if crowded(slots + len(tail.came), vectors) else Course.CLONE


def crowded(slots: int, vectors: int) -> bool:
    """Whether a generation has too many slots for its vectors."""
    return slots > SLOTS_PER_VECTOR * max(vectors, 1)


def nearest(
    found: Sequence[tuple[str, float]], scanned: Sequence[tuple[str, float]], tail: Tail, n: int
) -> Sequence[tuple[str, float]]:
    """The best n (rid, similarity) of what the index found, without what went, and of what was scanned beside it."""
    there = [pair for pair in found if pair[0] not in tail.went]
    return sorted([*there, *scanned], key=lambda pair: (-pair[1], pair[0]))[:n]
