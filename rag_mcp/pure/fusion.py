"""Two lists become one: a convex combination of cosine and BM25, each on a scale from 0 to 1.

    fused(c) = w * max(0, cosine(c)) + (1 - w) * bm25(c) / max bm25        a candidate without a word of the question: 0

(Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, 2023.) The cosine of every candidate is
known, whichever list found it; docs/quality.md compares the form and the weight with reciprocal ranks.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from rag_mcp.pure.shown import Shown

Mode = Literal["hybrid", "semantic", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
WEIGHT = 0.6
"""Of the cosine, in a hybrid search."""


@frozen(repr=False)
class Trace(Shown):
    """Why a candidate ranks where it does.

    `cosine` is None where nobody asked for it, `bm25` where the candidate is not on the keyword list; the ranks, from
    1, are those among the candidates. `score` = `weight` * cosine + (1 - `weight`) * `words`, both from 0 to 1.
    """

    cosine: float | None
    bm25: float | None
    words: float
    weight: float
    score: float
    meaning_rank: int | None
    word_rank: int | None


def fuse(
    cosines: Mapping[str, float], bm25: Mapping[str, float], mode: Mode = "hybrid", weight: float = WEIGHT
) -> dict[str, Trace]:
    """The candidates of `cosines`, by rid; `bm25` (greater is better) holds those of the keyword list."""
    share = {"hybrid": weight, "semantic": 1.0, "keyword": 0.0}[mode]
    told = {rid: max(0.0, score) for rid, score in bm25.items() if rid in cosines}
    best = max(told.values(), default=0.0)
    near, said = _ranks(cosines), _ranks(told)
    fused: dict[str, Trace] = {}
    for rid, cosine in cosines.items():
        words = told.get(rid, 0.0) / best if best > 0 else 0.0
        score = share * max(0.0, cosine) + (1 - share) * words
        meant = (None, None) if mode == "keyword" else (cosine, near[rid])
        fused[rid] = Trace(meant[0], bm25.get(rid), words, share, score, meant[1], said.get(rid))
    return fused


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    return {rid: rank for rank, rid in enumerate(sorted(scores, key=lambda rid: (-scores[rid], rid)), start=1)}
