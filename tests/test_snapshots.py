"""Dated series through the library and the command line: real SQLite, real Chroma, the hash embedder."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from storecheck import BY_INDEX, contents, ingest, parts
from test_cli import rag

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.verify import Verdict
from rag_mcp.ingest import ingest as promised
from rag_mcp.pure.codec import plan_from_json, plan_to_json
from rag_mcp.pure.dates import LISTED, is_listed
from rag_mcp.pure.errors import InvalidQuery, PlanMoved
from rag_mcp.pure.reply import DATES, success
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.wire import answer_shape

APRIL = tuple(f"2031-04-{day:02}" for day in range(1, 31))
STATE = "valve pressure state"


def write(root: Path, states: Sequence[str], stem: str = "status/pump-report") -> Path:
    """A report a day: its date in the title, a line that differs each day, and the state, under a heading."""
    for date, state in zip(APRIL, states, strict=False):
        path = root / f"{stem}-{date}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# Pump report – {date}\n\nWritten on {date} by the watch.\n\n## Alarms\n\nThe {STATE} is {state}.\n"
        )
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Five days, of which the fourth differs; a note; two dated files that make no series."""
    corpus = write(tmp_path / "corpus", ("green", "green", "green", "red", "green"))
    write(corpus, ("green", "green"), "zz-pair/pump")
    (corpus / "pumps.md").write_text("# Pumps\n\nWhat the valve pressure state means: green is good.\n")
    return tmp_path


def opened(home: Path, **given: Any) -> Index:
    return Index(parts(home / "corpus", home / "store", **given))


def cited(home: Path, question: str = STATE, k: int = 20, **given: Any) -> list[dict[str, Any]]:
    with opened(home) as index:
        answer = index.search(question, k, **given)
    return [hit["citation"] for hit in answer_shape(answer)["results"] if "valve pressure" in hit["text"]]


