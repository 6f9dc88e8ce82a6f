"""The exact scan: all vectors of one snapshot as a matrix. The reference for the index, and its stand-in."""

from collections.abc import Iterable, Sequence


class ExactScan:
    """Cosine similarity to every vector; the vectors are unit vectors. Implements `effects.ports.Exact`."""

    def __init__(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        import numpy as np

        self._rids = [rid for rid, _ in pairs]
        self._place = {rid: n for n, rid in enumerate(self._rids)}
        flat = np.frombuffer(b"".join(vector for _, vector in pairs), dtype="<f4")
        self._matrix = flat.reshape(len(pairs), -1) if pairs else flat.reshape(0, 0)

    def query(self, vector: bytes, n: int, allowed: Iterable[str] | None = None) -> Sequence[tuple[str, float]]:
        """Up to n (rid, similarity), best first; ties by rid. `allowed` confines the scan."""
        import numpy as np

        if not self._rids or n <= 0:
            return []
        places = None if allowed is None else sorted({self._place[rid] for rid in allowed if rid in self._place})
        if places == []:
            return []
        rows = self._matrix if places is None else self._matrix[places]
        scores = rows @ np.frombuffer(vector, dtype="<f4")
        near = np.argpartition(-scores, n - 1)[:n] if n < len(scores) else np.arange(len(scores))
        last = scores[near].min()
        best = np.flatnonzero(scores >= last)  # all ties at the cut, so that the order of ties decides
        named = [(self._rids[i if places is None else places[i]], max(0.0, float(scores[i]))) for i in best.tolist()]
        return sorted(named, key=lambda item: (-item[1], item[0]))[:n]
