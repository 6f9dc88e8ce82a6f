"""The search policy: which list is asked, and how deep, as questions that the shell carries out.

    few vectors, or few that pass the filter      scan them exactly
    many                                          ask the index, deeper while fewer than k passages came back
    the index cannot be used                      scan exactly
    words alone, and fewer than k came back       ask for every row with the words: scope and copies may have taken them

An exact scan is the reference; the index is a quicker way to nearly the same list.
"""

import math

from attrs import evolve, frozen

from rag_mcp.pure.fusion import WEIGHT
from rag_mcp.pure.query import Query
from rag_mcp.pure.shown import Shown

EVERY = 2**31
"""More rows than a record holds."""


@frozen(repr=False)
class SearchPolicy(Shown):
    """Bounds of the search.

    `exact_up_to`: so many vectors are scanned in memory in well under a millisecond, quicker than an index
    answers. `depth`: results first asked of the index; `depth_max`: beyond it a scan of all is cheaper than
    another, deeper question. `words`: rows asked of the keyword list; a word
    in more than `common` rows is not looked for. `weight`: of the cosine, in a hybrid search.
    """

    exact_up_to: int = 5_000
    depth: int = 50
    depth_max: int = 1_000
    words: int = 100
    common: int = 2_000
    weight: float = WEIGHT


ONE_QUESTION = SearchPolicy(exact_up_to=500_000)
"""Of a process that asks once: so many vectors are read and compared sooner than Chroma is imported and opened."""


@frozen(repr=False)
class Scan(Shown):
    """Ask the exact scan for the best `n` of the allowed vectors."""

    n: int


@frozen(repr=False)
class Ask(Shown):
    """Ask the index for the best `n` of all vectors."""

    n: int


@frozen(repr=False)
class Enough(Shown):
    """The list at hand answers the question."""


@frozen(repr=False)
class Heard(Shown):
    """What the last question brought: how many passages passed the filter; `exhausted` when there are no more."""

    step: Scan | Ask
    passages: int
    exhausted: bool


Step = Scan | Ask | Enough


def next_step(policy: SearchPolicy, query: Query, total: int, allowed: int, heard: Heard | None) -> Step:
    """The next question for the shell. `allowed` of `total` vectors have a row that passes the filter."""
    if allowed == 0:
        return Enough()
    if heard is None:
        if allowed <= policy.exact_up_to:
            return Scan(max(policy.depth, 2 * query.k))
        return _ask(policy, max(policy.depth, math.ceil(3 * query.k * total / allowed)), total)
    deeper = heard.step.n * 4
    if heard.passages >= query.k:
        return Enough()
    if isinstance(heard.step, Scan):
        return Enough() if heard.exhausted else Scan(deeper)
    if heard.exhausted or heard.step.n >= total:  # an index may lose a neighbour; only a scan proves that no more pass
        return Scan(deeper)
    return _ask(policy, deeper, total)


def without_index(step: Step, query: Query) -> Step:
    """The step to take instead when the index cannot be used."""
    return Scan(max(step.n, 2 * query.k)) if isinstance(step, Ask) else step


def every_word(policy: SearchPolicy) -> SearchPolicy:
    """The same policy with a list by words that is as long as it can be."""
    return evolve(policy, words=EVERY)


def _ask(policy: SearchPolicy, n: int, total: int) -> Step:
    return Ask(min(n, total)) if n <= policy.depth_max else Scan(n)
