"""What is said once is shown once: copies, renumbered sections, overlapping neighbours."""

from itertools import pairwise
from pathlib import Path

import pytest
from storecheck import parts

from rag_mcp import Index
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.view import EVERYTHING
from rag_mcp.pure.wishes import Wishes

STORY = " ".join(f"On day {n} the crew of the ketch mended sail {n} and wrote it down at length." for n in range(40))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for day in range(1, 9):
        section = f"### {day}. The capstan\n\nThe capstan is greased every 400 hours.\n\n---\n\n"
        (folder / f"day{day}.md").write_text(f"# Log\n\nDay {day}.\n\n{section}## End\n\nNothing else on day {day}.\n")
    (folder / "newer.md").write_text("# Log\n\n### 1. The capstan\n\nThe capstan is greased every 300 hours.\n")
    (folder / "ketch.md").write_text(f"# Ketch\n\n{STORY}\n")
    return folder


def test_a_section_with_another_number_is_one_hit_and_another_value_is_not(corpus: Path, tmp_path: Path) -> None:
    with Index(parts(corpus, tmp_path / "store")) as index:
        index.ingest()
        hits = index.search("how often is the capstan greased", 20).results
    capstan = [hit for hit in hits if "capstan is greased" in hit.text]
    assert sorted("400" in hit.text for hit in capstan) == [False, True]
    (every,) = (hit for hit in capstan if "400" in hit.text)
    places = {every.citation.source, *(place.source for place in every.citation.also_in)}
    assert places == {f"day{day}.md" for day in range(1, 9)}


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_overlapping_neighbours_are_one_hit_whose_lines_hold_it(corpus: Path, tmp_path: Path, mode: str) -> None:
    with Index(parts(corpus, tmp_path / "store", wishes=Wishes(Chunking(budget=64, overlap=16)))) as index:
        index.ingest()
        with index.reader.snapshot() as snapshot:
            rows = [
                row for row in snapshot.rows(snapshot.passing_rids(EVERYTHING), EVERYTHING) if row.source == "ketch.md"
            ]
        assert any(one.start < other.start < one.end for one in rows for other in rows), "nothing overlaps"
        hits = index.search("the crew of the ketch mended sail", 20, mode=mode).results
    ketch = [hit.citation for hit in hits if hit.citation.source == "ketch.md"]
    assert len(ketch) < len(rows)
    lines = (corpus / "ketch.md").read_text().split("\n")
    for hit in hits:
        if hit.citation.source == "ketch.md":
            cited = "\n".join(lines[hit.citation.start_line - 1 : hit.citation.end_line])
            assert hit.text in cited
            assert not hit.citation.stale
    spans = sorted((cited.start_line, cited.end_line) for cited in ketch)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