def by_source(citations: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {citation["source"][-13:-3]: citation for citation in citations if "status/" in citation["source"]}


def verified(home: Path) -> Verdict:
    with opened(home) as index:
        return index.verify()


def test_a_survivor_is_cited_with_the_days_that_it_stands_for(home: Path) -> None:
    report = ingest(home / "corpus", home / "store")
    assert (report.chunks_deduped, report.store_count, report.chunks_added) == (2, 13, 13)
    (first,) = (c for c in cited(home) if c["source"] == "status/pump-report-2031-04-01.md")
    assert first["chunk_index"] == 1
    assert first["heading"] == "Alarms"
    assert first["heading_path"] == ["Pump report – 2031-04-01", "Alarms"]
    assert (first["snapshot_date"], first["also_unchanged_on"]) == ("2031-04-01", "2031-04-02,2031-04-03")
    assert first["snapshots_covered"] == 3
    places = {place["source"]: place for place in first["also_in"]}
    others = {"zz-pair/pump-2031-04-01.md", "zz-pair/pump-2031-04-02.md", "status/pump-report-2031-04-05.md"}
    assert places.keys() == others
    assert all("unchanged_until" not in place for place in places.values())
    red = by_source(cited(home))["2031-04-04"]
    assert (red["snapshot_date"], red["snapshots_covered"]) == ("2031-04-04", 1)
    assert "also_unchanged_on" not in red


def test_ordinary_notes_and_files_that_make_no_series_cite_no_dates(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    (home / "corpus" / "status").rename(home / "elsewhere")
    ingest(home / "corpus", home / "store")
    keys = {"snapshot_date", "also_unchanged_on", "snapshots_covered"}
    found = cited(home)
    assert {citation["source"] for citation in found} == {"pumps.md", "zz-pair/pump-2031-04-01.md"}
    assert all(not keys & citation.keys() for citation in found)


def test_a_new_equal_day_is_one_more_date_and_no_embedding(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    write(home / "corpus", ("green", "green", "green", "red", "green", "green"))
    with opened(home) as index:
        plan = index.plan()
    assert plan.regroup is not None and (plan.regroup.collapsed, plan.regroup.restored) == (1, 0)
    report = ingest(home / "corpus", home / "store")
    assert (report.texts_embedded, report.chunks_added, report.chunks_deleted) == (1, 1, 0)  # what differs each day
    assert report.chunks_deduped == 3
    places = {place["source"]: place for place in by_source(cited(home))["2031-04-01"]["also_in"]}
    assert places["status/pump-report-2031-04-05.md"]["unchanged_until"] == "2031-04-06"


def test_a_quiet_run_changes_nothing(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    before = {path: path.read_bytes() for path in (home / "store").rglob("*") if path.is_file()}
    with opened(home) as index:
        assert index.plan().quiet
    report = ingest(home / "corpus", home / "store")
    assert (report.chunks_deduped, report.store_count, report.generation) == (2, 13, 1)
    assert {path: path.read_bytes() for path in (home / "store").rglob("*") if path.is_file()} == before


def test_dedupe_off_and_on_again_embeds_nothing_and_equals_a_rebuild_each_way(home: Path) -> None:
    corpus, store = home / "corpus", home / "store"
    ingest(corpus, store)
    for on, deduped, shown in ((False, 0, 15), (True, 2, 13)):
        with opened(home, dedupe_snapshots=on) as index:
            plan = index.plan()
            assert plan.regroup is not None and not plan.quiet
            assert plan.regroup.why == f"snapshot dedupe was turned {'on' if on else 'off'}"
            report = index.ingest()
        assert (report.texts_embedded, report.rows_rewritten) == (0, 0)
        assert (report.chunks_deduped, report.store_count) == (deduped, shown)
        assert (report.chunks_added, report.chunks_deleted) == ((0, 2) if on else (2, 0))
        ingest(corpus, home / f"fresh-{on}", dedupe_snapshots=on)
        assert contents(store, corpus) == contents(home / f"fresh-{on}", corpus)
        assert verified(home).ok
        with opened(home, dedupe_snapshots=on) as index:
            assert index.plan().quiet


def test_without_dedupe_every_row_is_shown_and_stands_for_itself(home: Path) -> None:
    ingest(home / "corpus", home / "store", dedupe_snapshots=False)
    green = by_source(cited(home))["2031-04-01"]
    assert (green["snapshot_date"], green["snapshots_covered"]) == ("2031-04-01", 1)
    assert "also_unchanged_on" not in green
    assert len([p for p in green["also_in"] if p["source"].startswith("status/")]) == 3


def test_the_promised_function_takes_the_setting(home: Path) -> None:
    given: dict[str, Any] = {"embedder": HashEmbedder()}
    assert promised(home / "corpus", home / "store", dedupe_snapshots=False, **given)["chunks_deduped"] == 0
    report = promised(home / "corpus", home / "store", **given)
    assert (report["chunks_deduped"], report["texts_embedded"]) == (2, 0)


def test_a_saved_plan_carries_the_setting(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    with opened(home, dedupe_snapshots=False) as index:
        saved = plan_from_json(plan_to_json(index.save(index.plan()))).unwrap()
    assert not saved.dedupe_snapshots and saved.plan.regroup is not None and saved.plan.regroup.restored == 2
    with opened(home) as index, pytest.raises(Refused) as refused:
        index.apply(saved.plan)
    assert isinstance(refused.value.failure, PlanMoved)
    with opened(home, dedupe_snapshots=False) as index:
        assert index.apply(saved.plan).chunks_deduped == 0


def test_an_unreadable_day_breaks_the_run_until_it_can_be_read(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    day = home / "corpus" / "status" / "pump-report-2031-04-02.md"
    kept = day.read_bytes()
    day.write_bytes(b"\xff\xfe\x00 no text \x00\xc3\x28")
    report = ingest(home / "corpus", home / "store")
    assert (report.files_skipped, report.chunks_deduped, report.texts_embedded) == (1, 0, 0)
    day.write_bytes(kept)
    report = ingest(home / "corpus", home / "store")
    assert (report.files_skipped, report.chunks_deduped, report.texts_embedded) == (0, 2, 0)


def test_copies_do_not_crowd_a_class_out_of_either_list(tmp_path: Path) -> None:
    """A filter, and the limit of the keyword list, act on what is shown."""
    write(tmp_path / "corpus", ("green",) * 30)
    (tmp_path / "corpus" / "handoff.md").write_text(
        f"---\ntype: handoff\n---\n# Over\n\nThe {STATE} was discussed at length, among other things.\n"
    )
    ingest(tmp_path / "corpus", tmp_path / "store")
    for policy in (None, BY_INDEX):
        with Index(parts(tmp_path / "corpus", tmp_path / "store"), policy) as index:
            for mode in ("keyword", "semantic", "hybrid"):
                sources = {hit.citation.source for hit in index.search(STATE, 2, mode=mode).results}
                assert sources == {"status/pump-report-2031-04-01.md", "handoff.md"}
            assert index.search(STATE, 1, "handoff").results[0].citation.source == "handoff.md"


def test_a_word_that_is_common_only_in_what_is_not_shown_is_looked_for(tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus", ("green marlinspike",) * 30)
    for n in range(6):
        (corpus / f"crane-{n}.md").write_text(f"# Crane {n}\n\nThe crane of pier {n} is green.\n")
    ingest(corpus, tmp_path / "store")
    with Index(parts(corpus, tmp_path / "store"), SearchPolicy(common=3)) as index:
        found = index.search("crane marlinspike", 20, mode="keyword").results
        assert [hit.citation.source for hit in found] == ["status/pump-report-2031-04-01.md"]
        assert index.search("crane green", 20, mode="keyword").count == 6  # both are common: rows with both


# Where the record is older, or damaged


def age(store: Path, version: int) -> None:
    with closing(sqlite3.connect(store / "record.sqlite3", isolation_level=None)) as db:
        for table in ("repeats", "snapshots", "grouped"):
            db.execute(f"drop table {table}")
        db.execute("drop index rows_retired")
        for table in ("rows", "files"):
            db.execute(f"alter table {table} drop column lifecycle")
        db.execute("alter table pointer drop column tail")
        db.execute(f"pragma user_version = {version}")


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_store_is_read_as_it_is_and_is_complete_after_one_run_without_embedding(
    home: Path, version: int
) -> None:
    ingest(home / "corpus", home / "store")
    age(home / "store", version)
    green = by_source(cited(home))["2031-04-01"]
    assert "snapshot_date" not in green and len(green["also_in"]) == 5
    assert [c["source"] for c in cited(home, as_of="2031-04-02")] == [c["source"] for c in cited(home)]
    with opened(home) as index:
        plan = index.plan()
        assert plan.regroup is not None and plan.regroup.collapsed == 2
        assert index.stats().repeats == 0
    assert verified(home).ok == (version == 2)
    report = ingest(home / "corpus", home / "store")
    assert (report.texts_embedded, report.chunks_deduped) == (0, 2)
    ingest(home / "corpus", home / "fresh")
    assert contents(home / "store", home / "corpus") == contents(home / "fresh", home / "corpus")


@pytest.mark.parametrize(
    ("damage", "noticed"),
    [
        ("delete from repeats where path like '%04-02.md'", True),
        ("delete from snapshots where path like '%04-02.md'", True),
        ("delete from grouped", True),
        ("update repeats set first_path = path, first_ordinal = 0", False),
        ("update repeats set ordinal = 0", False),
    ],
)
def test_damage_to_what_repeats_what_is_found_by_verify_and_mended(home: Path, damage: str, noticed: bool) -> None:
    ingest(home / "corpus", home / "store")
    sound = contents(home / "store", home / "corpus")
    with closing(sqlite3.connect(home / "store" / "record.sqlite3", isolation_level=None)) as db:
        db.execute(damage)
    assert [finding.where for finding in verified(home).findings] == ["repeats in dated series"]
    with opened(home) as index:
        assert index.plan().quiet == (not noticed)
        assert index.repair()
    assert verified(home).ok
    assert contents(home / "store", home / "corpus") == sound


# What was said on a date


def test_as_of_a_date_every_series_answers_by_its_newest_snapshot_of_that_day_or_before(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    for date, expected in (
        ("2031-03-31", None),
        ("2031-04-01", "2031-04-01"),
        ("2031-04-03", "2031-04-03"),
        ("2031-04-04", "2031-04-04"),
        ("2031-04-05", "2031-04-05"),
        ("2032-01-01", "2031-04-05"),
    ):
        found = cited(home, as_of=date)
        days = {
            place["source"]
            for citation in found
            for place in (citation, *citation["also_in"])
            if place["source"].startswith("status/")
        }
        assert days == ({f"status/pump-report-{expected}.md"} if expected else set()), date
        assert any(citation["source"] == "pumps.md" for citation in found)
        mine = by_source(found).get(expected or "")
        assert mine is None or (mine["snapshot_date"], mine["snapshots_covered"]) == (expected, 1)


def test_as_of_a_date_the_answer_is_as_long_as_ever_by_index_and_by_scan(tmp_path: Path) -> None:
    write(tmp_path / "corpus", [f"state {n}" for n in range(30)])
    for n in range(8):
        (tmp_path / "corpus" / f"note-{n}.md").write_text(f"# Note {n}\n\nThe gate is shut, number {n}.\n")
    ingest(tmp_path / "corpus", tmp_path / "store")
    for policy in (None, BY_INDEX):
        with Index(parts(tmp_path / "corpus", tmp_path / "store"), policy) as index:
            for mode in ("semantic", "hybrid"):
                found = index.search(STATE, 10, mode=mode, as_of="2031-04-09").results
                assert len(found) == 10
                assert {hit.citation.snapshot_date for hit in found} == {None, "2031-04-09"}
            assert "state 8" in index.search(STATE, 1, mode="keyword", as_of="2031-04-09").results[0].text


@pytest.mark.parametrize("date", ["2031-02-29", "yesterday", "", "2031-4-1", "20310401", 7])
def test_what_is_no_date_is_refused(home: Path, date: Any) -> None:
    with opened(home) as index, pytest.raises(Refused) as refused:
        index.search("x", as_of=date)
    assert isinstance(refused.value.failure, InvalidQuery)
    assert "must be a date, such as 2026-01-31" in refused.value.failure.message


def test_changes_are_told_over_the_whole_series(home: Path) -> None:
    ingest(home / "corpus", home / "store")
    with opened(home) as index:
        found = index.changes("status/pump-report-2031-04-04.md", 1)
        assert [(v.first, v.last, v.snapshots) for v in found] == [
            ("2031-04-01", "2031-04-03", 3),
            ("2031-04-04", "2031-04-04", 1),
            ("2031-04-05", "2031-04-05", 1),
        ]
        (only,) = index.changes("status/pump-report-2031-04-02.md", 1, as_of="2031-04-02")
        assert (only.first, only.last, only.text) == (APRIL[0], APRIL[1], found[0].text)
        assert index.changes("pumps.md", 0) == index.changes("zz-pair/pump-2031-04-01.md", 1) == ()


# Many dates


def test_many_dates_are_kept_as_runs_and_within_the_budget_of_a_reply(tmp_path: Path) -> None:
    def files(days: Sequence[str], stem: str, text: str) -> None:
        for date in days:
            (tmp_path / "corpus" / f"{stem}-{date}.md").write_text(text)

    (tmp_path / "corpus").mkdir()
    months = [f"{year}-{month:02}" for year in range(2010, 2031) for month in range(1, 13)]
    daily = [f"2031-{month:02}-{day:02}" for month in (4, 6) for day in range(1, 31)] + ["2031-07-04"]
    files(daily, "daily", f"# Daily\n\nThe {STATE} is green.\n")
    files([f"{month}-01" for month in months], "monthly", f"# Monthly\n\nThe monthly {STATE} is blue.\n")
    report = ingest(tmp_path / "corpus", tmp_path / "store")
    assert (report.texts_embedded, report.store_count) == (2, 2)
    with Index(parts(tmp_path / "corpus", tmp_path / "store")) as index:
        answer = index.search(STATE, 5)
    by_stem = {hit.citation.source[:3]: hit.citation for hit in answer.results}
    written = by_stem["dai"].also_unchanged_on
    assert written == ",".join(daily[1:]) and by_stem["dai"].snapshots_covered == len(daily) == LISTED + 1
    written = by_stem["mon"].also_unchanged_on
    assert all(is_listed(f"{month}-01", written) for month in months[1:])
    assert not is_listed("2015-03-02", written)
    lean = {hit["citation"]["source"][:3]: hit["citation"] for hit in success(answer)["results"]}
    assert len(lean["mon"]["also_unchanged_on"]) <= DATES
    assert lean["mon"]["also_unchanged_on_omitted"] + lean["mon"]["also_unchanged_on"].count(",") + 1 == len(months) - 1
    assert "also_unchanged_on_omitted" not in lean["dai"]


# The command line


def test_the_command_line_shows_it_all(home: Path) -> None:
    shown = rag(home, "ingest", "corpus", "--db", "s", "--embedder", "hash", "--plan").stdout
    assert "  * in dated series            2 repeats to collapse (they were found), nothing to embed\n" in shown
    report = json.loads(rag(home, "ingest", "corpus", "--db", "s", "--embedder", "hash", "--json").stdout)
    assert (report["chunks_deduped"], report["store_count"]) == (2, 13)
    shown = rag(home, "ingest", "corpus", "--db", "s", "--no-snapshot-dedupe", "--plan", "--out", "plan.json").stdout
    assert "2 repeats to bring back (snapshot dedupe was turned off), nothing to embed\n" in shown
    assert "15 passages in all" in rag(home, "apply", "plan.json").stdout
    rag(home, "ingest", "corpus", "--db", "s")
    assert "2 more passages repeat one of these" in rag(home, "stats", "--db", "s").stdout
    shown = rag(home, "query", STATE, "--db", "s", "--mode", "keyword", "--changes").stdout
    assert "     unchanged on 2031-04-02..2031-04-03 (3 snapshots)\n" in shown
    assert "     first said 2031-04-01 to 2031-04-03 (3 snapshots)\n     changed 2031-04-04 (1 snapshot)\n" in shown
    assert f"       - The {STATE} is green.\n       + The {STATE} is red.\n" in shown
    asked = ("query", STATE, "--db", "s", "--as-of", "2031-04-02", "--changes", "--json", "-k", "20")
    found = json.loads(rag(home, *asked).stdout)["results"]
    (status,) = (hit for hit in found if "status/" in hit["citation"]["source"] and "state is" in hit["text"])
    assert status["citation"]["source"] == "status/pump-report-2031-04-02.md"
    assert [(v["first"], v["last"], v["snapshots"]) for v in status["changes"]] == [("2031-04-01", "2031-04-02", 2)]
    refused = rag(home, "query", STATE, "--db", "s", "--as-of", "2031-02-30", code=1).stderr
    assert refused == "rag-mcp: as_of must be a date, such as 2026-01-31; '2031-02-30' is none\n"
