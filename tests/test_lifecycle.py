"""Documents that were retired, and those that asked to be left out: in real stores, by every way of asking."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from storecheck import contents, ingest, parts

from rag_mcp import Index
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.record.rows import unpacked
from rag_mcp.index import ALL
from rag_mcp.pure.check_render import stats_lines
from rag_mcp.pure.fusion import MODES
from rag_mcp.pure.plans import Reason
from rag_mcp.pure.render import plan_lines
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.values import Lack
from rag_mcp.pure.view import View
from rag_mcp.search import search_knowledge

ROOT = Path(__file__).parent.parent
QUESTION = "when is the harbour pump serviced"
RETIRED, PRIVATE = "---\nlifecycle: superseded\n---\n\n", "---\nrag: false\n---\n\n"
SCAN, ASK = SearchPolicy(), SearchPolicy(exact_up_to=0, depth=3, depth_max=1_000)


def old(n: int) -> str:
    return f"# Harbour pump\n\nWhen is the harbour pump serviced: the harbour pump is serviced in week {n}.\n"


def live(n: int) -> str:
    return f"# Crane {n}\n\nThe pump of crane {n} stands below the mast, beside the winch, and has a green lamp.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    for n in range(10):
        (notes / f"old-{n}.md").write_text(RETIRED + old(n))
    for n in range(3):
        (notes / f"crane-{n}.md").write_text(live(n))
    return tmp_path


def opened(home: Path, policy: SearchPolicy = SCAN) -> Index:
    return Index(parts(home / "notes", home / "store"), policy)


def run(home: Path) -> Any:
    return ingest(home / "notes", home / "store")


def sources(index: Index, k: int = 3, **asked: Any) -> list[str]:
    return [hit.citation.source for hit in index.search(QUESTION, k, **asked).results]


def mark(home: Path, name: str, head: str) -> None:
    """Put these keys, and no others, in front of a file."""
    path = home / "notes" / name
    text = path.read_text()
    path.write_text(head + text.removeprefix(RETIRED).removeprefix(PRIVATE))


# What is retired takes no place


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", [SCAN, ASK], ids=["scan", "index"])
def test_ten_retired_documents_that_match_better_take_no_place_of_three_that_hold(
    home: Path, mode: str, policy: SearchPolicy
) -> None:
    run(home)
    with opened(home, policy) as index:
        assert {name[:3] for name in sources(index, mode=mode, retired=True)} == {"old"}
        assert sorted(sources(index, mode=mode)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
        assert sorted(sources(index, 20, mode=mode)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
        assert index.search(QUESTION, 3, mode=mode).degraded is None


def test_every_list_is_filtered_before_it_is_cut(home: Path) -> None:
    run(home)
    with SqliteReader(home / "store").snapshot() as snapshot:
        for view, names in ((View(), {"crane"}), (View(retired=True), {"crane", "old"})):
            passing = snapshot.passing_rids(view)
            assert {row.source[: row.source.index("-")] for row in snapshot.rows(passing, view)} == names
        assert len(snapshot.passing_rids(View())) == 3
        found = snapshot.keywords(["pump"], 3, View(), 2_000)
        assert set(found) == set(snapshot.passing_rids(View()))


def test_retired_documents_do_not_make_a_word_too_common_to_be_looked_for(home: Path) -> None:
    run(home)
    with opened(home, SearchPolicy(common=3)) as index:
        assert len(sources(index, mode="keyword")) == 3


def test_hits_say_that_they_are_retired_and_only_then(home: Path) -> None:
    run(home)
    with opened(home) as index:
        answer = index.search(QUESTION, 20, retired=True)
        assert {(h.citation.source[:3], h.lifecycle) for h in answer.results} == {
            ("old", "superseded"),
            ("cra", "current"),
        }
    shape = json.loads(rag(home, "query", QUESTION, "-k", "20", "--retired", "--json"))
    assert {hit.get("lifecycle") for hit in shape["results"]} == {"superseded", None}
    assert "[superseded]" in rag(home, "query", QUESTION, "--retired")
    plain = rag(home, "query", QUESTION)
    assert "[superseded]" not in plain and "not searchable: 10 superseded" in plain
    assert not any(
        "lifecycle" in hit
        for hit in search_knowledge(QUESTION, store=home / "store", corpus_root=home / "notes")["results"]
    )


def test_a_retired_copy_hides_no_current_one_and_is_cited_after_it(home: Path) -> None:
    (home / "notes" / "a-copy.md").write_text(RETIRED + live(1))
    run(home)
    with opened(home) as index:
        assert "crane-1.md" in sources(index)
        hits = index.search(QUESTION, 20, retired=True).results
        (hit,) = (hit for hit in hits if "crane 1" in hit.text)
        assert (hit.citation.source, hit.lifecycle) == ("crane-1.md", "current")
        assert [place.source for place in hit.citation.also_in] == ["a-copy.md"]


def test_a_corpus_of_nothing_but_retired_documents_answers_with_nothing_and_says_what_is_missing(home: Path) -> None:
    for n in range(3):
        (home / "notes" / f"crane-{n}.md").unlink()
    run(home)
    with opened(home) as index:
        answer = index.search(QUESTION)
        assert answer.results == () and answer.nothing_close
        assert answer.uncovered is not None and answer.uncovered.by_reason == {"superseded": 10}
        assert index.search("zebra", retired=True).uncovered is None


# Keys alone


@pytest.mark.parametrize("head", [RETIRED, PRIVATE])
def test_a_key_that_comes_or_goes_alone_takes_effect_at_the_next_ingest_and_embeds_nothing(
    home: Path, head: str
) -> None:
    run(home)
    with opened(home) as index:
        for _ in range(2):
            mark(home, "crane-0.md", head)
            assert index.ingest(allow_prune=ALL).texts_embedded == 0
            assert sorted(sources(index)) == ["crane-1.md", "crane-2.md"]
            mark(home, "crane-0.md", "")
            mark(home, "old-7.md", "")
            assert index.ingest().texts_embedded == 0
            assert sources(index)[0] == "old-7.md"
            mark(home, "old-7.md", RETIRED)
            assert index.ingest().texts_embedded == 0
            assert sorted(sources(index)) == ["crane-0.md", "crane-1.md", "crane-2.md"]


def test_a_plan_tells_keys_apart_from_edits_and_counts_rows(home: Path) -> None:
    run(home)
    mark(home, "crane-0.md", RETIRED)
    mark(home, "old-0.md", "")
    mark(home, "crane-1.md", PRIVATE)
    (home / "notes" / "crane-2.md").write_text(live(9))
    with opened(home) as index:
        plan = index.plan()
        lines = list(plan_lines(plan))
        assert "  # 1 now superseded           1 row to rewrite, nothing to embed" in lines
        assert "  # 1 current again            1 row to rewrite, nothing to embed" in lines
        assert "  - 1 now excluded             1 row to prune   crane-1.md (rag: false in its front matter)" in lines
        assert "  ~ 1 content changed          1 chunk to embed" in lines
        report = index.apply(plan)
    assert (report.texts_embedded, report.files_pruned) == (1, 1)
    assert [(each.path, each.reason) for each in report.excluded] == [("crane-1.md", "rag: false in its front matter")]


def test_whatever_is_ingested_again_the_mark_stays(home: Path) -> None:
    run(home)
    with opened(home) as index:
        (home / "notes" / "old-3.md").write_text(RETIRED + old(99))
        (home / "notes" / "old-4.md").rename(home / "notes" / "older.md")
        os.utime(home / "notes" / "old-5.md")
        index.ingest()
        index.ingest(full=True)
        assert sorted(sources(index)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
        assert index.repair()
        assert sorted(sources(index)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
    ingest(home / "notes", home / "fresh")
    assert contents(home / "store", home / "notes") == contents(home / "fresh", home / "notes")


def test_every_row_and_every_entry_says_its_lifecycle(home: Path) -> None:
    run(home)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3")) as db:
        for table in ("rows", "files"):
            said = dict(db.execute(f"select path, lifecycle from {table}"))
            assert said == {name: "superseded" if name[:3] == "old" else "current" for name in said}
            assert len(said) == 13
    with opened(home) as index:
        assert {(e.path[:3], e.lifecycle) for e in index.manifest().entries} == {
            ("old", "superseded"),
            ("cra", "current"),
        }
        assert (index.stats().passages, index.stats().retired) == (13, 10)
        assert any("10 of the passages are superseded" in line for line in stats_lines(index.stats()))
        assert sum(each.lack is Lack.RETIRED for each in index.coverage()) == 10
        assert index.read("old-1.md").endswith(old(1))
        assert index.verify().ok
    entries = json.loads(rag(home, "manifest", "--json"))["entries"]
    assert {entry["lifecycle"] for entry in entries} == {"current", "superseded"}


def test_a_store_whose_texts_are_not_compressed_goes_on_without(home: Path) -> None:
    run(home)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        shape, *indexes = [
            sql for (sql,) in db.execute("select sql from sqlite_schema where tbl_name = 'rows' and sql is not null")
        ]
        rows = db.execute("select * from rows").fetchall()
        at = [name for _, name, *_ in db.execute("pragma table_info(rows)")].index("text")
        db.execute("drop table rows")
        db.execute(shape.replace("text any", "text text"))
        plain = [(*row[:at], unpacked(row[at]), *row[at + 1 :]) for row in rows]
        db.executemany(f"insert into rows values ({','.join('?' * len(plain[0]))})", plain)
        for index in indexes:
            db.execute(index)
        db.execute("alter table pointer drop column tail")
        db.execute("pragma user_version = 4")
    text = "The hawser of the brig is new. " * 20
    (home / "notes" / "brig.md").write_text(f"# Brig\n\n{text}\n")
    with opened(home) as index:
        assert index.ingest().files_ingested == 1
        assert text.strip() in index.search("hawser of the brig", 1).results[0].text
        assert index.verify().ok and index.plan().quiet
    with closing(sqlite3.connect(home / "store" / "record.sqlite3")) as db:
        assert db.execute("select distinct typeof(text) from rows").fetchall() == [("text",)]


def test_a_text_that_was_altered_is_found_by_verify_and_costs_no_more_than_its_file(home: Path) -> None:
    text = "The hawser of the brig is new. " * 20
    (home / "notes" / "brig.md").write_text(f"# Brig\n\n{text}\n")
    run(home)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        assert db.execute("select typeof(text) from rows where path = 'brig.md'").fetchone() == ("blob",)
        db.execute("update rows set text = x'789c00' where path = 'brig.md'")
    with opened(home) as index:
        assert "its rows were altered" in {finding.what for finding in index.verify().findings}
        index.repair()
        report = index.ingest()
        assert (report.files_ingested, report.texts_embedded) == (1, 0)
        assert text.strip() in index.search("hawser of the brig", 1).results[0].text
        assert index.verify().ok and index.plan().quiet


def test_an_altered_lifecycle_is_found_by_verify_and_made_good(home: Path) -> None:
    run(home)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        db.execute("update rows set lifecycle = 'current' where path = 'old-1.md'")
    with opened(home) as index:
        assert [finding.where for finding in index.verify().findings] == ["old-1.md"]
        index.repair()
        index.ingest()
        assert index.verify().ok
        assert "old-1.md" not in sources(index, 20)


# Left out


def test_what_asks_to_be_left_out_is_listed_with_its_reason_and_known_to_nobody_else(home: Path) -> None:
    mark(home, "crane-0.md", PRIVATE)
    (home / "notes" / "broken.md").write_text("---\ntitle: [\nrag: false\n---\n\nThe secret pump.\n")
    run(home)
    with opened(home) as index:
        listed = {each.path: (each.lack, each.why) for each in index.coverage() if each.lack is Lack.EXCLUDED}
        assert listed["crane-0.md"] == (Lack.EXCLUDED, "rag: false in its front matter")
        assert "cannot be read" in listed["broken.md"][1] and "mentions rag: false" in listed["broken.md"][1]
        assert not {"crane-0.md", "broken.md"} & set(index.documents())
        assert not {"crane-0.md", "broken.md"} & set(sources(index, 20, retired=True))
        assert index.verify().ok and index.plan().quiet
        missed = index.search("zebra quagga").uncovered
        assert missed is not None and not {"crane-0.md", "broken.md"} & set(missed.examples)
        mark(home, "crane-0.md", "")
        assert [finding.where for finding in index.verify().findings] == ["crane-0.md"]
        assert [f.path for f in index.plan().files if f.reason is Reason.NEW] == ["crane-0.md"]
    assert "secret" not in (home / "store" / "record.sqlite3").read_bytes().decode("latin-1")


def test_front_matter_that_breaks_while_it_hides_takes_the_file_out(home: Path) -> None:
    run(home)
    (home / "notes" / "old-0.md").write_text("---\ntitle: [\nlifecycle: superseded\n---\n\n" + old(0))
    with opened(home) as index:
        (gone,) = (file for file in index.plan().files if file.reason is Reason.EXCLUDED)
        assert gone.path == "old-0.md"
        index.ingest()
        assert "old-0.md" not in index.documents()


def test_leaving_out_many_files_at_once_needs_leave_like_other_prunes(home: Path) -> None:
    run(home)
    for path in (home / "notes").glob("*.md"):
        mark(home, path.name, PRIVATE)
    with opened(home) as index:
        assert index.plan().refusal is not None
        assert index.plan(allow_prune=ALL).refusal is None


# Dated series


def day(n: int) -> str:
    return f"status-2031-04-0{n}.md"


def test_a_retired_snapshot_stands_for_no_current_one_and_answers_as_of_no_date(home: Path) -> None:
    said = "# Ketch\n\nThe marlinspike of the ketch is blue.\n"
    for n, head in ((1, RETIRED), (2, RETIRED), (3, ""), (4, "")):
        (home / "notes" / day(n)).write_text(head + said)
    run(home)
    ask = "marlinspike of the ketch"
    with opened(home) as index:
        (hit,) = (hit for hit in index.search(ask, 20).results if "ketch" in hit.text)
        assert (hit.citation.source, hit.citation.snapshots_covered) == (day(3), 2)
        everything = index.search(ask, 20, retired=True).results
        (hit,) = (hit for hit in everything if "ketch" in hit.text)
        assert (hit.citation.source, hit.lifecycle) == (day(3), "current")
        assert [place.source for place in hit.citation.also_in] == [day(1)]
        mark(home, day(4), RETIRED)
        assert index.ingest().texts_embedded == 0
        found = {as_of: index.search(ask, 1, as_of=f"2031-04-{as_of}").results for as_of in ("02", "03", "09")}
        assert [hit.citation.source for hit in found["09"]] == [hit.citation.source for hit in found["03"]] == [day(3)]
        assert all("ketch" not in hit.text for hit in found["02"])
        (hit,) = index.search(ask, 1, as_of="2031-04-09", retired=True).results
        assert (hit.citation.source, hit.lifecycle) == (day(4), "superseded")


# Stores from before


def age(home: Path) -> None:
    """What a version that knew no keys left: every file indexed as current, by its labels."""
    before = evolve(parts(home / "notes", home / "store").run(index_choices(home)), metadata_version=1)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        db.execute("drop index rows_retired")
        for table in ("rows", "files"):
            db.execute(f"alter table {table} drop column lifecycle")
        db.execute("update files set labels = ?", [before.labels])
        db.execute("alter table pointer drop column tail")
        db.execute("pragma user_version = 3")


def index_choices(home: Path) -> Any:
    with SqliteReader(home / "store").snapshot() as snapshot:
        return snapshot.choices()


@pytest.fixture
def aged(home: Path) -> Path:
    """A store of that version, over files that have keys by now."""
    heads = {path.name: path.read_text() for path in (home / "notes").glob("*.md")}
    for name in heads:
        mark(home, name, "---\nlife: long\n---\n\n")
    run(home)
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        digests = [(hashlib.sha256(text.encode()).hexdigest(), name) for name, text in heads.items()]
        db.executemany("update files set digest = ? where path = ?", digests)
    age(home)
    for name, text in heads.items():
        (home / "notes" / name).write_text(text)
    return home


def test_a_reader_of_a_store_from_before_sees_every_row_as_current(aged: Path) -> None:
    with opened(aged) as index:
        assert {name[:3] for name in sources(index)} == {"old"}
        assert {entry.lifecycle for entry in index.manifest().entries} == {"current"}
        assert index.stats().retired == 0
        assert [f for f in index.verify().findings if f.severity.value == "error"] == []
    with closing(sqlite3.connect(aged / "store" / "record.sqlite3")) as db:
        assert db.execute("pragma user_version").fetchone() == (3,)


def test_a_store_from_before_is_brought_up_by_one_run_that_embeds_nothing(aged: Path) -> None:
    with opened(aged) as index:
        lines = list(plan_lines(index.plan()))
        assert "  # 10 now superseded         10 rows to rewrite, nothing to embed" in lines
        assert "  # 3 metadata stale           3 rows to rewrite, nothing to embed" in lines
        report = index.ingest()
        assert (report.texts_embedded, report.rows_rewritten) == (0, 13)
        assert sorted(sources(index)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
        assert index.verify().ok and index.plan().quiet
    ingest(aged / "notes", aged / "fresh")
    assert contents(aged / "store", aged / "notes") == contents(aged / "fresh", aged / "notes")


@pytest.mark.parametrize("where", ["beginning", "rows written", "committing", "committed"])
def test_a_run_that_dies_while_it_brings_a_store_up_is_finished_by_the_next(aged: Path, where: str) -> None:
    class PulledPlug(BaseException):
        pass

    def plug(name: str) -> None:
        if name == where:
            raise PulledPlug

    with pytest.raises(PulledPlug), Index(evolve(parts(aged / "notes", aged / "store"), checkpoint=plug)) as index:
        index.ingest()
    with opened(aged) as index:
        assert len(sources(index)) == 3
        assert index.ingest().texts_embedded == 0
        assert sorted(sources(index)) == ["crane-0.md", "crane-1.md", "crane-2.md"]
    ingest(aged / "notes", aged / "fresh")
    assert contents(aged / "store", aged / "notes") == contents(aged / "fresh", aged / "notes")


def rag(home: Path, *words: str) -> str:
    world = {name: value for name, value in os.environ.items() if not name.startswith("RAG_MCP_")}
    command = [sys.executable, "-m", "rag_mcp.cli", *words, "--corpus", "notes", "--db", "store"]
    done = subprocess.run(command, cwd=home, env={**world, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout
