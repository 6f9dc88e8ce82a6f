"""A tail always tells how the generation differs from the present, however much came and went since."""

from itertools import pairwise

from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure import tail
from rag_mcp.pure.tail import Course, Tail, course, crowded, nearest

rids = st.frozensets(st.sampled_from("abcdefgh"))
counts = st.integers(0, 3_000)


@given(st.lists(rids, min_size=1))
def test_generation_and_tail_are_the_present_after_any_history(present: list[frozenset[str]]) -> None:
    generation, told = present[0], Tail()
    for before, after in pairwise(present):
        told = told.after(after - before, before - after)
        assert told == Tail(came=after - generation, went=generation - after)
        assert told.indexed(after) == generation


@frozen
class Ranked:
    """Similarities of all rids, and which of them are in the generation and which are wanted."""

    score: dict[str, float]
    generation: frozenset[str]
    wanted: frozenset[str]

    def best(self, among: frozenset[str], n: int) -> list[tuple[str, float]]:
        return sorted(((rid, self.score[rid]) for rid in among), key=lambda pair: (-pair[1], pair[0]))[:n]


ranked = st.builds(
    Ranked, st.fixed_dictionaries({rid: st.sampled_from((0.1, 0.5, 0.9)) for rid in "abcdefgh"}), rids, rids
)


@given(ranked, st.integers(0, 9))
def test_the_nearest_are_those_of_a_scan_of_all_that_is_wanted(world: Ranked, n: int) -> None:
    told = Tail(world.wanted - world.generation, world.generation - world.wanted)
    found = world.best(world.generation, n + len(told.went))
    assert list(nearest(found, world.best(told.came, n), told, n)) == world.best(world.wanted, n)


@given(counts, counts, counts, counts)
def test_a_long_tail_is_taken_in_and_no_run_leaves_what_the_next_one_doubts(
    came: int, went: int, vectors: int, slots: int
) -> None:
    told = Tail(frozenset(map(str, range(came))), frozenset(map(str, range(went))))
    chosen = course(told, vectors, slots)
    left = {Course.KEEP: slots, Course.CLONE: slots + came, Course.ANEW: vectors}[chosen]
    assert not crowded(left, vectors)
    if chosen == Course.KEEP:
        assert came <= tail.CAME_AT_MOST and went <= tail.WENT_AT_MOST
    elif chosen == Course.CLONE:
        assert came > tail.CAME_AT_MOST or went > tail.WENT_AT_MOST


def test_a_short_tail_leaves_the_generation_as_it_is() -> None:
    assert course(Tail(frozenset("ab"), frozenset("c")), 50_000, 50_000) == Course.KEEP
