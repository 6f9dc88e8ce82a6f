"""Dated series: nothing that was said on a day is lost, only what repeats the day before it is shown once."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from properties import worlds
from properties.worlds import ANY, DATED, World, damaged

from rag_mcp.pure.dates import real_date
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.manifest import RowsSeen, Rule
from rag_mcp.pure.plans import Hold
from rag_mcp.pure.regrouping import shown_changes
from rag_mcp.pure.snapshots import Same, collapsed, hidden_on, mark, members, relation, series_of
from rag_mcp.snapshots import relation as promised

Days = Sequence[Sequence[str]]


def same(text: str) -> Same:
    return text, text, (), "note", "current"


def path(day: int) -> str:
    return f"log/pump-2031-04-{day:02}.md"


def repeats(*days: str, broken: Sequence[int] = ()) -> dict[tuple[int, int], tuple[int, int]]:
    """Day and ordinal of each repeat -> those of its survivor; each day is a text of one-letter passages."""
    series = {path(n): [same(letter) for letter in day] for n, day in enumerate(days, start=1)}
    found = relation(Rule(broken=frozenset(map(path, broken))), series)
    return {(int(p[-5:-3]), at): (int(q[-5:-3]), first) for (p, at), (q, first) in found.items()}


# The rule, case by case


def test_a_run_of_equal_days_points_at_the_first_of_them() -> None:
    assert repeats("a", "a", "a", "a") == {(2, 0): (1, 0), (3, 0): (1, 0), (4, 0): (1, 0)}


def test_a_value_that_changes_and_comes_back_is_kept_each_time() -> None:
    assert repeats("a", "b", "a") == {}
    assert repeats("a", "b", "a", "a") == {(4, 0): (3, 0)}


def test_where_in_its_file_a_passage_stands_does_not_matter() -> None:
    assert repeats("ab", "ba", "xb") == {(2, 0): (1, 1), (2, 1): (1, 0), (3, 1): (1, 1)}


def test_copies_are_counted() -> None:
    assert repeats("a", "aa", "aa") == {(2, 0): (1, 0), (3, 0): (1, 0), (3, 1): (2, 1)}
    assert repeats("aa", "a", "aa") == {(2, 0): (1, 0), (3, 0): (1, 0)}


def test_an_empty_file_breaks_the_run() -> None:
    assert repeats("a", "", "a") == {}


def test_an_unreadable_file_breaks_the_run_and_keeps_what_is_stored_of_it() -> None:
    assert repeats("a", "a", "a", broken=[2]) == {}
    assert repeats("a", "a", "a", "a", broken=[2]) == {(4, 0): (3, 0)}


def test_an_unreadable_file_that_was_never_stored_breaks_the_run_and_counts_as_one_of_three() -> None:
    two = {path(1): [same("a")], path(2): [same("a")]}
    assert relation(Rule(), two) == {}
    assert relation(Rule(broken=frozenset({path(3)})), two) == {(path(2), 0): (path(1), 0)}
    far = {path(1): [same("a")], path(3): [same("a")]}
    assert relation(Rule(broken=frozenset({path(2)})), far) == {}


def test_without_dedupe_nothing_repeats_anything() -> None:
    assert relation(Rule(dedupe=False), {path(n): [same("a")] for n in range(1, 5)}) == {}
    assert promised is relation


@pytest.mark.parametrize(
    "names",
    [
        ("2031-04-01.md", "2031-04-02.md", "2031-04-03.md"),
        ("2031-04-01-log.md", "2031-04-02-log.md", "2031-04-03-log.md"),
        ("log-2031-04-01.md", "log-2031-04-02.md"),
        ("a/log-2031-04-01.md", "b/log-2031-04-02.md", "c/log-2031-04-03.md"),
        ("a-2031-04-01.md", "b-2031-04-02.md", "c-2031-04-03.md"),
        ("log-2031-02-29.md", "log-2031-02-28.md", "log-2031-03-01.md"),
        ("log-2031-13-01.md", "log-2031-00-01.md", "log-2031-01-32.md", "log-0000-01-01.md"),
        ("log2031-04-01.md", "log2031-04-02.md", "log2031-04-03.md"),
        ("log-2031-4-1.md", "log-2031-4-2.md", "log-2031-4-3.md"),
        ("log-2031-04-01/a.md", "log-2031-04-02/a.md", "log-2031-04-03/a.md"),
        ("log-٢٠٣١-04-01.md", "log-٢٠٣١-04-02.md", "log-٢٠٣١-04-03.md"),
        ("-2031-04-01.md", "-2031-04-02.md", "-2031-04-03.md"),
    ],
    ids=lambda names: names[0],
)
def test_these_are_no_series(names: tuple[str, ...]) -> None:
    assert series_of(names) == {}
    assert relation(Rule(), {name: [same("a")] for name in names}) == {}


def test_a_series_is_ordered_by_date_then_by_path_whatever_the_extension() -> None:
    names = ("x/log-2031-04-02.md", "x/log-2031-04-02.markdown", "x/log-2030-12-31.MD", "x/log-2031-04-10.md")
    inside = ("x/log-2030-12-31.MD", "x/log-2031-04-02.markdown", "x/log-2031-04-02.md", "x/log-2031-04-10.md")
    assert series_of(names) == {"x/log": inside}
    assert members((*names, "other.md")) == set(names)


def test_leap_days_are_dates_where_the_calendar_has_them() -> None:
    assert real_date("2032-02-29") and not real_date("2031-02-29")
    assert real_date("2000-02-29") and not real_date("1900-02-29")
    assert [real_date(text) for text in ("20310401", "2031-W01-1", "2031-04-01T00", " 2031-04-01", "2031-04-0१")] == [
        None
    ] * 5


# Laws of the rule

passages = st.lists(st.sampled_from("abc"), max_size=4)
series = st.lists(passages, min_size=3, max_size=7)
breaks = st.sets(st.integers(0, 6), max_size=2)


def laid_out(days: Days) -> dict[str, list[Same]]:
    return {path(n): [same(text) for text in day] for n, day in enumerate(days, start=1)}


@given(series, breaks)
def test_every_day_and_block_stays_citable(days: Days, broken: set[int]) -> None:
    files = laid_out(days)
    found = relation(Rule(broken=frozenset(path(n) for n in broken)), files)
    for name, said in files.items():
        for ordinal, what in enumerate(said):
            first, at = found.get((name, ordinal), (name, ordinal))
            assert files[first][at] == what
            assert first <= name


@given(series, breaks)
def test_a_survivor_repeats_nothing_and_stands_for_one_passage_of_each_file_of_an_unbroken_run(
    days: Days, broken: set[int]
) -> None:
    files = laid_out(days)
    found = relation(Rule(broken=frozenset(path(n) for n in broken)), files)
    order = list(files)
    for survivor in set(found.values()):
        assert survivor not in found
        held = [order.index(name) for (name, _), first in found.items() if first == survivor]
        begin = order.index(survivor[0])
        assert sorted(held) == list(range(begin + 1, begin + 1 + len(held)))
        assert not any(order[at] in {path(n) for n in broken} for at in (begin, *held)) or not held


@given(series)
def test_as_many_are_left_as_are_new_each_day(days: Days) -> None:
    found = relation(Rule(), laid_out(days))
    kept = sum(len(day) for day in days) - len(found)
    new = len(days[0]) + sum((Counter(b) - Counter(a)).total() for a, b in pairwise(days))
    assert kept == new


@given(series, st.data())
def test_the_order_in_which_files_are_given_does_not_matter(days: Days, data: st.DataObject) -> None:
    files = laid_out(days)
    shuffled = {name: files[name] for name in data.draw(st.permutations(list(files)))}
    assert relation(Rule(), shuffled) == relation(Rule(), files)


@given(series, st.integers(0, 31))
def test_on_any_date_the_newest_snapshot_of_that_day_or_before_is_seen_alone(days: Days, day: int) -> None:
    files = laid_out(days)
    seen = files.keys() - hidden_on(f"2031-04-{day:02}", files)
    assert seen == ({path(min(day, len(days)))} if day else set())


@given(series, series)
def test_the_mark_tells_what_decides_the_relation(one: Days, other: Days) -> None:
    def marked(days: Days, rule: Rule) -> str:
        return mark(rule, {name: RowsSeen(len(said), hash(tuple(said))) for name, said in laid_out(days).items()})

    assert (marked(one, Rule()) == marked(other, Rule())) == (one == other)
    assert len({marked(one, rule) for rule in (Rule(), Rule(False), Rule(broken=frozenset({path(1)})))}) == 3
    assert mark(Rule(), {"a.md": RowsSeen(1, 1)}) == mark(Rule(False), {}) == ""


def test_a_series_alone_decides() -> None:
    assert collapsed([("a", [same("x")]), ("b", [same("x")])]) == {("b", 0): ("a", 0)}


# In the plan


def rebuilt(world: World) -> World:
    """What a first run over the same corpus, seen as poorly, leaves."""
    fresh = World(dict(world.files), world.run, root=world.root)
    fresh.unreadable, fresh.gaps, fresh.excluded = set(world.unreadable), set(world.gaps), set(world.excluded)
    return fresh.ingested()


@given(damaged(), st.integers(1, 4))
def test_after_any_run_repeats_are_those_of_a_rebuild(pair: tuple[World, World], texts: int) -> None:
    _, world = pair
    held = {file.path for file in world.plan().files if isinstance(file.action, Hold)}
    after = world.ingested(texts=texts).store.repeats
    assert {place: first for place, first in after.items() if place[0] not in held} == rebuilt(world).store.repeats


@given(damaged(worlds.edit, worlds.add, worlds.delete, worlds.blind_file, worlds.change_dedupe, worlds.lose_repeats))
def test_a_plan_says_what_collapses_and_what_comes_back(pair: tuple[World, World]) -> None:
    _, world = pair
    plan, before, after = world.plan(), world.store.repeats, world.ingested().store
    there = {(name, at) for name, rows in after.rows.items() for at in range(len(rows))}
    collapse, restore = after.repeats.keys() - before.keys(), (before.keys() - after.repeats.keys()) & there
    told = plan.regroup
    assert (len(collapse), len(restore)) == ((told.collapsed, told.restored) if told else (0, 0))
    if told:
        assert not plan.quiet


@given(worlds.series, st.booleans())
def test_turning_dedupe_off_and_on_embeds_nothing_and_restores_every_row(
    days: dict[str, worlds.Content], on: bool
) -> None:
    world = World(days, evolve(worlds.RUN, dedupe_snapshots=on)).ingested()
    other = world.copy()
    other.run = evolve(world.run, dedupe_snapshots=not on)
    turned = other.ingested()
    assert turned.store.rows == world.store.rows and turned.store.vectors == world.store.vectors
    assert turned.store.repeats == World(days, other.run).ingested().store.repeats
    turned.run = world.run
    assert turned.ingested().store.repeats == world.store.repeats


def test_a_new_equal_day_is_one_more_repeat_and_no_embedding() -> None:
    said: worlds.Content = ("the tide", "the pump")
    world = World(dict.fromkeys(DATED[:3], said), evolve(worlds.RUN, chunking=Chunking(1))).ingested()
    world.files[DATED[3]] = said
    plan = world.plan(ANY)
    assert plan.regroup is not None and (plan.regroup.collapsed, plan.regroup.restored) == (2, 0)
    after = world.ingested().store
    assert after.vectors == world.store.vectors
    assert set(after.repeats.values()) == {(DATED[0], 0), (DATED[0], 1)}


@given(st.data())
def test_lost_repeats_are_told_anew(data: st.DataObject) -> None:
    world = World(dict.fromkeys(DATED, ("the tide",))).ingested()
    poorer = world.copy()
    worlds.lose_repeats(poorer, data.draw)
    plan = poorer.plan(ANY)
    assert plan.regroup is not None
    assert (plan.regroup.why, plan.regroup.collapsed) == ("the record of them was damaged", 1)
    assert poorer.ingested().store.repeats == world.store.repeats


@given(st.integers(0, 9), st.integers(0, 9), st.integers(-9, 9))
def test_what_is_added_and_deleted_adds_up_to_what_is_shown(added: int, deleted: int, more: int) -> None:
    shown = shown_changes(added, deleted, more)
    assert shown[0] - shown[1] == added - deleted - more
    assert min(shown) >= 0
    assert shown_changes(added, deleted, 0) == (added, deleted)
