"""Where a sequence of pieces is cut into stretches within a budget: content-defined, by local minima.

    cut where the place is the best one, by (rank, hash of the piece that follows), for floor * budget around it;
    halve at the best place of its middle what is still longer than the budget

So cuts depend on the text around them and not on what came before: an edit moves the cuts next to it and no others.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise

Worth = tuple[int, bytes]
"""How good a place is to cut at, the least is the best: its rank, then the hash of the piece that follows."""
NEVER: Worth = (2**31, b"")


def cuts(pieces: Sequence[tuple[int, Worth]], budget: int, floor: float) -> list[int]:
    """Where pieces of (size, worth) are cut: indices from 0 to their number, each stretch within the budget.

    A cut is made where it is the best (least worth) for floor * budget on both sides; a stretch that is still too
    long is halved at the best place of its middle. Both look no further than a budget, so an edit moves no cut
    beyond.
    """
    places = list(accumulate((size for size, _ in pieces), initial=0))
    if places[-1] <= budget:
        return [0, len(pieces)]
    reach = floor * budget
    edges = [0, *_anchors(places, [worth for _, worth in pieces], reach), len(pieces)]
    halved = [[first, *_halving(places, pieces, first, last, budget)] for first, last in pairwise(edges)]
    return [*chain.from_iterable(halved), len(pieces)]


def _anchors(places: Sequence[int], worths: Sequence[Worth], reach: float) -> Iterator[int]:
    for n in range(1, len(worths)):
        if places[n] < reach or places[-1] - places[n] < reach:
            continue
        low = max(1, bisect_left(places, places[n] - reach))
        high = min(len(worths), bisect_right(places, places[n] + reach))
        if min(worths[low:n], default=NEVER) > worths[n] <= min(worths[n + 1 : high], default=NEVER):
            yield n


def _halving(
    places: Sequence[int], pieces: Sequence[tuple[int, Worth]], first: int, last: int, budget: int
) -> list[int]:
    length = places[last] - places[first]
    if length <= budget or last - first < 2:
        return []
    low = bisect_left(places, places[first] + length / 4, first + 1, last)
    high = bisect_right(places, places[last] - length / 4, first + 1, last)
    middle = (places[first] + places[last]) / 2
    inner = range(low, high) or [min(range(first + 1, last), key=lambda n: abs(places[n] - middle))]
    best = min(inner, key=lambda n: pieces[n][1])
    left, right = _halving(places, pieces, first, best, budget), _halving(places, pieces, best, last, budget)
    return [*left, best, *right]
