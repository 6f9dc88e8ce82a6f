"""Laws of planning over settled worlds that were then damaged."""

from collections import Counter
from collections.abc import Mapping

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st
from properties import worlds
from properties.worlds import MINI, RUN, World, damaged, settled_worlds

from rag_mcp.pure.identity import EmbedderIdentity, RunIdentity
from rag_mcp.pure.manifest import RowsSeen, entry_of
from rag_mcp.pure.planning import GROWTH, moved_files, segments
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reason, Reembed, Write, embeds
from rag_mcp.pure.pruning import Limits
from rag_mcp.pure.values import Document, Unreadable

Pair = tuple[World, World]


def actions(plan: Plan) -> Mapping[str, object]:
    return {file.path: file.action for file in plan.files}


def kept(plan: Plan) -> set[str]:
    return {path for path, action in actions(plan).items() if isinstance(action, Keep)}


@given(settled_worlds())
def test_a_settled_world_needs_no_work(world: World) -> None:
    plan = world.plan(Limits())
    assert plan.quiet
    assert kept(plan) == world.files.keys() - world.private()
    assert plan.refusal is None


@given(damaged())
def test_every_path_gets_exactly_one_decision(pair: Pair) -> None:
    _, world = pair
    plan, look = world.plan(), world.look()
    known = world.store.entries.keys() | world.store.belief().rows.keys()
    met = known | ({s.path for s in look.sightings} - world.private()) | {u.path for u in look.unreadables}
    assert Counter(file.path for file in plan.files) == Counter(met)
    assert [file.path for file in plan.files] == sorted(met)


@given(damaged())
def test_nothing_is_skipped_without_full_evidence(pair: Pair) -> None:
    _, world = pair
    belief, run = world.store.belief(), world.run
    for path in kept(world.plan()):
        entry, made = belief.entries[path], worlds.document(path, world.files[path], run)
        assert not world.hidden(path)
        assert entry.digest == made.digest
        assert (entry.recipe, entry.labels) == (run.recipe, run.labels)
        assert belief.rows.get(path, RowsSeen()) == entry.rows == entry_of(made, run).rows
        for row in world.store.rows.get(path, ()):
            assert row.fingerprint == run.embedder.fingerprint
            assert row.rid in world.store.vectors


@given(damaged())
def test_nothing_unseen_is_touched(pair: Pair) -> None:
    _, world = pair
    for path, action in actions(world.plan()).items():
        if world.hidden(path):
            assert isinstance(action, Hold)


@given(damaged(worlds.blind_file, worlds.blind_folder, worlds.lose_entry, worlds.lose_row, worlds.garble_file))
def test_what_is_held_stays_word_for_word(pair: Pair) -> None:
    _, world = pair
    after = world.ingested()
    for file in world.plan().files:
        if isinstance(file.action, Hold):
            assert after.store.rows.get(file.path) == (world.store.rows.get(file.path) or None)
            assert after.store.entries.get(file.path) == world.store.entries.get(file.path)


@given(damaged(), st.integers(1, 4))
def test_after_the_plan_the_store_holds_what_a_rebuild_would_hold(pair: Pair, texts: int) -> None:
    _, world = pair
    plan, after = world.plan(), world.ingested(texts=texts)
    held = {file.path for file in plan.files if isinstance(file.action, Hold)}
    readable = {path: content for path, content in world.visible().items() if content != worlds.GARBLED}
    fresh = World(readable, world.run, root=world.root).ingested()
    assert {p: r for p, r in after.store.rows.items() if p not in held} == fresh.store.rows
    assert {p: e for p, e in after.store.entries.items() if p not in held} == fresh.store.entries
    assert after.store.rids() <= after.store.vectors
    assert after.store.index == after.store.rids()
    assert after.store.keywords_sound
    assert {row.fingerprint for rows in after.store.rows.values() for row in rows} <= {world.run.embedder.fingerprint}


@given(damaged())
def test_after_the_plan_the_entries_are_those_it_says(pair: Pair) -> None:
    _, world = pair
    plan = world.plan()
    made = {p: worlds.document(p, c, world.run) for p, c in world.visible().items()}
    written = {path: entry_of(doc, world.run) for path, doc in made.items()}
    assert world.ingested().store.entries == worlds.entries_after(plan, world.store.belief(), written)


@given(damaged())
def test_a_second_run_needs_no_work(pair: Pair) -> None:
    _, world = pair
    assert world.ingested().plan(Limits()).quiet


