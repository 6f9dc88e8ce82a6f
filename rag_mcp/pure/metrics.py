"""Measures of a ranking, and of the characters that a ranking covers.

    hit@k        1 when one of the first k results is right, else 0
    RR@k         1 / rank of the first right result among the first k, else 0; its mean over questions is MRR
    DCG@k        sum over ranks r = 1..k of gain(r) / log2(r + 1)
    nDCG@k       DCG@k / DCG@k of the ideal order (Järvelin and Kekäläinen 2002; the gain is the grade, as in trec_eval)

    recall       expected characters covered / expected characters
    precision    expected characters covered / sum of the lengths of the results
    IoU          expected characters covered / (that sum + expected characters not covered)

Characters count as in Chroma's "Evaluating Chunking Strategies for Retrieval": an expected one is covered once, however
often it is returned, and what is returned twice counts twice against precision and IoU.
"""

from collections.abc import Iterable, Sequence
from math import log2

from attrs import frozen

from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Span(Shown):
    """Characters `start` up to, not including, `end` of one text; `source` names the text."""

    source: str
    start: int
    end: int


@frozen(repr=False)
class Cover(Shown):
    """How much of the expected characters was returned: three shares between 0 and 1."""

    recall: float
    precision: float
    iou: float


def hit(gains: Sequence[float], k: int) -> float:
    """1.0 when one of the first `k` gains is above 0; `gains` are by rank, the best result first."""
    return float(any(gain > 0 for gain in gains[:k]))


def reciprocal_rank(gains: Sequence[float], k: int) -> float:
    """1 / rank of the first gain above 0 among the first `k`, else 0.0."""
    return next((1 / rank for rank, gain in enumerate(gains[:k], start=1) if gain > 0), 0.0)


def dcg(gains: Sequence[float], k: int) -> float:
    """Discounted cumulative gain of the first `k` gains."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))


def ndcg(gains: Sequence[float], grades: Iterable[float], k: int) -> float:
    """DCG of `gains` over that of the best order of all `grades`; 0.0 where every grade is 0.

    At most 1: a result that holds several expected things at once gains their sum, which no ideal order foresees.
    """
    ideal = dcg(sorted(grades, reverse=True), k)
    return min(1.0, dcg(gains, k) / ideal) if ideal else 0.0


def cover(expected: Iterable[Span], returned: Sequence[Span], length: int) -> Cover:
    """How well `returned` covers `expected`; `length` is the sum of the lengths of the results, in characters.

    Without an expected character nothing can be missing: recall is 1, the others 0.
    """
    wanted = _union(expected)
    total = sum(span.end - span.start for span in wanted)
    got = sum(overlap(want, have) for have in _union(returned) for want in wanted)
    return Cover(
        recall=got / total if total else 1.0,
        precision=got / length if length else 0.0,
        iou=got / (length + total - got) if length + total - got else 0.0,
    )


def overlap(one: Span, other: Span) -> int:
    """Number of characters that two spans share."""
    return max(0, min(one.end, other.end) - max(one.start, other.start)) if one.source == other.source else 0


def _union(spans: Iterable[Span]) -> list[Span]:
    """The same characters in spans that are apart."""
    apart: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.source, span.start, span.end)):
        last = apart[-1] if apart else None
        if last and last.source == span.source and span.start <= last.end:
            apart[-1] = Span(span.source, last.start, max(last.end, span.end))
        else:
            apart.append(span)
    return apart
