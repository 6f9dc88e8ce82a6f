"""How often "nothing close" is said rightly and wrongly: questions of one set asked of the corpus of another.

The bound and the form are the product's (`pure/confidence`); the weights are fitted anew on half of the questions and
judged on the other half, each way round, and the product's own weights are judged on all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp

import numpy as np
import numpy.typing as npt

from rag_mcp.pure.confidence import CLOSE, LOOKED_AT, sure
from rag_mcp.pure.words import coverage

QUESTIONS = 120
"""Of each set, so that none outweighs the others."""
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One question asked of one corpus: the greatest cosine and the greatest coverage among the first passages."""

    corpus: str
    asked_of: str
    cosine: float
    coverage: float

    @property
    def answered(self) -> bool:
        """True when the question belongs to the corpus."""
        return self.corpus == self.asked_of


def case(corpus: str, asked_of: str, question: str, best: Sequence[tuple[float, str]]) -> Case:
    """`best` are the first passages, as (cosine, text with its headings)."""
    first = list(islice(best, LOOKED_AT))
    return Case(
        corpus,
        asked_of,
        max((cosine for cosine, _ in first), default=0.0),
        max((coverage(question, text) for _, text in first), default=0.0),
    )


def report(cases: Sequence[Case]) -> Iterator[str]:
    """A table in Markdown."""
    yield "### Nothing close\n"
    yield "| | said wrongly | said rightly |"
    yield "|---|---|---|"
    for name, columns in (("cosine and coverage", (0, 1)), ("coverage alone, as in a search by words", (1,))):
        for tuned in (0, 1):
            weights = fitted(cases[tuned::2], columns)
            judged = [(each, _sure(weights, _features(each, columns))) for each in cases[1 - tuned :: 2]]
            yield _row(f"{name}, fitted on the {('even', 'odd')[tuned]} ones, judged on the others", judged)
        product = [(each, sure(each.cosine if 0 in columns else None, each.coverage)) for each in cases]
        yield _row(f"{name}, as in the product, all", product)
    yield ""
    for corpus in dict.fromkeys(each.corpus for each in cases):
        own = [(each, sure(each.cosine, each.coverage)) for each in cases if each.corpus == corpus]
        wrongly, rightly = rates(own)
        yield f"{corpus}: {wrongly:.1%} wrongly, {rightly:.1%} rightly."
    yield ""


def rates(judged: Sequence[tuple[Case, float]]) -> tuple[float, float]:
    """The shares of answered and of unanswered questions that were told that nothing is close."""
    told = {answered: [p < CLOSE for each, p in judged if each.answered == answered] for answered in (True, False)}
    return float(np.mean(told[True])), float(np.mean(told[False]))


def fitted(cases: Sequence[Case], columns: Sequence[int]) -> Matrix:
    """A logistic regression by Newton's method, answered and unanswered weighing the same in all."""
    given = np.array([[1.0, *_features(each, columns)] for each in cases])
    answered = np.array([each.answered for each in cases], float)
    share = np.where(answered == 1, 0.5 / answered.mean(), 0.5 / (1 - answered.mean()))
    ridge = 0.01 * np.diag([0.0, *[1.0] * len(columns)])
    weights = np.zeros(given.shape[1])
    for _ in range(200):
        p = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (share * (answered - p)) - ridge @ weights
        curve = (given * (share * p * (1 - p))[:, None]).T @ given + ridge + 1e-9 * np.eye(len(weights))
        weights += np.linalg.solve(curve, slope)
    return weights


def _features(each: Case, columns: Sequence[int]) -> list[float]:
    both = (each.cosine, each.coverage)
    return [both[column] for column in columns]


def _sure(weights: Matrix, features: Sequence[float]) -> float:
    return 1 / (1 + exp(-float(weights @ np.array([1.0, *features]))))


def _row(name: str, judged: Sequence[tuple[Case, float]]) -> str:
    wrongly, rightly = rates(judged)
    return f"| {name} | {wrongly:.1%} | {rightly:.1%} |"
