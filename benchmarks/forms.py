"""Forms of fusion: two lists become one ranking."""

from collections.abc import Callable, Mapping

from benchmarks.judged import Ranking
from rag_mcp.pure.fusion import WEIGHT
from rag_mcp.pure.stages import SearchPolicy

DEPTH = SearchPolicy().depth
Order = Callable[[Mapping[int, float], Mapping[int, float]], Ranking]
"""Cosines of the nearest passages and of those found by words, and BM25 of the latter -> passages, best first."""


def convex(weight: float, *, spread: bool = False) -> Order:
    """The convex combination; with `spread` the cosines are stretched to 0..1 first."""

    def order(cosines: Mapping[int, float], bm25: Mapping[int, float]) -> Ranking:
        best = max(bm25.values(), default=0.0) or 1.0
        low, high = (min(cosines.values()), max(cosines.values())) if spread else (0.0, 1.0)
        width = (high - low) or 1.0
        scores = {
            at: weight * max(0.0, cosine - low) / width + (1 - weight) * bm25.get(at, 0.0) / best
            for at, cosine in cosines.items()
        }
        return sorted(scores, key=lambda at: (-scores[at], at))

    return order


def reciprocal(k: int = 60) -> Order:
    """Reciprocal rank fusion with equal weights."""

    def order(cosines: Mapping[int, float], bm25: Mapping[int, float]) -> Ranking:
        near = sorted(cosines, key=lambda at: (-cosines[at], at))[:DEPTH]
        said = sorted(bm25, key=lambda at: (-bm25[at], at))
        scores: dict[int, float] = {}
        for ranking in (near, said):
            for rank, at in enumerate(ranking, start=1):
                scores[at] = scores.get(at, 0.0) + 1 / (k + rank)
        return sorted(scores, key=lambda at: (-scores[at], at))

    return order


def alone(*, words: bool) -> Order:
    """One list alone."""
    return lambda cosines, bm25: sorted(
        bm25 if words else cosines, key=lambda at: (-(bm25 if words else cosines)[at], at)
    )


FORMS: Mapping[str, Order] = {
    "semantic": alone(words=False),
    "keyword": alone(words=True),
    "reciprocal ranks": reciprocal(),
    **{f"convex, spread, w={w}": convex(w, spread=True) for w in (0.4, 0.5, 0.6)},
    **{f"convex, w={w}": convex(w) for w in (0.4, 0.5, 0.6, 0.7, 0.8)},
}
DEFAULT = f"convex, w={WEIGHT}"