@given(damaged(), st.sampled_from(worlds.LOSSES), st.data())
def test_less_evidence_never_means_less_work(pair: Pair, loss: worlds.Damage, data: st.DataObject) -> None:
    _, world = pair
    poorer = world.copy()
    loss(poorer, data.draw)
    rich, poor = world.plan(), poorer.plan()
    assert kept(poor) <= kept(rich)
    if poorer.store.belief() != world.store.belief() and not any(isinstance(f.action, Hold) for f in poor.files):
        assert not poor.quiet


@given(settled_worlds(), st.sampled_from(worlds.DISTRUST), st.data())
def test_every_loss_in_a_settled_world_is_noticed(world: World, loss: worlds.Damage, data: st.DataObject) -> None:
    poorer = world.copy()
    loss(poorer, data.draw)
    named = {row.rid for rows in world.store.rows.values() for row in rows}
    idle = poorer.store.vectors | named == poorer.store.vectors
    same = idle and poorer.store.belief() == world.store.belief()
    assert poorer.plan().quiet == same


@given(damaged(worlds.change_labels))
def test_a_metadata_change_never_embeds(pair: Pair) -> None:
    before, world = pair
    plan = world.plan()
    assert not [key for file in plan.files for key in embeds(file)]
    assert plan.rebuild is None
    assert world.ingested().store.index == before.store.index


@given(damaged(worlds.rename))
def test_a_rename_never_embeds_and_is_no_loss(pair: Pair) -> None:
    before, world = pair
    plan = world.plan(Limits(allow=0))
    assert not [key for file in plan.files for key in embeds(file)]
    assert plan.refusal is None
    gone = before.files.keys() - world.files.keys() - before.private()
    assert [f.reason for f in plan.files if f.path in gone] == [Reason.MOVED_AWAY] * len(gone)


@given(damaged(worlds.change_cutting, worlds.edit, worlds.rename, worlds.add, most=3))
def test_a_text_that_has_a_vector_is_never_embedded_again(pair: Pair) -> None:
    _, world = pair
    mine = {key for fingerprint, key in world.store.vectors if fingerprint == world.run.embedder.fingerprint}
    assert not mine & {key for file in world.plan().files for key in embeds(file)}


@given(damaged())
def test_every_key_is_embedded_by_one_file_only(pair: Pair) -> None:
    _, world = pair
    keys = Counter(key for file in world.plan().files for key in embeds(file))
    assert set(keys.values()) <= {1}


@given(settled_worlds())
def test_a_full_run_embeds_every_text_once(world: World) -> None:
    plan = world.plan(full=True)
    keys = [key for file in plan.files for key in embeds(file)]
    assert sorted(keys) == sorted({row.key for rows in world.store.rows.values() for row in rows})
    assert {file.reason for file in plan.files} <= {Reason.FORCED}


@given(damaged())
def test_planning_twice_plans_the_same(pair: Pair) -> None:
    _, world = pair
    assert world.plan() == world.copy().plan()


@given(damaged(), st.integers(1, 5))
def test_segments_partition_the_work_and_prunes_come_last(pair: Pair, texts: int) -> None:
    _, world = pair
    plan = world.plan()
    parts = segments(plan, texts)
    done = [file for part in parts for file in part]
    busy = [f for f in plan.files if not isinstance(f.action, Keep | Hold) or embeds(f)]
    assert sorted(done, key=lambda f: f.path) == busy
    prunes = [isinstance(file.action, Prune) for file in done]
    assert prunes == sorted(prunes)
    assert len(parts) >= 1
    if plan.switches_embedder:
        assert len(parts) == 1
    else:
        before = 0
        for part in parts:
            weights = [len(embeds(file)) for file in part]
            assert sum(weights) <= max(texts, GROWTH * before) or len([w for w in weights if w]) == 1
            before += sum(weights)


def test_the_copies_of_a_first_build_are_a_few_times_its_size() -> None:
    keys = tuple(map(str, range(50)))
    files = tuple(FilePlan(f"{n:05}.md", Reason.NEW, Write(keys, keys)) for n in range(20_000))
    done, copied = 0, 0
    for part in segments(Plan("/notes", 0, "mini", 3, "run", files), 5_000):
        copied += done
        done += sum(len(embeds(file)) for file in part)
    assert done == 1_000_000
    assert copied <= 6 * done


