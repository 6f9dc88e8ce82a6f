"""Worlds for the laws of planning: a settled one first, then damage to it.

Random inputs rarely agree, so a law about skipping drawn from them never sees a skip. Here a world is ingested
in memory (`settle_down`), and then files, store or run identity are changed by a list of named damages.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from attrs import define, evolve, field, frozen
from hypothesis import strategies as st

from rag_mcp.effects.snapshots import regroup
from rag_mcp.pure.identity import Choices, Chunking, EmbedderIdentity, Labelling, RunIdentity
from rag_mcp.pure.manifest import NO_ROWS, Belief, Entry, Grouped, IndexSeen, RowsSeen, entry_of, row_mark
from rag_mcp.pure.planning import Cached, Settled, plan_ingest, plan_reads, plan_rows, segments, settle
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reembed, Write, embeds
from rag_mcp.pure.pruning import Limits
from rag_mcp.pure.regrouping import inquiry, regrouped, rule_of
from rag_mcp.pure.snapshots import Place, Same, sameness
from rag_mcp.pure.values import Chunk, Document, Excluded, Gap, Listing, Prepared, Sighting, Unreadable
from rag_mcp.pure.wishes import Wishes

ROOT = "/corpus"
ANY = Limits(allow=2**62)
PATHS = ("a.md", "b.md", "notes/a.md", "notes/b.md", "notes/deep/c.md", "context/handoff.md", "ä b.md", "x\udcff.md")
DATED = tuple(f"notes/log-2026-01-0{day}.md" for day in (1, 2, 3, 5))
FOLDERS = ("notes", "notes/deep", "context")
PARAGRAPHS = ("the tide", "the pump", "the harbour", "the key", "the lamp", "")

MINI = EmbedderIdentity("mini", "w1", "t1", 4, "mean", "", "", 256)
MINI_RETRAINED = evolve(MINI, weights="w2")
OTHER = EmbedderIdentity("other", "w9", "t9", 4, "mean", "", "doc: ", 64)
RUN = RunIdentity(MINI)


def wished(choices: Choices) -> Wishes:
    """The wishes of which just these choices come, whatever the store has."""
    labelling = choices.labelling
    return Wishes(choices.chunking, labelling.mirror_dir, labelling.mirror_basenames)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(text: str) -> str:
    return sha(text)[:32]


Content = tuple[str, ...]
GARBLED: Content = ("\xff\xfe",)
"""Bytes that a look can hash and that are no text."""
RETIRED, PRIVATE = "lifecycle: superseded", "rag: false"
"""Keys of a file; a content may begin with one."""
MARKS: tuple[Content, ...] = ((), (), (), (RETIRED,), (PRIVATE,))


def digest_of_file(content: Content) -> str:
    return sha(repr(content))


def document(path: str, content: Content, run: RunIdentity) -> Document:
    """A file cut into chunks of one paragraph, or of `budget` paragraphs where the run says so."""
    size, digest = run.chunking.budget or 1, digest_of_file(content)
    lifecycle = "superseded" if RETIRED in content else "current"
    content = tuple(part for part in content if part not in (RETIRED, PRIVATE))
    groups = ["\n".join(content[i : i + size]) for i in range(0, len(content), size)]
    chunks = tuple(
        Chunk(
            ordinal=n,
            key=key_of(text),
            text=text,
            start=n * 100,
            end=n * 100 + len(text),
            start_line=n * 2 + 1,
            end_line=n * 2 + 1,
            heading=None,
            heading_path=(),
            crumb="",
            tokens=len(text),
        )
        for n, text in enumerate(groups)
    )
    handoff = path.startswith(run.labelling.mirror_dir)
    return Document(path, digest, 1, None, "handoff" if handoff else "note", chunks, (), lifecycle)


@frozen
class StoredRow:
    """A row as the model stores it: content key, mark, whose vector it names, and what its repeats share with it."""

    key: str
    mark: int
    fingerprint: str
    same: Same

    @property
    def rid(self) -> tuple[str, str]:
        return self.fingerprint, self.key


@define
class Store:
    """A record and its index, as dictionaries."""

    root: str | None = None
    fingerprint: str | None = None
    generation: int = 0
    entries: dict[str, Entry] = field(factory=dict)
    rows: dict[str, tuple[StoredRow, ...]] = field(factory=dict)
    vectors: set[tuple[str, str]] = field(factory=set)
    keywords_sound: bool = True
    index: frozenset[tuple[str, str]] = frozenset()
    index_state: str = "sound"
    slots: int = 0
    repeats: dict[Place, Place] = field(factory=dict)
    told: Grouped = field(factory=Grouped)

    def copy(self) -> "Store":
        return evolve(self, entries=dict(self.entries), rows=dict(self.rows), vectors=set(self.vectors))

    def evidence(self) -> dict[str, RowsSeen]:
        seen = {p: RowsSeen(len(rows), sum(row.mark for row in rows)) for p, rows in self.rows.items() if rows}
        return dict.fromkeys(self.entries, NO_ROWS) | seen

    def grouped(self) -> Grouped:
        return self.told

    def passages(self, paths: Sequence[str]) -> dict[str, Sequence[Same]]:
        return {path: [row.same for row in self.rows.get(path, ())] for path in paths}

    def relate(self, repeats: Mapping[Place, Place], snapshots: Sequence[str], grouped: Grouped) -> int:
        before, self.repeats, self.told = len(self.repeats), dict(repeats), grouped
        return before

    def rids(self) -> frozenset[tuple[str, str]]:
        return frozenset(row.rid for rows in self.rows.values() for row in rows)

    def belief(self) -> Belief:
        rids = self.rids()
        folder = "gen-000001" if self.index and self.index_state != "unnamed" else None
        found = {"sound": "e", "foreign": "other"}.get(self.index_state) if folder else None
        return Belief(
            generation=self.generation,
            root=self.root,
            fingerprint=self.fingerprint,
            entries=dict(self.entries),
            rows={p: RowsSeen(len(rows), sum(row.mark for row in rows)) for p, rows in self.rows.items() if rows},
            vectorless=frozenset(
                path for path, rows in self.rows.items() if any(row.rid not in self.vectors for row in rows)
            ),
            keywords_sound=self.keywords_sound,
            grouped=self.told,
            index=IndexSeen(folder, "e" if folder else None, found, len(rids), len(self.index), self.slots),
        )


@define
class World:
    """Files as they are, what a look can see of them, the store, and the run that is to come."""

    files: dict[str, Content]
    run: RunIdentity = RUN
    store: Store = field(factory=Store)
    root: str = ROOT
    unreadable: set[str] = field(factory=set)
    gaps: set[str] = field(factory=set)
    excluded: set[str] = field(factory=set)
    """Files, or folders with "/" at the end."""

    def copy(self) -> "World":
        return World(
            dict(self.files),
            self.run,
            self.store.copy(),
            self.root,
            set(self.unreadable),
            set(self.gaps),
            set(self.excluded),
        )

    def hidden(self, path: str) -> bool:
        """True when a look learns nothing of the path's content."""
        return path in self.unreadable or any(path.startswith(f"{gap}/") for gap in self.gaps)

    def left_out(self, path: str) -> bool:
        return any(path == rule or (rule.endswith("/") and path.startswith(rule)) for rule in self.excluded)

    def visible(self) -> dict[str, Content]:
        """What a fresh rebuild would find."""
        return {p: c for p, c in self.files.items() if not self.hidden(p) and not self.left_out(p)}

    def private(self) -> set[str]:
        """The files that can be seen and ask to be left out."""
        return {path for path, content in self.visible().items() if PRIVATE in content}

    def look(self) -> Listing:
        seen = self.visible()
        return Listing(
            root=self.root,
            sightings=tuple(Sighting(p, digest_of_file(seen[p]), 1) for p in sorted(seen)),
            unreadables=tuple(Unreadable(p, "Permission denied") for p in sorted(self.unreadable)),
            excluded=tuple(Excluded(p, "by --exclude") for p in sorted(self.excluded)),
            gaps=tuple(Gap(p, "Permission denied") for p in sorted(self.gaps)),
        )

    def settled(self, *, full: bool = False) -> Settled:
        return settle(self.look(), self.store.belief(), self.run, full=full)

    def read(self, path: str) -> Prepared:
        if self.files[path] == GARBLED:
            return Unreadable(path, "it is not UTF-8")
        if PRIVATE in self.files[path]:
            return Excluded(path, PRIVATE)
        return document(path, self.files[path], self.run)

    def prepared(self, settled: Settled) -> Mapping[str, Prepared]:
        return {path: self.read(path) for path in plan_reads(settled)}

    def cached(self, settled: Settled, prepared: Mapping[str, Prepared], *, full: bool = False) -> Cached:
        asked = plan_rows(settled, self.run)
        rows = {path: tuple(row.key for row in self.store.rows.get(path, ())) for path in asked}
        mine = {key for fingerprint, key in self.store.vectors if fingerprint == self.run.embedder.fingerprint}
        return Cached(frozenset() if full else frozenset(mine), rows)

    def plan(self, limits: Limits = ANY, *, full: bool = False) -> Plan:
        settled = self.settled(full=full)
        prepared = self.prepared(settled)
        cached = self.cached(settled, prepared, full=full)
        plan = plan_ingest(self.look(), settled, self.run, prepared, cached, limits)
        if asked := inquiry(plan, settled.belief, self.run, prepared):
            return regrouped(plan, asked, settled.belief, self.store.passages(asked.stored), self.store.repeats)
        return plan

    def ingested(self, limits: Limits = ANY, *, texts: int = 2) -> "World":
        """The same world after its plan was carried out."""
        after = self.copy()
        carry_out(after, self.plan(limits), texts=texts)
        return after


