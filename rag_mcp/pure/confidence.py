"""Whether an answer is one: how sure it is that the corpus holds what was asked.

    confidence = 1 / (1 + exp(-z))        z = -10.1 + 18.8 * cosine + 7.6 * coverage      with a cosine
                                          z = -5.0 + 13.0 * coverage                      by words alone
    nothing close: confidence < 0.2

`cosine` is the greatest of the first five passages, `coverage` the greatest share of the question's telling words that
one of them holds. Logistic regressions, fitted on the judged sets, with the questions of the other sets as those that
a corpus cannot answer; docs/quality.md gives the false rates of each half under the fit of the other.
"""

from collections.abc import Sequence
from math import exp

from rag_mcp.pure.citations import Hit
from rag_mcp.pure.words import coverage

LOOKED_AT = 5
CLOSE = 0.2


def confidence(question: str, hits: Sequence[Hit]) -> float:
    """From 0 to 1, rounded to 2 decimals; 0 where nothing was found."""
    first = hits[:LOOKED_AT]
    if not first:
        return 0.0
    covered = max(coverage(question, f"{hit.text} {' '.join(hit.citation.heading_path)}") for hit in first)
    cosines = [hit.trace.cosine for hit in first if hit.trace and hit.trace.cosine is not None]
    return round(sure(max(cosines, default=None), covered), 2)


def sure(cosine: float | None, covered: float) -> float:
    """The formula; `cosine` is None where only words were asked."""
    z = -5.0 + 13.0 * covered if cosine is None else -10.1 + 18.8 * cosine + 7.6 * covered
    return 1 / (1 + exp(-z))


def nothing_close(confidence: float) -> bool:
    """True when the corpus probably does not hold the answer."""
    return confidence < CLOSE