@given(damaged(worlds.change_embedder, worlds.edit, worlds.blind_file, worlds.blind_folder))
def test_a_change_of_embedder_leaves_no_vector_of_the_old_one(pair: Pair) -> None:
    before, world = pair
    plan = world.plan()
    switched = world.run.embedder != before.run.embedder and before.store.fingerprint is not None
    assert plan.switches_embedder == switched
    if switched:
        assert plan.rebuild is not None
        assert not kept(plan)
        named = {row.fingerprint for rows in world.ingested().store.rows.values() for row in rows}
        assert named <= {world.run.embedder.fingerprint}


@given(st.sampled_from(["name", "weights", "tokenizer", "pooling", "query_prefix", "document_prefix"]))
def test_every_part_of_an_embedder_is_part_of_its_identity(part: str) -> None:
    other: EmbedderIdentity = evolve(MINI, **{part: "something else"})
    assert other.fingerprint != MINI.fingerprint


@given(st.sampled_from(["dim", "max_tokens"]), st.integers(1, 10_000))
def test_every_number_of_an_embedder_is_part_of_its_identity(part: str, value: int) -> None:
    other: EmbedderIdentity = evolve(MINI, **{part: value})
    assert (other.fingerprint == MINI.fingerprint) == (other == MINI)


def test_the_recipe_tells_what_cuts_and_the_labels_tell_what_marks() -> None:
    cut = [
        evolve(RUN, reader_version=99),
        evolve(RUN, chunker_version=99),
        evolve(RUN, chunking=evolve(RUN.chunking, budget=7)),
        evolve(RUN, chunking=evolve(RUN.chunking, floor=0.1)),
        evolve(RUN, chunking=evolve(RUN.chunking, merge_below=7)),
        evolve(RUN, chunking=evolve(RUN.chunking, overlap=7)),
        evolve(RUN, embedder=evolve(MINI, tokenizer="t2")),
        evolve(RUN, embedder=evolve(MINI, max_tokens=9)),
        evolve(RUN, embedder=evolve(MINI, document_prefix="passage: ")),
    ]
    marked = [
        evolve(RUN, metadata_version=99),
        evolve(RUN, labelling=evolve(RUN.labelling, mirror_dir="elsewhere/")),
        evolve(RUN, labelling=evolve(RUN.labelling, mirror_basenames=("x.md",))),
    ]
    assert len({run.recipe for run in [RUN, *cut]}) == len(cut) + 1
    assert {run.labels for run in cut} == {RUN.labels}
    assert len({run.labels for run in [RUN, *marked]}) == len(marked) + 1
    assert {run.recipe for run in marked} == {RUN.recipe}


def many(number: int, run: RunIdentity = RUN) -> World:
    """A settled world of so many different files."""
    return World({f"f{n:04}.md": (f"text {n}",) for n in range(number)}, run).ingested(texts=10_000)