def carry_out(world: World, plan: Plan, *, texts: int = 2) -> None:
    """What the shell does, over dictionaries: segment by segment, an index after each."""
    store, mine = world.store, world.run.embedder.fingerprint
    for number, segment in enumerate(segments(plan, texts)):
        store.vectors |= {(mine, key) for file in segment for key in embeds(file)}
        for file in segment:
            _rewrite(world, file)
        named = list(store.rows) if plan.switches_embedder else [f.path for f in segment]
        for path in named:
            store.rows[path] = tuple(evolve(row, fingerprint=mine) for row in store.rows.get(path, ()))
            assert all(row.rid in store.vectors for row in store.rows[path]), f"{path} has a row without its vector"
        store.rows = {path: rows for path, rows in store.rows.items() if rows}
        regroup(cast(Any, store), rule_of(plan.files, world.run))
        if number == 0 and plan.refill_keywords:
            store.keywords_sound = True
        store.generation += 1
        store.root, store.fingerprint = world.root, mine
    if not plan.quiet:
        if plan.rebuild is None and not any(not _stands(file) for file in plan.files):
            assert store.index == store.rids(), "an index that no reason rebuilds is not what the rows name"
        store.index, store.index_state, store.slots = store.rids(), "sound", 0
    store.rows = {path: rows for path, rows in store.rows.items() if rows}


