"""What is done beside other work: in order, so many at once, nothing begun that nobody waits for."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.effects.threads import beside, in_turn


@given(st.lists(st.integers(), max_size=12), st.integers(0, 3))
def test_each_item_comes_with_its_own_outcome_in_order(items: list[int], at_once: int) -> None:
    assert list(in_turn(items, lambda n: n * n, at_once)) == [(n, n * n) for n in items]


@pytest.mark.parametrize("at_once", [0, 1, 2])
def test_no_more_are_under_way_than_was_said(at_once: int) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def work(n: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1
        return n

    assert len(list(in_turn(range(12), work, at_once))) == 12
    assert most <= max(1, at_once)


@pytest.mark.parametrize("at_once", [0, 1, 2])
def test_what_fails_is_raised_in_its_turn_and_what_follows_is_not_begun(at_once: int) -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        if n == 3:
            raise LookupError(n)
        return n

    took: list[int] = []
    with pytest.raises(LookupError):
        for _, made in in_turn(range(100), work, at_once):
            took.append(made)
    assert took == [0, 1, 2]
    assert len(begun) <= 3 + 2 * (at_once + 2)


def test_a_caller_that_stops_waits_for_no_more_than_is_under_way() -> None:
    begun: list[int] = []
    for n, _ in in_turn(range(100), begun.append, 2):
        if n == 5:
            break
    assert len(begun) <= 5 + 1 + 4


def test_beside_gives_the_outcome_or_raises_it() -> None:
    with beside(lambda: 7) as outcome:
        pass
    assert outcome() == 7
    with beside(lambda: 1 // 0) as failing:
        pass
    with pytest.raises(ZeroDivisionError):
        failing()
