"""Renames that exchange two stores: whatever a kill leaves, what is left to do follows from what is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.cutover import (
    FAMILY,
    NEXT,
    PREVIOUS,
    ROLLBACK,
    STORE,
    SWITCH,
    UNDONE,
    Move,
    Verdict,
    discard,
    rollback,
    switch,
    unfinished,
)  # fmt: skip

World = dict[str, str]
"""Which store is where."""


def moved(world: World, moves: tuple[Move, ...]) -> World:
    now = dict(world)
    for source, target in moves:
        assert source in now, "nothing to rename"
        assert target not in now, "a store would be lost"
        now[target] = now.pop(source)
    return now


def mended(world: World) -> World:
    return moved(world, tuple(unfinished(frozenset(world))))


BUILT = {STORE: "old", NEXT: "new"}
SWITCHED = {STORE: "new", PREVIOUS: "old"}


def test_switching_and_going_back_end_where_they_should() -> None:
    assert moved(BUILT, SWITCH) == SWITCHED
    assert moved(SWITCHED, ROLLBACK) == BUILT
    assert mended(BUILT) == BUILT
    assert mended(SWITCHED) == SWITCHED


@pytest.mark.parametrize(("start", "moves", "end"), [(BUILT, SWITCH, SWITCHED), (SWITCHED, ROLLBACK, BUILT)])
def test_a_kill_after_any_rename_is_mended_to_the_end(start: World, moves: tuple[Move, ...], end: World) -> None:
    for done in range(1, len(moves) + 1):
        assert mended(moved(start, moves[:done])) == end, done


@given(st.sets(st.sampled_from(FAMILY)))
def test_mending_loses_no_store_overwrites_none_and_is_done_after_once(there: set[str]) -> None:
    world = {which: f"store{which}" for which in there}
    after = mended(world)
    assert sorted(after.values()) == sorted(world.values())
    assert unfinished(frozenset(after)) == ()
    if STORE in there:
        assert after[STORE] == world[STORE], "a store that is in use is never moved by mending"


@given(st.sets(st.sampled_from(FAMILY)), st.none() | st.builds(Verdict, st.just("g"), st.integers(0, 2), st.booleans()),
       st.integers(0, 2), st.booleans())  # fmt: skip
def test_what_is_allowed_loses_nothing(there: set[str], verdict: Verdict | None, generation: int, anyway: bool) -> None:
    world = {which: f"store{which}" for which in there}
    if isinstance(made := switch(frozenset(there), verdict, generation, anyway=anyway), Success):
        assert moved(world, tuple(made.unwrap()))[STORE] == "store.next"
        assert anyway or verdict is None or (not verdict.worse and verdict.generation == generation)
        assert generation
    if isinstance(back := rollback(frozenset(there)), Success) and UNDONE not in there:
        assert moved(world, tuple(back.unwrap()))[STORE] == "store.previous"
    if isinstance(gone := discard(frozenset(there)), Success):
        assert gone.unwrap() in there - {STORE}


def test_the_unused_new_store_goes_before_the_old_one() -> None:
    assert discard(frozenset((STORE, NEXT, PREVIOUS))) == Success(NEXT)
    assert discard(frozenset((STORE, PREVIOUS))) == Success(PREVIOUS)
    assert isinstance(discard(frozenset((STORE,))), Failure)
