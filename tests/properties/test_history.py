"""Whatever came before, one completed run leaves what a fresh rebuild would leave; and the next one nothing to do.

A real folder and the real record; an index of plain files; embedders that count. Edits, settings, losses, blind
spots and pulled plugs come in any order; `settle` is the run that must put everything right.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from attrs import evolve, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from properties.fakes import BlindSpots, Counting, FolderIndex, Plug, PulledPlug
from properties.worlds import wished
from returns.result import Success

from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.record.rows import unpacked
from rag_mcp.adapters.settings import Settings
from rag_mcp.adapters.wiring import Parts
from rag_mcp.effects import apply, embed, shelf
from rag_mcp.effects.snapshots import regroup_fault
from rag_mcp.index import ALL, Index
from rag_mcp.pure import tail
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.citations import Answer
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.decoding import decode
from rag_mcp.pure.identity import Choices, Chunking, Labelling, RunIdentity
from rag_mcp.pure.plans import Hold, embeds
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.summary import Report
from rag_mcp.pure.values import Chunk
from rag_mcp.pure.vectors import rid

PATHS = ("a.md", "b.md", "notes/a.md", "notes/b.md", "notes/deep/c.md", "context/handoff.md")
DATED = tuple(f"log/pump-2031-04-0{day}.md" for day in (1, 2, 3, 5))
FOLDERS = ("notes", "notes/deep", "context", "log")
POOL = (
    "The tide turns twice a day.",
    "The pump is serviced in spring.",
    "The keys are rotated on Mondays.",
    "The lamp burns all night.",
    "The harbour is dredged in autumn; " * 6,
    "The lamp burns all night long.",
)
HEADS = ("", "# Harbour\n\n", "---\ntitle: Pumps\n---\n", "---\ntype: handoff\n---\n# Over\n\n")
RETIRED = "---\nlifecycle: superseded\n---\n"
HIDING = ("---\nrag: false\n---\n", "---\ntitle: [\nrag: false\n---\n", "---\nlifecycle: superseded\nno end\n\n")
MARKS = ("", RETIRED, *HIDING)
UNDECODABLE = b"\xc3\x28 no text"
QUESTIONS = ("when are the keys rotated", "pump harbour", "lamp")

notes = st.builds(
    lambda head, parts: (head + "\n\n".join(f"## Part\n\n{p}" if cut else p for cut, p in parts)).encode(),
    st.sampled_from((*HEADS, *HEADS, *MARKS)),
    st.lists(st.tuples(st.booleans(), st.sampled_from(POOL)), max_size=5),
)
contents = st.one_of(notes, notes, notes, st.just(UNDECODABLE))
paths = st.sampled_from(PATHS + DATED)
days = st.lists(st.lists(st.sampled_from(POOL[:3]), max_size=3), min_size=len(DATED), max_size=len(DATED))


def daily(path: str, said: Sequence[str]) -> bytes:
    """A file of a series: its own date in its heading, and what was said, each under a heading of its own."""
    return "\n\n".join([f"# Day {path[-13:-3]}", *(f"## {part[:8]}\n\n{part}" for part in said)]).encode()


@frozen
class GivenParts(Parts):
    """Parts that make what they are told to make."""

    made: RunIdentity = field(kw_only=True)

    def run(self, own: Choices) -> RunIdentity:
        choices = self.wishes.over(own)
        return evolve(self.made, chunking=choices.chunking, labelling=choices.labelling)


@frozen
class Row:
    """A stored row as it can be compared between two stores."""

    chunk: Chunk
    doc_class: str
    lifecycle: str
    vector: str
    words: tuple[tuple[str, str, int], ...]


@frozen
class Stored:
    """All that a store holds, its numbers left out."""

    rows: dict[str, tuple[Row, ...]]
    entries: dict[str, tuple[Any, ...]]
    strays: int
    """Words in the keyword index that belong to no row."""
    repeats: dict[tuple[str, int], tuple[str, int]] = field(factory=dict)
    snapshots: frozenset[str] = frozenset()

    def without(self, held: set[str]) -> "Stored":
        return Stored(
            {path: rows for path, rows in self.rows.items() if path not in held},
            {path: entry for path, entry in self.entries.items() if path not in held},
            self.strays,
            {place: first for place, first in self.repeats.items() if place[0] not in held},
            self.snapshots - held,
        )


def shown(answer: Answer) -> list[tuple[str, Any, float]]:
    """What of an answer does not depend on which list was asked, and how deep."""
    return [(hit.text, hit.citation, hit.score) for hit in answer.results]


def connect(store: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(store / "record.sqlite3", isolation_level=None))


def stored(store: Path) -> Stored:
    """Read a record by plain SQL, so that it does not depend on the code under test."""
    rows: dict[str, list[Row]] = {}
    with connect(store) as db:
        db.row_factory = sqlite3.Row
        db.execute("create virtual table temp.words using fts5vocab('main', 'keywords', 'instance')")
        words: dict[int, list[tuple[str, str, int]]] = {}
        for term, doc, column, offset in db.execute("select term, doc, col, offset from temp.words"):
            words.setdefault(doc, []).append((column, term, offset))
        query = "select rows.*, vector from rows left join vectors on vectors.rid = rows.rid order by path, ordinal"
        for row in db.execute(query):
            heading_path = tuple(json.loads(row["heading_path"]))
            heading = heading_path[-1] if heading_path else None
            place = (row["start"], row["end"], row["start_line"], row["end_line"], heading, heading_path, row["crumb"])
            chunk = Chunk(row["ordinal"], row["key"].hex(), unpacked(row["text"]), *place, tokens=0)
            vector = row["vector"].hex() if row["vector"] else ""
            told = tuple(sorted(words.pop(row["id"], [])))
            rows.setdefault(row["path"], []).append(Row(chunk, row["doc_class"], row["lifecycle"], vector, told))
        entries = {row["path"]: tuple(row) for row in db.execute("select * from files")}
        repeats = {(row[0], row[1]): (row[2], row[3]) for row in db.execute("select * from repeats")}
        snapshots = frozenset(path for (path,) in db.execute("select path from snapshots"))
    made = {path: tuple(found) for path, found in rows.items()}
    return Stored(made, entries, len(words), repeats, snapshots)


def fingerprint(store: Path) -> dict[str, str]:
    """Every file of the store and a hash of its bytes."""
    files = (path for path in sorted(store.rglob("*")) if path.is_file())
    return {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class History(RuleBasedStateMachine):
    """One corpus, one store, and what may happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.tmp = Path(tempfile.mkdtemp(prefix="history-"))
        self.root, self.store = self.tmp / "corpus", self.tmp / "store"
        self.root.mkdir()
        self.embedders = {name: Counting(name) for name in ("hash-a", "hash-b")}
        self.embedder = "hash-a"
        self.run_settings: dict[str, Any] = {}
        self.excludes: frozenset[str] = frozenset()
        self.blind_files: frozenset[str] = frozenset()
        self.blind_folders: frozenset[str] = frozenset()
        self.undone: list[tuple[str, bytes | None]] = []
        self.older: Path | None = None
        self.damaged = False
        self.copies = 0

    # What the parts are made of

    def parts(self, store: Path, plug: Plug | None = None, *, counting: bool = True) -> GivenParts:
        embedder = self.embedders[self.embedder] if counting else Counting(self.embedder)
        embedder.plug = plug or (lambda name: None)
        run = RunIdentity(embedder.identity, **self.run_settings)
        corpus: Any = BlindSpots(self.root, tuple(sorted(self.excludes)), self.blind_files, self.blind_folders)
        return GivenParts(
            settings=Settings(store=store, corpus=self.root),
            corpus=corpus,
            embedder=embedder,
            index=FolderIndex(store / "index"),
            wishes=wished(run.choices),
            checkpoint=plug or (lambda name: None),
            made=run,
        )

    @contextmanager
    def opened(self, plug: Plug | None = None, store: Path | None = None) -> Iterator[Index]:
        with Index(self.parts(store or self.store, plug, counting=store is None)) as index:
            yield index

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*.md"))

    def put(self, path: str, data: bytes | None) -> None:
        place = self.root / path
        self.undone.append((path, place.read_bytes() if place.exists() else None))
        if data is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def teardown(self) -> None:
        try:
            self.settle()
        finally:
            shutil.rmtree(self.tmp)

    # What people do

    @initialize(first=st.dictionaries(paths, notes, min_size=1, max_size=5))
    def a_settled_world(self, first: dict[str, bytes]) -> None:
        for path, data in first.items():
            self.put(path, data)
        self.settle()

    @rule(path=paths, data=contents)
    def write(self, path: str, data: bytes) -> None:
        self.put(path, data)

    @rule(said=days)
    def write_a_series(self, said: list[list[str]]) -> None:
        for path, parts in zip(DATED, said, strict=True):
            self.put(path, daily(path, parts))

    @rule(data=st.data(), part=st.sampled_from(POOL), at=st.integers(0, 4))
    def edit(self, data: st.DataObject, part: str, at: int) -> None:
        if files := self.files():
            path = data.draw(st.sampled_from(files))
            parts = (self.root / path).read_bytes().split(b"\n\n")
            parts[at % len(parts)] = part.encode()
            self.put(path, b"\n\n".join(parts))

    @rule(data=st.data(), line=st.sampled_from(POOL), first=st.booleans())
    def add_line(self, data: st.DataObject, line: str, first: bool) -> None:
        if files := self.files():
            path = data.draw(st.sampled_from(files))
            old = (self.root / path).read_bytes()
            self.put(path, line.encode() + b"\n" + old if first else old + b"\n" + line.encode())

    @rule(path=paths, mark=st.sampled_from(MARKS))
    def mark(self, path: str, mark: str) -> None:
        """Nothing but the keys at the top of a file changes."""
        place = self.root / path
        if place.exists():
            old = place.read_bytes()
            bare = next((old[len(head) :] for each in MARKS if each and old.startswith(head := each.encode())), old)
            self.put(path, mark.encode() + bare)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if files := self.files():
            self.put(data.draw(st.sampled_from(files)), None)

    @rule(data=st.data(), to=paths, keep=st.booleans())
    def rename_or_copy(self, data: st.DataObject, to: str, keep: bool) -> None:
        if files := self.files():
            path = data.draw(st.sampled_from(files))
            old = (self.root / path).read_bytes()
            self.put(to, old)
            if not keep and path != to:
                self.put(path, None)

    @rule(folder=st.sampled_from(FOLDERS), to=st.sampled_from(("moved", "notes/under", "context")))
    def move_folder(self, folder: str, to: str) -> None:
        source, target = self.root / folder, self.root / to
        if source.is_dir() and not target.exists() and not to.startswith(folder):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        if files := self.files():
            os.utime(self.root / data.draw(st.sampled_from(files)))

    @precondition(lambda self: self.undone)
    @rule()
    def undo(self) -> None:
        path, data = self.undone.pop()
        self.put(path, data)
        self.undone.pop()

    @rule()
    def move_corpus(self) -> None:
        target = self.tmp / ("corpus" if self.root.name == "elsewhere" else "elsewhere")
        self.root.rename(target)
        self.root = target

    # What settings become

    @rule(mirror=st.sampled_from(("context/", "notes/")), version=st.sampled_from((1, 2)))
    def relabel(self, mirror: str, version: int) -> None:
        self.run_settings |= {"labelling": Labelling(mirror, ("handoff.md", "a.md")), "metadata_version": version}

    @rule(budget=st.sampled_from((None, 24)), version=st.sampled_from((1, 2)))
    def recut(self, budget: int | None, version: int) -> None:
        self.run_settings |= {"chunking": Chunking(budget), "chunker_version": version}

    @rule(on=st.booleans())
    def dedupe(self, on: bool) -> None:
        self.run_settings |= {"dedupe_snapshots": on}

    @rule(name=st.sampled_from(("hash-a", "hash-b")))
    def change_embedder(self, name: str) -> None:
        self.embedder = name

    @rule(what=st.sampled_from(("notes/", "a.md", "*/b.md")))
    def exclude_or_include(self, what: str) -> None:
        self.excludes ^= {what}

    @rule(path=paths)
    def blind_or_show_file(self, path: str) -> None:
        self.blind_files ^= {path}

    @rule(folder=st.sampled_from(FOLDERS))
    def blind_or_show_folder(self, folder: str) -> None:
        self.blind_folders ^= {folder}

    # What disks do

    def has_record(self) -> bool:
        return (self.store / "record.sqlite3").exists() and not self.broken()

    def broken(self) -> bool:
        """True when the record cannot be read, so that nothing can be planned before it was set aside."""
        try:
            if (self.store / "record.sqlite3").exists():
                stored(self.store)
        except sqlite3.DatabaseError:
            return True
        return False

    @precondition(has_record)
    @rule(
        how=st.sampled_from(
            ("row", "file", "vector", "content", "entry", "digest", "mark", "repeat", "told", "a few of all")
        ),
        at=st.integers(0, 9),
    )
    def lose_from_the_record(self, how: str, at: int) -> None:
        one = f"limit 1 offset {at}"
        with connect(self.store) as db:
            if how in ("row", "a few of all"):
                db.execute(f"delete from rows where id in (select id from rows order by path, ordinal {one})")
            if how in ("file", "a few of all"):
                db.execute(f"delete from rows where path in (select distinct path from rows {one})")
            if how in ("vector", "a few of all"):
                db.execute(f"delete from vectors where id in (select id from vectors order by rid {one})")
            if how == "content":
                db.execute(f"delete from contents where key in (select key from contents order by key {one})")
            if how in ("entry", "a few of all"):
                db.execute(f"delete from files where path in (select path from files order by path {one})")
            if how in ("repeat", "a few of all"):
                db.execute(f"delete from repeats where path in (select path from repeats order by path {one})")
            if how == "told":
                db.execute("delete from grouped")
            if how == "mark":
                db.execute(f"update rows set mark = mark + 1 where id in (select id from rows order by id {one})")
            if how == "digest":
                db.execute(f"update files set digest = 'x' where path in (select path from files order by path {one})")
        self.lossy()

    def lose_vectors(self) -> None:
        with connect(self.store) as db:
            db.execute("delete from vectors where id > 2")
        self.lossy()

    @precondition(has_record)
    @rule(every=st.booleans(), at=st.integers(0, 9))
    def lose_keywords(self, every: bool, at: int) -> None:
        with connect(self.store) as db:
            if every:
                db.execute("insert into keywords(keywords) values ('delete-all')")
            else:
                row = db.execute(
                    "select r.id, coalesce(f.title, ''), r.heading_path, r.text from rows r join files f on f.path ="
                    " r.path where r.id in (select id from keywords_docsize) order by r.id limit 1 offset ?",
                    [at],
                ).fetchone()
                if row:
                    told = (row[0], row[1], " ".join(json.loads(row[2])), unpacked(row[3]))
                    sql = "insert into keywords(keywords, rowid, title, headings, body) values ('delete', ?, ?, ?, ?)"
                    db.execute(sql, told)
        self.damaged = True

    @rule(how=st.sampled_from(("tree", "files", "other")))
    def lose_the_index(self, how: str) -> None:
        for place in (self.store / "index").glob("gen-*/vectors.json"):
            if how == "files":
                place.unlink()
            if how == "other":
                place.write_text("{}")
        if how == "tree":
            shutil.rmtree(self.store / "index", ignore_errors=True)
        self.damaged = True

    @rule()
    def keep_a_copy_of_the_store(self) -> None:
        if self.older:
            shutil.rmtree(self.older)
        self.copies += 1
        self.older = self.tmp / f"copy-{self.copies}"
        shutil.copytree(self.store, self.older)
        self.older_damaged = self.damaged

    @precondition(lambda self: self.older)
    @rule()
    def roll_the_store_back(self) -> None:
        shutil.rmtree(self.store)
        shutil.copytree(self.older or self.store, self.store)
        self.lossy()
        self.damaged = self.older_damaged

    @precondition(has_record)
    @rule(how=st.sampled_from(("delete", "empty", "halve", "scribble")))
    def break_the_record(self, how: str) -> None:
        place = self.store / "record.sqlite3"
        if how == "delete":
            for end in ("", "-wal", "-shm"):
                (self.store / f"record.sqlite3{end}").unlink(missing_ok=True)
        else:
            data = place.read_bytes()
            place.write_bytes({"empty": b"", "halve": data[: len(data) // 2], "scribble": b"scribble" * 9}[how])
        self.lossy()

    def lossy(self) -> None:
        self.damaged = True
        for embedder in self.embedders.values():
            embedder.texts.clear()

    # What runs do

    @rule(at=st.integers(1, 25))
    def crash(self, at: int) -> None:
        self.crash_at(at)

    @rule(first=st.integers(1, 25), second=st.integers(1, 25))
    def crash_twice(self, first: int, second: int) -> None:
        self.crash_at(first)
        self.crash_at(second)

    @rule(data=st.data(), at=st.integers(1, 25), part=contents)
    def edit_crash_undo(self, data: st.DataObject, at: int, part: bytes) -> None:
        if files := self.files():
            self.put(data.draw(st.sampled_from(files)), part)
            self.crash_at(at)
            self.undo()

    @precondition(lambda self: not self.broken())
    @rule(data=st.data(), then=contents, now=contents)
    def write_while_it_is_read_and_undo(self, data: st.DataObject, then: bytes, now: bytes) -> None:
        path = data.draw(paths)
        self.put(path, then)
        self.ingest_while(lambda: (self.root / path).write_bytes(now))
        (self.root / path).write_bytes(then)

    def ingest_while(self, then: Callable[[], object]) -> None:
        """A completed run; `then` happens between its look and its first reading."""
        parts = self.parts(self.store)
        corpus: Any = parts.corpus
        corpus.before_reading = then
        with Index(parts) as index:
            index.ingest(allow_prune=ALL)

    def crash_at(self, at: int) -> None:
        plug = Plug(at)
        try:
            with self.opened(plug) as index:
                index.ingest(allow_prune=ALL)
            self.damaged = False
        except PulledPlug:
            pass
        if not self.damaged and (self.store / "record.sqlite3").exists():
            self.every_reader_finds_a_whole_generation()

    def every_reader_finds_a_whole_generation(self) -> None:
        with connect(self.store) as db:
            pointer = db.execute("select folder, evidence, tail from pointer").fetchone()
            vectors = {r.hex(): v for r, v in db.execute("select rid, vector from vectors")}
            names = [r and r.hex() for (r,) in db.execute("select rid from rows")]
        assert all(name in vectors for name in names), "a row has no vector"
        if pointer and pointer[0]:
            index = FolderIndex(self.store / "index")
            assert index.evidence(pointer[0]) == pointer[1]
            came, went = (set(part) for part in json.loads(pointer[2])[:2])
            content = index.content(pointer[0])
            assert came <= set(names) and not went & set(names)
            assert content.keys() == set(names) - came | went, "the generation and its tail are not what rows name"
            assert all(vectors[name].hex() == value for name, value in content.items() if name in vectors)
        else:
            assert not names
        with SqliteReader(self.store).snapshot() as snapshot:
            assert regroup_fault(snapshot) is None

    @precondition(lambda self: not self.broken())
    @rule()
    def do_it_all_again(self) -> None:
        for embedder in self.embedders.values():
            embedder.texts.clear()
        with self.opened() as index:
            index.ingest(full=True, allow_prune=ALL)
            again = index.ingest(allow_prune=ALL)
        assert again.texts_embedded == 0
        for embedder in self.embedders.values():
            embedder.texts.clear()
        self.damaged = False

    @rule()
    def settle(self) -> None:
        before = stored(self.store) if self.has_record() else Stored({}, {}, 0)
        report, held = self.completed_run()
        self.damaged = False
        if not (self.store / "record.sqlite3").exists():
            return
        after = stored(self.store)
        self.it_is_what_a_rebuild_leaves(after, held)
        self.what_is_held_is_as_it_was(before, after, held)
        self.keys_are_obeyed(after, held)
        self.every_reader_finds_a_whole_generation()
        self.nothing_was_embedded_twice()
        self.another_run_is_quiet(report)

    def completed_run(self) -> tuple[Report, set[str]]:
        with self.opened() as index:
            if self.broken():
                return index.ingest(allow_prune=ALL), set()
            plan = index.plan(allow_prune=ALL)
            held = {file.path for file in plan.files if isinstance(file.action, Hold)}
            report = index.apply(plan, allow_prune=ALL)
        embedded = sum(len(embeds(file)) for file in plan.files)
        assert report.texts_embedded == embedded, "the plan that was shown is not the plan that was applied"
        return report, held

    def it_is_what_a_rebuild_leaves(self, after: Stored, held: set[str]) -> None:
        fresh = self.tmp / "fresh"
        try:
            with self.opened(store=fresh) as index:
                index.ingest(allow_prune=ALL)
                expected = stored(fresh)
                assert after.without(held) == expected
                assert not after.strays
                if not held & after.entries.keys() and after.rows:  # what is held is told of, by an empty file too
                    self.both_answer_alike(index)
        finally:
            shutil.rmtree(fresh)

    def both_answer_alike(self, fresh: Index) -> None:
        asking = SearchPolicy(exact_up_to=0, depth=1, depth_max=4)
        deep = Index(self.parts(self.store), SearchPolicy(exact_up_to=0))
        with self.opened() as index, Index(self.parts(self.store), asking) as other, deep:
            for question in QUESTIONS:
                answer = fresh.search(question, 3)
                assert index.search(question, 3) == answer
                assert shown(deep.search(question, 3)) == shown(answer), "what came is found, what went is not"
                assert all(hit.lifecycle == "current" for hit in answer.results)
                assert index.search(question, 3, retired=True) == fresh.search(question, 3, retired=True)
                assert len(other.search(question, 3).results) == len(answer.results)

    def what_is_held_is_as_it_was(self, before: Stored, after: Stored, held: set[str]) -> None:
        corpus = BlindSpots(self.root, (), self.blind_files, self.blind_folders)
        embedder = self.embedders[self.embedder]
        there = {s.path for s in CorpusFolder(str(self.root), tuple(sorted(self.excludes))).look().sightings}
        for path in there & (before.rows.keys() | before.entries.keys()) - held:
            assert not corpus.blind(path), f"{path} could not be seen and was not held"
        for path in held:
            readable = self.root / path
            text = decode(path, readable.read_bytes()).value_or(None) if readable.is_file() else None
            assert corpus.blind(path) or text is None, f"{path} was held for nothing"
            was, now = before.rows.get(path, ()), after.rows.get(path, ())
            assert [(row.chunk, row.doc_class) for row in now] == [(row.chunk, row.doc_class) for row in was]
            assert after.entries.get(path) == before.entries.get(path)
            for row in now:
                assert row.vector == embedder.embed_query(embedded_text(row.chunk, own_date(path))).hex()
                assert row.words or not row.chunk.text.strip("#- \n")

    def keys_are_obeyed(self, after: Stored, held: set[str]) -> None:
        for path in self.files():
            data = (self.root / path).read_bytes()
            if data.startswith(tuple(head.encode() for head in HIDING)) and path not in held:
                assert path not in after.rows and path not in after.entries
            if data.startswith(RETIRED.encode()) and path not in held:
                assert {row.lifecycle for row in after.rows.get(path, ())} <= {"superseded"}

    def nothing_was_embedded_twice(self) -> None:
        for embedder in self.embedders.values():
            assert [text for text, times in embedder.texts.items() if times > 1] == []

    def another_run_is_quiet(self, report: Report) -> None:
        print_before = fingerprint(self.store)
        with self.opened() as index:
            assert index.plan().quiet
            again = index.ingest()
        assert again.texts_embedded == 0
        assert again.generation == report.generation
        assert fingerprint(self.store) == print_before


@pytest.fixture(autouse=True)
def small_steps() -> Iterator[None]:
    """Batches and segments of a few texts, so that a plug can be pulled between them; tails of a few
    vectors; few documents wait in memory.

    Nobody asks for the proof that an embedder is the one of the store: it embeds a stored text again, and is counted.
    """
    unproved = mock.patch.object(apply, "_proof", lambda *_: Success(None))
    tails = mock.patch.multiple(tail, CAME_AT_MOST=3, WENT_AT_MOST=2)
    few = mock.patch.object(shelf, "NEAR", 100)
    with mock.patch.object(apply, "SEGMENT_TEXTS", 3), mock.patch.object(embed, "BATCH", 2), unproved, tails, few:
        yield


A, B = "a.md", "notes/b.md"
TITLED = b"---\ntitle: Pumps\n---\nThe pump is serviced in spring.\n"
SHARED = b"The keys are rotated on Mondays.\n"
LONG = b"\n\n".join(b"## Part %d\n\nThe lamp burns all night, on pier %d." % (n, n) for n in range(9))


def crashes_everywhere(history: History, before: Callable[[], None], after: Callable[[], None]) -> None:
    """Pull the plug at the first effect, at the second, and so on, the same change made and undone each time."""
    for at in range(1, 30):
        before()
        history.crash_at(at)
        after()
        history.settle()


SAME = (POOL[:2], POOL[:2], POOL[:3], POOL[:2])


def write_days(history: History, *said: Sequence[str]) -> None:
    """The first files of the series, by what each says."""
    for path, parts in zip(DATED, said, strict=False):
        history.put(path, daily(path, parts))


def a_series_that_changes_while_runs_die(history: History) -> None:
    """Each time every day says something new, in more texts than one segment takes."""
    write_days(history, *SAME)
    history.settle()
    for at in range(1, 30):
        for path in DATED:
            history.put(path, daily(path, [f"Round {at}.", f"Round {at} of {path}.", f"Turn {at} of {path}."]))
        history.crash_at(at)
    history.settle()


STORIES: dict[str, Callable[[History], object]] = {
    "a row's mark is altered": lambda h: h.lose_from_the_record(how="mark", at=0),
    "a row is lost": lambda h: h.lose_from_the_record(how="row", at=1),
    "the rows of a file are lost": lambda h: h.lose_from_the_record(how="file", at=0),
    "a row and its file are lost": lambda h: (h.lose_from_the_record(how="file", at=0), h.put(A, None)),
    "a vector is lost": lambda h: h.lose_from_the_record(how="vector", at=0),
    "a vector is lost and its file cannot be read": lambda h: (
        h.lose_from_the_record(how="vector", at=0),
        h.lose_from_the_record(how="vector", at=0),
        h.blind_or_show_file(path=A),
        h.blind_or_show_folder(folder="notes"),
    ),
    "many vectors are lost": lambda h: (h.put("long.md", LONG), h.settle(), h.lose_vectors(), h.put(A, SHARED)),
    "an entry is lost, and its title": lambda h: h.lose_from_the_record(how="entry", at=0),
    "an entry is lost and its file cannot be seen": lambda h: (
        h.lose_from_the_record(how="entry", at=1),
        h.blind_or_show_folder(folder="notes"),
    ),
    "an entry is garbled": lambda h: h.lose_from_the_record(how="digest", at=0),
    "all keywords are lost and a file changes": lambda h: (h.lose_keywords(every=True, at=0), h.put(A, LONG)),
    "a row's keywords are lost and its file goes": lambda h: (h.lose_keywords(every=False, at=0), h.put(A, None)),
    "the index is lost": lambda h: h.lose_the_index(how="tree"),
    "the index is another": lambda h: h.lose_the_index(how="other"),
    "the index is another and a file changes": lambda h: (h.lose_the_index(how="other"), h.put(A, LONG)),
    "the record is scribbled over, a run dies, a file is unreadable": lambda h: (
        h.break_the_record(how="scribble"),
        h.crash_at(19),
        h.put(A, UNDECODABLE),
    ),
    "the record is halved": lambda h: h.break_the_record(how="halve"),
    "the record is emptied": lambda h: h.break_the_record(how="empty"),
    "the record is deleted": lambda h: h.break_the_record(how="delete"),
    "the store becomes an older copy": lambda h: (
        h.keep_a_copy_of_the_store(),
        h.put(A, LONG),
        h.put(B, None),
        h.settle(),
        h.roll_the_store_back(),
    ),
    "a file becomes unreadable": lambda h: h.blind_or_show_file(path=A),
    "a folder becomes unreadable": lambda h: h.blind_or_show_folder(folder="notes"),
    "a file becomes undecodable": lambda h: h.put(A, UNDECODABLE),
    "a folder is excluded": lambda h: h.exclude_or_include(what="notes/"),
    "files share a text and one changes": lambda h: (h.put(A, SHARED), h.put(B, SHARED), h.settle(), h.put(A, LONG)),
    "files share a text and one goes": lambda h: (h.put(A, SHARED), h.put(B, SHARED), h.settle(), h.put(A, None)),
    "labels change": lambda h: (h.put("notes/a.md", SHARED), h.settle(), h.relabel(mirror="notes/", version=99)),
    "the chunker changes": lambda h: h.recut(budget=24, version=2),
    "the embedder changes": lambda h: (h.put("long.md", LONG), h.settle(), h.change_embedder(name="hash-b")),
    "the embedder changes while files cannot be read": lambda h: (
        h.put("long.md", LONG),
        h.settle(),
        h.change_embedder(name="hash-b"),
        h.blind_or_show_file(path="long.md"),
    ),
    "the embedder changes and back": lambda h: (
        h.change_embedder(name="hash-b"),
        h.settle(),
        h.put(A, LONG),
        h.settle(),
        h.change_embedder(name="hash-a"),
    ),
    "the embedder changes and back while a file cannot be read": lambda h: (
        h.change_embedder(name="hash-b"),
        h.settle(),
        h.change_embedder(name="hash-a"),
        h.blind_or_show_file(path=A),
    ),
    "the embedder changes and every run dies": lambda h: crashes_everywhere(
        h, lambda: h.change_embedder(name="hash-b"), lambda: h.change_embedder(name="hash-a")
    ),
    "edit, crash, undo": lambda h: crashes_everywhere(h, lambda: h.put(A, LONG), lambda: h.undo()),
    "edit, crash, go on": lambda h: crashes_everywhere(
        h, lambda: h.put(A, SHARED if (h.root / A).read_bytes() == TITLED else TITLED), lambda: None
    ),
    "a file comes in a run that dies, and goes": lambda h: crashes_everywhere(
        h, lambda: h.put("new.md", LONG), lambda: h.put("new.md", None)
    ),
    "delete, crash, undo": lambda h: crashes_everywhere(h, lambda: h.put(B, None), lambda: h.undo()),
    "a first run that dies": lambda h: crashes_everywhere(
        h, lambda: (h.break_the_record(how="delete"), h.put("long.md", LONG)), lambda: h.put("long.md", None)
    ),
    "a file changes while it is read, and back": lambda h: (
        h.put(A, LONG),
        h.ingest_while(lambda: (h.root / A).write_bytes(SHARED)),
        h.put(A, LONG),
    ),
    "a file is retired, taken back and left out, and every run dies": lambda h: (
        crashes_everywhere(h, lambda: h.mark(path=A, mark=RETIRED), lambda: h.mark(path=A, mark="")),
        crashes_everywhere(h, lambda: h.mark(path=B, mark=HIDING[1]), lambda: h.undo()),
    ),
    "a day in the middle of a series is retired, and back": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.mark(path=DATED[1], mark=RETIRED),
        h.settle(),
        h.mark(path=DATED[1], mark=""),
    ),
    "a day of a series is left out": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.mark(path=DATED[0], mark=HIDING[0]),
    ),
    "a series is written and a day more": lambda h: (
        write_days(h, *SAME[:3]),
        h.settle(),
        h.put(DATED[3], daily(DATED[3], POOL[:2])),
    ),
    "a day in the middle of a series changes, and back": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.put(DATED[1], daily(DATED[1], POOL[1:2])),
        h.settle(),
        h.undo(),
    ),
    "a day in the middle of a series cannot be read, and can": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.blind_or_show_file(path=DATED[1]),
        h.settle(),
        h.blind_or_show_file(path=DATED[1]),
    ),
    "a day that was never read breaks a series": lambda h: (
        h.blind_or_show_file(path=DATED[1]),
        write_days(h, *SAME),
        h.settle(),
        h.put(DATED[1], None),
    ),
    "a series becomes too short": lambda h: (
        write_days(h, *SAME[:3]),
        h.settle(),
        h.put(DATED[0], None),
    ),
    "a series cannot be seen": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.blind_or_show_folder(folder="log"),
    ),
    "dedupe is turned off and on": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.dedupe(on=False),
        h.settle(),
        h.dedupe(on=True),
    ),
    "dedupe is turned off and every run dies": lambda h: (
        write_days(h, *SAME),
        crashes_everywhere(h, lambda: h.dedupe(on=False), lambda: h.dedupe(on=True)),
    ),
    "what repeats what is lost": lambda h: (
        write_days(h, *SAME),
        h.settle(),
        h.lose_from_the_record(how="repeat", at=0),
        h.settle(),
        h.lose_from_the_record(how="told", at=0),
    ),
    "a series is written in steps that die": lambda h: crashes_everywhere(
        h, lambda: write_days(h, *SAME), lambda: h.put(DATED[0], None)
    ),
    "a series changes in steps that die": a_series_that_changes_while_runs_die,
    "the corpus moves": lambda h: h.move_corpus(),
    "all is done again": lambda h: h.do_it_all_again(),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_a_clean_run_leaves_what_a_rebuild_would_when(story: Callable[[History], object]) -> None:
    history = History()
    try:
        for path, data in ((A, TITLED), (B, LONG), ("notes/deep/c.md", TITLED + b"\n" + SHARED)):
            history.put(path, data)
        history.settle()
        story(history)
    finally:
        history.teardown()


SIZE = settings(max_examples=settings.default.max_examples * 3 // 5, stateful_step_count=30)


@pytest.mark.slow
def test_a_clean_run_leaves_what_a_rebuild_would_whatever_came_before() -> None:
    run_state_machine_as_test(History, settings=SIZE)


def test_the_names_of_vectors_tell_embedders_apart() -> None:
    a, b = Counting("hash-a"), Counting("hash-b")
    assert a.identity.fingerprint != b.identity.fingerprint
    vector = a.embed_query("x")
    assert rid(a.identity.fingerprint, vector) != rid(b.identity.fingerprint, vector)
    assert a.identity == evolve(b.identity, name="hash-a", weights="hash-a")
