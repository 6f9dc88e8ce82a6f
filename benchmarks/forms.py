"""Forms of fusion: two lists become one ranking."""

from collections.abc import Callable, Mapping

from benchmarks.judged import Ranking
from rag_mcp.pure.fusion import WEIGHT, fuse
from rag_mcp.pure.stages import SearchPolicy

DEPTH = SearchPolicy().depth
Order = Callable[[Mapping[int, float], Mapping[int, float]], Ranking]
"""Cosines of the nearest passages and of those found by words, and BM25 of the latter -> passages, best first."""


def convex(weight: float) -> Order:
    """The product's own fusion, by this weight."""

    def order(cosines: Mapping[int, float], bm25: Mapping[int, float]) -> Ranking:
        traces = fuse(_named(cosines), _named(bm25), "hybrid", weight)
        return sorted(cosines, key=lambda at: (-traces[str(at)].score, at))

    return order


def spread(weight: float) -> Order:
    """The same, over cosines that are stretched to 0..1 first."""

    def order(cosines: Mapping[int, float], bm25: Mapping[int, float]) -> Ranking:
        low, high = min(cosines.values()), max(cosines.values())
        width = (high - low) or 1.0
        return convex(weight)({at: (cosine - low) / width for at, cosine in cosines.items()}, bm25)

    return order


def _named(scores: Mapping[int, float]) -> dict[str, float]:
    return {str(at): score for at, score in scores.items()}


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
    **{f"convex, spread, w={w}": spread(w) for w in (0.4, 0.5, 0.6)},
    **{f"convex, w={w}": convex(w) for w in (0.4, 0.5, 0.6, 0.7, 0.8)},
}
DEFAULT = f"convex, w={WEIGHT}"
