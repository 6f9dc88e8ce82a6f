"""The exact scan: every vector is asked.

    score(q, v) = max(0, dot(q, v))        order: (-score, rid)

A matrix product in float32 finds the candidates; their scores and order come from float64 sums, which do not
depend on where in the matrix a vector stands. So equal vectors score equally, and a scan confined to some rids
gives each of them the score that it has in a scan of all.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

SLACK = 1e-4
"""Above what float32 rounding can change in a product of unit vectors of some thousand dimensions."""


class ExactScan:
    """Implements ports.Exact over (rid, vector) pairs, taken one by one: a million need no more room than their size.

    Each rid occurs once, all vectors have equal length; what does not come in the order of rids is copied once more.
    """

    def __init__(self, pairs: Iterable[tuple[str, bytes]]) -> None:
        import numpy as np

        self._rids: list[str] = []
        joined = bytearray()
        for rid, vector in pairs:
            self._rids.append(rid)
            joined += vector
        count = len(self._rids)
        self._matrix = np.frombuffer(joined, "<f4").reshape(count, -1 if count else 0)
        if any(before > after for before, after in pairwise(self._rids)):
            order = sorted(range(count), key=self._rids.__getitem__)
            self._rids = [self._rids[place] for place in order]
            self._matrix = self._matrix[order]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {rid: place for place, rid in enumerate(self._rids)}

    def query(self, vector: bytes, n: int, allowed: Iterable[str] | None = None) -> Sequence[tuple[str, float]]:
        """Up to n (rid, similarity), best first; unknown rids in `allowed` are passed over."""
        import numpy as np

        places = self._confined(allowed)
        if n <= 0 or len(places) == 0:
            return []
        question = np.frombuffer(vector, "<f4")
        near = places[_candidates(self._rows(places) @ question, n)]
        scores = np.maximum(0.0, (self._matrix[near].astype("f8") * question.astype("f8")).sum(axis=1))
        best = np.argsort(-scores, kind="stable")[:n]  # places, and so ties, are in the order of rids
        return [(self._rids[place], float(score)) for place, score in zip(near[best], scores[best], strict=True)]

    def _confined(self, allowed: Iterable[str] | None) -> "Array":
        import numpy as np

        if allowed is None:
            return np.arange(len(self._rids))
        return np.array(sorted({self._places[rid] for rid in allowed if rid in self._places}), int)

    def _rows(self, places: "Array") -> "Array":
        return self._matrix if len(places) == len(self._rids) else self._matrix[places]


def _candidates(scores: "Array", n: int) -> "Array":
    """Positions, ascending, of all scores that may belong to the n best once they are exact."""
    import numpy as np

    scores = np.maximum(0, scores)
    if n >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= least - SLACK)