def _stands(file: FilePlan) -> bool:
    return not isinstance(file.action, Write | Prune | Reembed) and not embeds(file)


def _rewrite(world: World, file: FilePlan) -> None:
    store, run = world.store, world.run
    match file.action:
        case Write():
            made = document(file.path, world.files[file.path], run)
            store.rows[file.path] = tuple(
                StoredRow(
                    c.key,
                    row_mark(file.path, c, made.doc_class, made.lifecycle),
                    run.embedder.fingerprint,
                    sameness(file.path, c, made.doc_class, made.lifecycle),
                )
                for c in made.chunks
            )
            store.entries[file.path] = entry_of(made, run)
        case Prune():
            store.rows.pop(file.path, None)
            store.entries.pop(file.path, None)
        case Hold() | Reembed():
            pass


contents = st.builds(
    lambda mark, said: (*mark, *said), st.sampled_from(MARKS), st.lists(st.sampled_from(PARAGRAPHS), max_size=4)
)
series = st.lists(contents, min_size=len(DATED), max_size=len(DATED)).map(
    lambda days: dict(zip(DATED, days, strict=True))
)
trees = st.builds(
    lambda plain, days: plain | days,
    st.dictionaries(st.sampled_from(PATHS), contents, min_size=1, max_size=6),
    st.just({}) | series,
)
runs = st.sampled_from(
    (
        RUN,
        RUN,
        evolve(RUN, chunking=Chunking(1)),
        evolve(RUN, chunking=Chunking(2)),
        evolve(RUN, labelling=Labelling("notes/")),
        evolve(RUN, dedupe_snapshots=False),
    )
)


