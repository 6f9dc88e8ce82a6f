"""Dates in names and headings: written, read back, and taken out of what is embedded."""

from collections.abc import Mapping
from datetime import date as calendar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.dates import LISTED, dated, is_listed, listed, own_date, runs, undated
from rag_mcp.pure.documents import read_document
from rag_mcp.pure.identity import RunIdentity
from rag_mcp.pure.manifest import Rule
from rag_mcp.pure.snapshots import Place, relation, sameness
from rag_mcp.pure.values import Document

HASH = HashEmbedder()

days_of_two_years = st.dates(min_value=calendar(2031, 1, 1), max_value=calendar(2032, 12, 31))
dates = st.sets(days_of_two_years.map(str), max_size=90).map(sorted)


@given(dates, days_of_two_years.map(str))
@example([f"2031-{month:02}-{day:02}" for month in (1, 3, 5) for day in range(1, 32)], "2031-02-15")
def test_whether_a_date_is_covered_can_be_told_from_what_is_written(some: list[str], asked: str) -> None:
    for written in (listed(some), runs(some)):
        assert is_listed(asked, written) == (asked in some)
        assert all(is_listed(date, written) for date in some)
    assert not is_listed(asked, None)


def test_many_dates_are_written_as_runs_of_consecutive_days() -> None:
    april = [f"2031-04-{day:02}" for day in range(3, 31)]
    may = [f"2031-05-{day:02}" for day in range(1, 32)]
    assert listed([*april, *may, "2031-06-02"]).count(",") == LISTED - 1
    assert listed([*april, *may, "2031-06-01", "2031-06-02", "2031-06-05"]) == "2031-04-03..2031-06-02,2031-06-05"


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("Engineering Daily Digest – 2026-01-02", "Engineering Daily Digest"),
        ("2026-01-02: Pumps", "Pumps"),
        ("Pumps (2026-01-02), night shift", "Pumps , night shift"),
        ("2026/01/02", ""),
        ("2026.01.02 and 2026-01-02", "and"),
        ("Pumps 2026-01-03 -", "Pumps 2026-01-03 -"),
        ("12026-01-02", "12026-01-02"),
        ("2026-01.02", "2026-01.02"),
        ("Pumps -", "Pumps -"),
    ],
)
def test_a_heading_loses_the_date_of_its_file_and_no_other(name: str, left: str) -> None:
    assert undated(name, "2026-01-02") == left
    assert undated(name, None) == name


def read(name: str, text: str) -> Document:
    found = read_document(name, text.encode(), "d", RunIdentity(HASH.identity), HASH.measure)
    assert isinstance(found, Document)
    return found


def collapsed_files(files: Mapping[str, str]) -> dict[Place, Place]:
    read_all = {name: read(name, text) for name, text in files.items()}
    return relation(
        Rule(),
        {name: [sameness(name, c, doc.doc_class, doc.lifecycle) for c in doc.chunks] for name, doc in read_all.items()},
    )


def daily(date: str, state: str = "green", head: str = "# Pumps – {date}\n\n", section: str = "State") -> str:
    return f"{head.format(date=date)}Written by hand.\n\n## {section}\n\nThe pump is {state}.\n"


THREE = ("2031-04-01", "2031-04-02", "2031-04-03")


def test_a_date_in_the_headings_above_is_no_difference_and_costs_no_embedding() -> None:
    docs = [read(f"pump-{date}.md", daily(date)) for date in THREE]
    assert {tuple(chunk.key for chunk in doc.chunks[1:]) for doc in docs} == {(docs[0].chunks[1].key,)}
    assert docs[0].chunks[1].heading_path == ("Pumps – 2031-04-01", "State")
    assert docs[0].chunks[1].crumb == "Pumps"
    days = {f"pump-{date}.md": daily(date) for date in THREE}
    assert collapsed_files(days).keys() == {(name, at) for name in [*days][1:] for at in (0, 1)}


def test_a_file_without_a_date_in_its_name_is_embedded_as_it_was() -> None:
    assert read("pump.md", daily("2031-04-01")).chunks[1].crumb == "Pumps – 2031-04-01"
    assert read("2031-04-01.md", daily("2031-04-01")).chunks[1].crumb == "Pumps – 2031-04-01"
    assert read("pump-2031-04-02.md", daily("2031-04-01")).chunks[1].crumb == "Pumps – 2031-04-01"
    assert own_date("pump-2031-04-02.md") == "2031-04-02" and dated("pump.md") is None


@pytest.mark.parametrize(
    ("said", "embedded"),
    [
        ("# Pumps – {date}\n\n## State\n\nAll is well.", "# Pumps\n\n## State\n\nAll is well."),
        ("# Pumps – {date}\n\nAll is well.", "# Pumps\n\nAll is well."),
        ("Pumps – {date}\n===\n\nAll is well.", "Pumps\n===\n\nAll is well."),
        ("# {date}\n\nAll is well.", "#\n\nAll is well."),
        ("# Pumps\n\nWritten on {date}.", "# Pumps\n\nWritten on {date}."),
        ("# Pumps\n\n```\n# log of {date}\n```", "# Pumps\n\n```\n# log of {date}\n```"),
        ("Pumps – {date}", "Pumps – {date}"),
    ],
)
def test_the_heading_lines_of_a_passage_are_embedded_without_the_date_of_its_file_and_cited_with_it(
    said: str, embedded: str
) -> None:
    date = THREE[0]
    (chunk,) = read(f"pump-{date}.md", said.format(date=date)).chunks
    assert chunk.text == said.format(date=date)
    assert embedded_text(chunk, date) == embedded.format(date=date)
    same = {said.format(date=day): f"pump-{day}.md" for day in THREE}
    assert len(collapsed_files({name: text for text, name in same.items()})) == (2 if "{" not in embedded else 0)


def test_code_that_looks_like_a_heading_keeps_its_date() -> None:
    lines = "\n".join(f"# {THREE[0]} step {n} of many, each of them long enough to fill a passage" for n in range(90))
    chunks = read(f"pump-{THREE[0]}.md", f"# Pumps\n\n```\n{lines}\n```\n").chunks
    assert len(chunks) > 1
    assert all(embedded_text(chunk, THREE[0]).endswith(chunk.text) for chunk in chunks)


def test_a_heading_that_is_nothing_but_the_date_is_in_no_crumb() -> None:
    files = {f"pump-{date}.md": daily(date, head="# {date}\n\n") for date in THREE}
    assert read("pump-2031-04-01.md", files["pump-2031-04-01.md"]).chunks[1].crumb == ""
    assert len(collapsed_files(files)) == 4


@pytest.mark.parametrize(
    "third",
    [
        daily(THREE[2], section="Status"),
        daily(THREE[2], state="Green"),
        daily(THREE[2]).replace("\n", "\r\n"),
        daily(THREE[2]).replace("is green", "is  green"),
        "---\ntype: handoff\n---\n" + daily(THREE[2]),
        daily(THREE[2], head="# Valves – {date}\n\n"),
        daily(THREE[1]).replace("Pumps – ", "Pumps: "),
    ],
    ids=["another heading", "a letter", "line ends", "a blank", "another class", "another title", "another date"],
)
def test_what_is_nearly_equal_is_kept(third: str) -> None:
    files = {f"pump-{date}.md": daily(date) for date in THREE[:2]} | {f"pump-{THREE[2]}.md": third}
    states = {place: first for place, first in collapsed_files(files).items() if place[1] == 1}
    assert states == {(f"pump-{THREE[1]}.md", 1): (f"pump-{THREE[0]}.md", 1)}
