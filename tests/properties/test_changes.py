"""When a block changed over its series, and from what to what."""

from collections.abc import Sequence

from properties.test_dates import daily, read

from rag_mcp.pure.changes import difference, versions
from rag_mcp.pure.values import Chunk


def history(*states: str | None) -> list[tuple[str, Sequence[Chunk]]]:
    files = []
    for day, state in enumerate(states, start=1):
        date = f"2031-04-{day:02}"
        text = daily(date, state) if state else f"# Pumps – {date}\n\nNothing.\n"
        files.append((f"pump-{date}.md", read(f"pump-{date}.md", text).chunks))
    return files


def told(*states: str | None, at: int = 1, as_of: str | None = None) -> list[tuple[str, str, int, bool]]:
    found = versions(history(*states), f"pump-2031-04-{at:02}.md", 1, as_of)
    return [(v.first[-2:], v.last[-2:], v.snapshots, v.text is not None) for v in found]


def test_the_versions_of_a_block_are_told_from_its_first_day_on() -> None:
    assert told("green", "green", "red", "green") == [
        ("01", "02", 2, True),
        ("03", "03", 1, True),
        ("04", "04", 1, True),
    ]
    assert told(None, "green", None, None, "green", at=2) == [
        ("02", "02", 1, True),
        ("03", "04", 2, False),
        ("05", "05", 1, True),
    ]
    assert told("green", "red", "red", as_of="2031-04-01") == [("01", "01", 1, True)]
    assert versions([], "a.md", 0) == ()


def test_a_change_is_told_by_its_lines() -> None:
    first, second = versions(history("green", "red"), "pump-2031-04-01.md", 1)
    assert difference(first.text, second.text) == ["- The pump is green.", "+ The pump is red."]
    assert difference(None, "a\n\nb") == ["+ a", "+ b"]


def test_a_block_is_followed_though_its_number_changes() -> None:
    files = [
        (f"d-2031-04-0{n}.md", read(f"d-2031-04-0{n}.md", f"# D\n\n## {n}. Pumps\n\nAll is well.\n").chunks)
        for n in (1, 2, 3)
    ]
    found = versions(files, "d-2031-04-01.md", 0)
    assert [v.first for v in found] == ["2031-04-01", "2031-04-02", "2031-04-03"]
    assert all(v.text for v in found)
