"""When a watched folder is looked at: laws of the loop in a world whose clock, changes and looks are data."""

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.effects.watch import watch
from rag_mcp.pure.errors import CorpusMissing, EmbedderFailed, PruneRefused, WriterBusy
from rag_mcp.pure.ignore import Rules
from rag_mcp.pure.plans import Plan
from rag_mcp.pure.summary import Held, Report, Work, report
from rag_mcp.pure.watching import Looked, Outcome, Timing, concerns, line, shape

TIMING = Timing(debounce=1.0, whole=300.0, retry=2.0)
END = 2000.0
QUIET = report(Plan("/c", 1, "hash", 4, "r", ()), Work())
DID = evolve(QUIET, files_ingested=1)
FAILURES = (
    WriterBusy("/s", "process 7"),
    WriterBusy("/s", "process 8"),
    CorpusMissing("/c", "there is no such folder"),
    EmbedderFailed("hash", "out of memory"),
    PruneRefused(60, 120, 50),
)


@define
class World:
    """Changes at times, looks that last and end as they are told; time passes only by waiting and looking."""

    changes: list[float]
    looks: list[tuple[float, Outcome]]
    now: float = 0.0
    reported: int = 0
    begun: list[float] = field(factory=list)
    done: list[float] = field(factory=list)
    told: list[Looked] = field(factory=list)

    @property
    def ended(self) -> bool:
        return self.now >= END

    def wait(self, seconds: float) -> bool:
        """All that happened up to now is one change, as for any real watcher."""
        assert seconds > 0, "waiting for nothing is a loop that burns"
        upto = self.now + seconds
        if self.reported < len(self.changes) and self.changes[self.reported] <= upto:
            self.now = max(self.now, self.changes[self.reported])
            while self.reported < len(self.changes) and self.changes[self.reported] <= self.now:
                self.reported += 1
            return True
        self.now = upto
        return False

    def look(self) -> Outcome:
        self.begun.append(self.now)
        lasts, outcome = self.looks[(len(self.begun) - 1) % len(self.looks)]
        self.now += lasts
        self.done.append(self.now)
        return outcome


def lived(changes: list[float], looks: list[tuple[float, Outcome]]) -> World:
    world = World(sorted(changes), looks)
    watch(world.look, world, lambda: world.now, world.told.append, TIMING)
    return world


times = st.lists(st.floats(0, END - 400, allow_nan=False) | st.floats(0, 30), max_size=40)
lasting = st.floats(0.01, 20, allow_nan=False)
good = st.lists(st.tuples(lasting, st.sampled_from((QUIET, DID))), min_size=1, max_size=5)
mixed = st.lists(st.tuples(lasting, st.sampled_from((QUIET, DID, *FAILURES))), min_size=1, max_size=6)


@given(times, good)
def test_every_change_is_followed_by_a_look_that_begins_after_it_and_soon(changes, looks) -> None:
    world = lived(changes, looks)
    longest_look = max(lasts for lasts, _ in looks)
    for change in changes:
        after = [begun for begun in world.begun if begun >= change]
        assert after
        assert after[0] - change <= TIMING.longest + longest_look + TIMING.debounce


@given(times, good)
def test_a_look_waits_for_a_quiet_moment_unless_changes_never_end(changes, looks) -> None:
    world = lived(changes, looks)
    for n, begun in enumerate(world.begun[1:]):
        previous = world.begun[n]
        if begun - previous >= TIMING.whole:
            continue
        row = [change for change in world.changes if previous < change <= begun] or [previous]
        seen = max(world.done[n], row[0])
        assert begun - max(row[-1], 0) >= TIMING.debounce - 1e-6 or begun - seen >= TIMING.longest - 1e-6


@given(good)
def test_what_nobody_reported_is_found_by_the_look_that_comes_in_any_case(looks) -> None:
    world = lived([], looks)
    gaps = [b - a for a, b in zip(world.begun, world.begun[1:], strict=False)]
    assert world.begun[0] == 0
    assert gaps
    assert all(abs(gap - max(TIMING.whole, 0)) < 1e-6 for gap in gaps)


@given(times, mixed)
def test_a_failure_is_tried_again_ever_more_rarely_and_told_once(changes, looks) -> None:
    world = lived(changes, looks)
    told_before = None
    for looked in world.told:
        failure = None if isinstance(looked.outcome, Report) else looked.outcome
        if failure is not None:
            same = told_before == failure or {type(told_before), type(failure)} == {WriterBusy}
            assert looked.news == (not same)
        told_before = failure
    for n, looked in enumerate(world.told[:-1]):
        if not isinstance(looked.outcome, Report):
            assert world.begun[n + 1] - world.done[n] <= TIMING.whole + 1e-6


def test_a_busy_store_is_tried_after_two_four_and_eight_seconds_and_at_last_every_five_minutes() -> None:
    world = lived([], [(0.5, FAILURES[0])])
    waits = [round(b - a - 0.5, 3) for a, b in zip(world.begun, world.begun[1:], strict=False)]
    assert waits[:8] == [2, 4, 8, 16, 32, 64, 128, 256]
    assert [looked.news for looked in world.told] == [True] + [False] * (len(world.told) - 1)


def test_a_refused_prune_waits_for_a_change_and_is_told_once() -> None:
    world = lived([500.0], [(0.5, FAILURES[-1])])
    assert world.begun[:3] == [0.0, 300.0, 501.0]
    assert [looked.news for looked in world.told][:3] == [True, False, False]


def test_quiet_looks_are_no_news_but_the_first_good_one_after_a_failure_and_new_unreadable_files_are() -> None:
    held = evolve(QUIET, held=(Held("a.md", "Permission denied"),))
    looks = [(0.1, one) for one in (QUIET, FAILURES[0], QUIET, held, held, DID)]
    assert [looked.news for looked in lived([], looks).told[:6]] == [False, True, True, True, False, True]


def test_lines_and_shapes_say_what_happened() -> None:
    held = evolve(QUIET, held=(Held("a\x1b.md", "Permission denied"),))
    assert "1 ingested" in line(Looked(DID, True))
    assert line(Looked(held, True)).endswith("; a\\x1b.md (Permission denied)")
    assert line(Looked(FAILURES[2], True)).endswith("nothing was changed; waiting for it")
    assert line(Looked(FAILURES[0], True)).endswith("nothing was done; it will be tried again")
    assert [shape(Looked(one, True), "t")["event"] for one in (DID, QUIET, FAILURES[0])] == [
        "ingested", "quiet", "refused",
    ]  # fmt: skip


def test_a_change_counts_when_it_may_change_what_is_read() -> None:
    rules = Rules.of(("drafts/*", "*.tmp.md")).unwrap()
    for path in ("a.md", "x/.ragignore", "deep/er/b.MARKDOWN"):
        assert concerns(rules, path, regular=True), path
    for path in ("folder", "was.a.folder", "a.md"):
        assert concerns(rules, path, regular=False), path
    for path in ("pic.png", ".git/a.md", "x/.obsidian/y/a.md", "drafts/a.md", "b.tmp.md"):
        assert not concerns(rules, path, regular=True), path
    assert not concerns(rules, "node_modules", regular=False)
