"""What moved between two runs of the same cases, and whether that is worse.

    a case is worse     its nDCG or its share of expected characters fell, its first right passage came later, or it
                        is told that nothing is close although it has an answer (or no longer, although it has none)
    a measure is worse  its mean, over the cases that both runs judged by the same wording, fell by more than allowed
    a run is worse      a measure is worse, or a case is, where nothing at all is allowed

Whoever allows a measure to fall lets single cases slip: then the means alone decide. Order of cases is no matter.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

from attrs import field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.identity import Setup
from rag_mcp.pure.judging import DIGITS, METRICS, Judged, Run, means
from rag_mcp.pure.shown import Shown


class Moved(Enum):
    """How a case moved. LOST and FOUND: its first right passage left, or came among, those looked at."""

    LOST = "lost"
    WORSE = "worse"
    FOUND = "found"
    BETTER = "better"
    EDITED = "edited"
    NEW = "new"
    GONE = "gone"


BAD = (Moved.LOST, Moved.WORSE)
JUDGED = (*BAD, Moved.FOUND, Moved.BETTER)


@frozen(repr=False)
class Move(Shown):
    """A case that moved. Before and after are None for a case that one run did not have."""

    id: str
    kind: Moved
    before: Judged | None
    after: Judged | None


@frozen(repr=False)
class Delta(Shown):
    """The mean of a measure before and after; `worse` when it fell by more than `allowed`."""

    metric: str
    before: float
    after: float
    allowed: float

    @property
    def change(self) -> float:
        """After less before."""
        return round(self.after - self.before, DIGITS)

    @property
    def worse(self) -> bool:
        """True when it fell by more than allowed."""
        return -self.change > self.allowed


@frozen(repr=False)
class Tolerance(Shown):
    """How far the mean of a measure may fall: `each` of them, and those named in `metrics`."""

    each: float = 0.0
    metrics: Mapping[str, float] = field(factory=dict)

    def of(self, metric: str) -> float:
        """What is allowed to one measure."""
        return self.metrics.get(metric, self.each)


@frozen(repr=False)
class Comparison(Shown):
    """What moved. `common` is how many cases could be compared; `changes` say in what the setups differ."""

    common: int
    moves: tuple[Move, ...]
    deltas: tuple[Delta, ...]
    changes: tuple[str, ...]
    tolerance: Tolerance

    @property
    def worse(self) -> bool:
        """True for a regression."""
        return any(delta.worse for delta in self.deltas) or (not self.tolerance.each and bool(self.slipped))

    @property
    def slipped(self) -> tuple[Move, ...]:
        """The cases that got worse."""
        return tuple(move for move in self.moves if move.kind in BAD)


def tolerance(given: Sequence[str]) -> Result[Tolerance, str]:
    """What was written: "0.02" for each measure, "mrr=0.05" for one; the last word counts."""
    each, named = 0.0, dict[str, float]()
    for word in given:
        metric, _, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            return Failure(f"{word!r} is not a number, and not MEASURE=NUMBER")
        if not 0 <= value <= 1:
            return Failure(f"{word!r}: a measure may fall by 0 to 1")
        if "=" not in word:
            each = value
        elif metric in METRICS:
            named[metric] = value
        else:
            return Failure(f"{metric!r} is not one of {', '.join(METRICS)}")
    return Success(Tolerance(each, named))


def compared(before: Run, after: Run, allowed: Tolerance = Tolerance()) -> Comparison:
    """What moved from one run to the other."""
    old, new = ({case.id: case for case in run.cases} for run in (before, after))
    common = sorted(name for name in old.keys() & new.keys() if _asked(old[name]) == _asked(new[name]))
    moves = [
        Move(name, kind, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if (kind := _moved(old.get(name), new.get(name)))
    ]
    was, now = means(old[name] for name in common), means(new[name] for name in common)
    deltas = [Delta(m, was[m], now[m], allowed.of(m)) for m in METRICS if m in was and m in now]
    order = list(Moved)
    return Comparison(
        common=len(common),
        moves=tuple(sorted(moves, key=lambda move: (order.index(move.kind), move.id))),
        deltas=tuple(deltas),
        changes=changes(before.setup, after.setup),
        tolerance=allowed,
    )


def _moved(before: Judged | None, after: Judged | None) -> Moved | None:
    if before is None:
        return Moved.NEW
    if after is None:
        return Moved.GONE
    if _asked(before) != _asked(after):
        return Moved.EDITED
    if before.none:
        if before.silent == after.silent:
            return None
        return Moved.WORSE if before.silent else Moved.BETTER
    if before.rank is not None and after.rank is None:
        return Moved.LOST
    if before.rank is None and after.rank is not None:
        return Moved.FOUND
    pairs = list(zip(_goodness(before), _goodness(after), strict=True))
    if any(b < a for a, b in pairs):
        return Moved.WORSE
    return Moved.BETTER if any(b > a for a, b in pairs) else None


def _asked(case: Judged) -> tuple[str, bool, int]:
    """What must be equal for two results to be comparable."""
    return case.wording, case.none, case.k


def _goodness(case: Judged) -> tuple[float, float, float, bool]:
    """What of a case may not fall. Precision and IoU may: they follow the length of passages, and are for the mean."""
    return case.scores["mrr"], case.ndcg, case.recall or 0.0, not case.silent


def changes(before: Setup, after: Setup) -> tuple[str, ...]:
    """In what two setups differ, a sentence each."""
    told: list[str] = []
    if before.fingerprint != after.fingerprint:
        same = " of the same name, with other files or settings" if before.embedder == after.embedder else ""
        told.append(f"the embedder is another: {before.embedder} -> {after.embedder}{same}")
    elif before.recipes != after.recipes:
        told.append("files are cut in another way: reader or chunker has changed")
    if before.corpus != after.corpus:
        told.append("the corpus holds other files or texts")
    if before.search != after.search:
        told.append(f"the search has other settings: {_settings(before.search)} -> {_settings(after.search)}")
    if before.passages != after.passages:
        told.append(f"passages: {before.passages} -> {after.passages}")
    return tuple(told)


def _settings(search: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(search.items())) or "the usual ones"