@example(60, 50)
@example(60, 51)
@example(600, 60)
@example(600, 61)
@example(50, 50)
@example(3, 3)
@example(3, 2)
@given(st.integers(1, 120), st.integers(0, 120))
def test_more_than_fifty_files_and_a_tenth_need_leave_to_go(number: int, gone: int) -> None:
    world = many(number)
    for path in sorted(world.files)[:gone]:
        del world.files[path]
    lost = number - len(world.files)
    allowed = 0 if not world.files and lost else max(50, number // 10)
    refusal = world.plan(Limits()).refusal
    assert (refusal is not None) == (lost > allowed)
    if refusal:
        assert (refusal.count, refusal.known, refusal.allowed) == (lost, number, allowed)
        assert world.plan(Limits(allow=lost)).refusal is None
        assert world.plan(Limits(allow=lost - 1)).refusal is not None


def test_files_that_moved_do_not_count_towards_the_ceiling() -> None:
    world = many(120)
    world.files = {f"elsewhere/{path}": content for path, content in world.files.items()}
    plan = world.plan(Limits())
    assert plan.refusal is None
    assert {file.reason for file in plan.files} == {Reason.MOVED, Reason.MOVED_AWAY}
    del world.files["elsewhere/f0000.md"]
    assert world.plan(Limits(allow=0)).refusal is not None


def test_excluded_files_count_towards_the_ceiling() -> None:
    world = World({f"notes/{n}.md": (f"text {n}",) for n in range(60)} | {"a.md": ()}).ingested()
    world.excluded = {"notes/"}
    refusal = world.plan(Limits()).refusal
    assert refusal is not None
    assert refusal.count == 60


def test_an_emptied_root_needs_leave_even_for_one_file() -> None:
    world = many(1)
    world.files.clear()
    assert world.plan(Limits()).refusal is not None
    assert world.plan(Limits(allow=1)).refusal is None


def test_another_corpus_replaces_the_rows_without_asking_unless_it_is_empty() -> None:
    world = many(120)
    world.root, world.files = "/another", {"one.md": ("text",)}
    assert world.plan(Limits()).refusal is None
    world.files = {}
    assert world.plan(Limits()).refusal is not None


def test_a_file_that_moved_but_cannot_be_read_was_not_moved() -> None:
    world = many(2)
    world.files["new.md"] = world.files.pop("f0000.md")
    settled = world.settled()
    prepared = {"new.md": Unreadable("new.md", "it changed while it was read")}
    plan = worlds.plan_ingest(world.look(), settled, RUN, prepared, world.cached(settled, prepared), Limits(allow=0))
    assert {f.path: f.reason for f in plan.files}["f0000.md"] is Reason.GONE
    assert plan.refusal is not None


def test_each_copy_of_a_vanished_file_is_matched_once() -> None:
    world = World({"a.md": ("same",), "b.md": ("other",)}).ingested()
    world.files = {"b.md": ("other",), "c.md": ("same",), "d.md": ("same",)}
    plan = world.plan()
    assert {f.path: f.reason for f in plan.files} == {
        "a.md": Reason.MOVED_AWAY,
        "b.md": Reason.UNCHANGED,
        "c.md": Reason.MOVED,
        "d.md": Reason.NEW,
    }


def test_rows_without_an_entry_are_held_where_the_file_cannot_be_seen() -> None:
    """Counterexample once: they got a second decision, and it was to remove them."""
    for blind in ("unreadable", "gaps"):
        world = World({"notes/a.md": ("one",), "b.md": ("two",)}).ingested()
        del world.store.entries["notes/a.md"]
        getattr(world, blind).add("notes/a.md" if blind == "unreadable" else "notes")
        assert [(f.path, type(f.action)) for f in world.plan().files] == [("b.md", Keep), ("notes/a.md", Hold)]


def test_what_lay_below_an_unreadable_thing_is_held() -> None:
    """A folder that became a link or file that cannot be read proves nothing of what it held."""
    world = World({"notes/a.md": ("one",), "b.md": ("two",)}).ingested()
    del world.files["notes/a.md"]
    world.unreadable.add("notes")
    assert isinstance(actions(world.plan())["notes/a.md"], Hold)


def test_the_plan_names_the_bytes_that_were_read_not_those_that_were_seen() -> None:
    world = World({"a.md": ("seen",)})
    settled = world.settled()
    prepared: dict[str, Document] = {"a.md": worlds.document("a.md", ("read",), RUN)}
    plan = worlds.plan_ingest(world.look(), settled, RUN, prepared, world.cached(settled, prepared), Limits())
    assert plan.files[0].digest == worlds.digest_of_file(("read",))
    assert isinstance(plan.files[0].action, Write)


@given(damaged(worlds.rename, worlds.delete, worlds.add, worlds.blind_file, worlds.blind_folder))
def test_moves_pair_what_is_new_with_what_is_proved_gone(pair: Pair) -> None:
    _, world = pair
    settled = world.settled()
    moves = moved_files(world.look(), settled, world.prepared(settled))
    assert len(set(moves.values())) == len(moves)
    for new, old in moves.items():
        assert new in world.visible() and old not in world.files and not world.hidden(old)
        assert world.store.entries[old].digest == worlds.digest_of_file(world.files[new])


@given(damaged(worlds.lose_vector, worlds.edit))
def test_a_lost_vector_is_made_from_the_rows_that_stand(pair: Pair) -> None:
    _, world = pair
    for file in world.plan().files:
        if file.reason is Reason.VECTORS_MISSING:
            assert isinstance(file.action, Reembed)
            assert file.path in world.store.belief().vectorless


def spoil_index(store: worlds.Store, how: str) -> None:
    match how:
        case "one vector too many":
            store.index |= {(MINI.fingerprint, "a key that no row has")}
        case "one vector too few":
            store.index = frozenset(sorted(store.index)[1:])
        case "deleted slots":
            store.slots = 10
        case state:
            store.index_state = state


@pytest.mark.parametrize(
    "how", ["missing", "foreign", "unnamed", "one vector too many", "one vector too few", "deleted slots"]
)
def test_an_index_in_doubt_is_rebuilt_and_nothing_else_is_done(how: str) -> None:
    world = World({"a.md": ("one", "two"), "b.md": ("three",)}).ingested()
    spoil_index(world.store, how)
    plan = world.plan()
    assert plan.rebuild is not None and not plan.quiet
    assert kept(plan) == world.files.keys()
    assert world.ingested().plan().quiet
