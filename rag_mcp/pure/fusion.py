"""Two lists become one: a convex combination of cosine and BM25, each on a scale from 0 to 1.

    fused(c) = w * max(0, cosine(c)) + (1 - w) * bm25(c) / max bm25        a candidate without a word of the question: 0

(Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, 2023.) The cosine of every candidate is
known, whichever list found it; docs/quality.md compares the form and the weight with reciprocal ranks.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

Mode = Literal["hybrid", "semantic", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
WEIGHT = 0.6
"""Of the cosine, in a hybrid search."""


@frozen
class Trace:
    """Why a candidate ranks where it does: its cosine, its BM25 (None: not on that list), and the fused score."""

    cosine: float
    bm25: float | None
    score: float


def fuse(
    cosines: Mapping[str, float], bm25: Mapping[str, float], mode: Mode = "hybrid", weight: float = WEIGHT
) -> dict[str, Trace]:
    """The candidates of `cosines`, by rid; `bm25` (greater is better) holds those of the keyword list."""
    share = {"hybrid": weight, "semantic": 1.0, "keyword": 0.0}[mode]
    best = max((score for rid, score in bm25.items() if rid in cosines), default=0.0)
    fused: dict[str, Trace] = {}
    for rid, cosine in cosines.items():
        words = bm25.get(rid)
        said = max(0.0, words) / best if words is not None and best > 0 else 0.0
        fused[rid] = Trace(cosine, words, share * max(0.0, cosine) + (1 - share) * said)
    return fused