@st.composite
def settled_worlds(draw: st.DrawFn) -> World:
    """A world whose store holds just what its files say."""
    return World(draw(trees), draw(runs)).ingested()


Damage = Callable[[World, Callable[[Any], Any]], None]
Choose = Callable[[Any], Any]


def _some_path(world: World, choose: Choose) -> Any:
    known = sorted(world.files.keys() | world.store.entries.keys())
    return choose(st.sampled_from(known)) if known else None


def lose_entry(world: World, choose: Choose) -> None:
    if world.store.entries:
        del world.store.entries[choose(st.sampled_from(sorted(world.store.entries)))]


def garble_entry(world: World, choose: Choose) -> None:
    if world.store.entries:
        path = choose(st.sampled_from(sorted(world.store.entries)))
        what = choose(st.sampled_from(("digest", "recipe", "labels")))
        world.store.entries[path] = evolve(world.store.entries[path], **{what: "garbage"})


def miscount_entry(world: World, choose: Choose) -> None:
    if world.store.entries:
        path = choose(st.sampled_from(sorted(world.store.entries)))
        entry = world.store.entries[path]
        world.store.entries[path] = evolve(entry, rows=RowsSeen(entry.rows.count, entry.rows.mark - 1))


def lose_row(world: World, choose: Choose) -> None:
    filled = sorted(path for path, rows in world.store.rows.items() if rows)
    if filled:
        path = choose(st.sampled_from(filled))
        rows = world.store.rows[path]
        at = choose(st.integers(0, len(rows) - 1))
        world.store.rows[path] = rows[:at] + rows[at + 1 :]


def lose_rows(world: World, choose: Choose) -> None:
    if world.store.rows:
        del world.store.rows[choose(st.sampled_from(sorted(world.store.rows)))]


def alter_row(world: World, choose: Choose) -> None:
    filled = sorted(path for path, rows in world.store.rows.items() if rows)
    if filled:
        path = choose(st.sampled_from(filled))
        first, *rest = world.store.rows[path]
        world.store.rows[path] = (evolve(first, mark=first.mark + 2), *rest)


def lose_vector(world: World, choose: Choose) -> None:
    if world.store.vectors:
        world.store.vectors.discard(choose(st.sampled_from(sorted(world.store.vectors))))


def lose_keywords(world: World, choose: Choose) -> None:
    world.store.keywords_sound = False


def lose_repeats(world: World, choose: Choose) -> None:
    store = world.store
    if store.repeats:
        lost = choose(st.sampled_from(sorted(store.repeats)))
        store.repeats = {place: first for place, first in store.repeats.items() if place != lost}
    store.told = evolve(store.told, sound=False)


def lose_index(world: World, choose: Choose) -> None:
    world.store.index_state = choose(st.sampled_from(("missing", "foreign", "unnamed")))


LOSSES: tuple[Damage, ...] = (lose_row, lose_rows, alter_row, lose_vector, lose_keywords, lose_repeats, lose_index)
"""Evidence taken away; what the files say stands."""
DISTRUST: tuple[Damage, ...] = (*LOSSES, lose_entry, garble_entry, miscount_entry)


def edit(world: World, choose: Choose) -> None:
    if path := _some_path(world, choose):
        world.files[path] = choose(contents)


def remark(world: World, choose: Choose) -> None:
    """A key comes or goes, and nothing else changes."""
    if (path := _some_path(world, choose)) in world.files:
        said = (part for part in world.files[path] if part not in (RETIRED, PRIVATE))
        world.files[path] = (*choose(st.sampled_from(MARKS)), *said)


def delete(world: World, choose: Choose) -> None:
    if path := _some_path(world, choose):
        world.files.pop(path, None)


def add(world: World, choose: Choose) -> None:
    world.files[choose(st.sampled_from(PATHS + DATED))] = choose(contents)


def rename(world: World, choose: Choose) -> None:
    path = _some_path(world, choose)
    free = sorted({*PATHS, *DATED} - world.files.keys())
    if path in world.files and free:
        world.files[choose(st.sampled_from(free))] = world.files.pop(path)


def blind_file(world: World, choose: Choose) -> None:
    if path := _some_path(world, choose):
        world.unreadable.add(path)


def garble_file(world: World, choose: Choose) -> None:
    if path := _some_path(world, choose):
        world.files[path] = GARBLED


def blind_folder(world: World, choose: Choose) -> None:
    world.gaps.add(choose(st.sampled_from(FOLDERS)))


def exclude(world: World, choose: Choose) -> None:
    world.excluded.add(choose(st.sampled_from([*PATHS, *(f"{folder}/" for folder in FOLDERS)])))


def change_embedder(world: World, choose: Choose) -> None:
    world.run = evolve(world.run, embedder=choose(st.sampled_from((MINI, MINI_RETRAINED, OTHER))))


def change_cutting(world: World, choose: Choose) -> None:
    how = choose(st.sampled_from(({"chunker_version": 99}, {"reader_version": 99}, {"chunking": Chunking(3)})))
    world.run = evolve(world.run, **how)


def change_labels(world: World, choose: Choose) -> None:
    how = choose(st.sampled_from(({"metadata_version": 99}, {"labelling": Labelling("notes/deep/")})))
    world.run = evolve(world.run, **how)


def change_dedupe(world: World, choose: Choose) -> None:
    world.run = evolve(world.run, dedupe_snapshots=choose(st.booleans()))


def move_corpus(world: World, choose: Choose) -> None:
    world.root = "/elsewhere"


EVENTS: tuple[Damage, ...] = (edit, remark, delete, add, rename, blind_file, garble_file, blind_folder, exclude)
SETTINGS: tuple[Damage, ...] = (change_embedder, change_cutting, change_labels, change_dedupe, move_corpus)
ALL: tuple[Damage, ...] = DISTRUST + EVENTS + SETTINGS


@st.composite
def damaged(draw: st.DrawFn, *kinds: Damage, most: int = 4) -> tuple[World, World]:
    """(a settled world, the same after one to `most` damages of these kinds; none named: any)."""
    before = draw(settled_worlds())
    after = before.copy()
    for _ in range(draw(st.integers(1, most))):
        draw(st.sampled_from(kinds or ALL))(after, draw)
    for gap in after.gaps:  # a file is either seen amiss, or out of sight
        after.unreadable = {path for path in after.unreadable if not path.startswith(f"{gap}/")}
    after.unreadable = {path for path in after.unreadable if path in after.files}
    return before, after


def entries_after(plan: Plan, belief: Belief, written: Mapping[str, Entry]) -> Mapping[str, Entry]:
    """The manifest that applying the whole plan leaves."""
    after = dict(belief.entries)
    for file in plan.files:
        match file.action:
            case Write():
                after[file.path] = written[file.path]
            case Prune():
                after.pop(file.path, None)
            case Reembed() | Keep() | Hold():
                pass
    return after
