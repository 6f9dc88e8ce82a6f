"""Dated series over real days (data/a5-dated), and over the corpus of the defect that made them a feature."""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from storecheck import ingest, parts

from rag_mcp import Index
from rag_mcp.pure.citations import cite
from rag_mcp.pure.dates import is_listed, own_date
from rag_mcp.pure.view import EVERYTHING, View
from rag_mcp.snapshots import series_of


def opened(home: Path) -> Index:
    return Index(parts(home / "corpus", home / "store"))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shared = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parent.parent.parent / "shared")) / "data"
    if not (shared / "a5-dated.tar.gz").is_file():
        pytest.skip(f"no real corpora at {shared}")
    home = tmp_path_factory.mktemp("dated")
    shutil.unpack_archive(shared / "a5-dated.tar.gz", home / "unpacked", filter="data")
    (home / "unpacked" / "a5-dated").rename(home / "corpus")
    assert ingest(home / "corpus", home / "store").chunks_deduped == 878
    return home


def test_every_block_of_every_real_day_is_citable_on_that_day(real: Path) -> None:
    """Of each stored passage of a series, the row that stands for it names its day; the lines there hold its text."""
    with opened(real) as index, index.reader.snapshot() as snapshot:
        shown = snapshot.rows(snapshot.passing_rids(EVERYTHING), EVERYTHING)
        series = [path for some in series_of(index.documents()).values() for path in some]
        said = {path: Counter(snapshot.keys_of([path])[path]) for path in series}
    assert len(series) == 105
    covered: dict[str, Counter[str]] = {}
    for row in shown:
        hit = cite(0.5, [row])
        assert (hit.citation.snapshots_covered or 0) == len(row.holders)
        for path in row.holders:
            covered.setdefault(path, Counter())[row.key] += 1
            date = own_date(path)
            assert date and (date == hit.citation.snapshot_date or is_listed(date, hit.citation.also_unchanged_on))
    assert covered == said


def test_what_real_days_said_is_found_again_as_of_each_of_them(real: Path) -> None:
    with opened(real) as index:
        for day in ("2025-12-24", "2026-01-01", "2026-02-16"):
            source = f"eng-digest/digests/digest-{day}.md"
            with index.reader.snapshot() as snapshot:
                view = View(as_of=day)
                rows = [row for row in snapshot.rows(snapshot.passing_rids(view), view) if own_date(row.source)]
            assert {row.source for row in rows if "digest" in row.source} == {source}
            assert Counter(row.key for row in rows if row.source == source).total() > 10
            found = index.search("articles about agents and models", 10, as_of=day).results
            assert {hit.citation.source for hit in found if "digest" in hit.citation.source} <= {source}


QUESTIONS = (
    "what is new in Amazon Bedrock",
    "how does Dropbox Dash use context engineering",
    "summer intern class highlights",
    "accelerate GitHub Copilot agents",
    "serverless fine-tuning in SageMaker",
    "how Netflix trains models",
    "which repository is trending this week",
    "Kubernetes and cloud networking",
    "performance regressions triaged",
    "total articles from how many sources",
)


def test_no_two_passages_of_an_answer_over_real_days_are_equal(real: Path) -> None:
    with opened(real) as index:
        for question in QUESTIONS:
            texts = [hit.text for hit in index.search(question, 10).results]
            assert len(texts) == len(set(texts)) == 10


@pytest.mark.parametrize(("dedupe", "rank"), [(True, 6), (False, 16)])
def test_what_explains_a_line_is_found_beside_fifteen_days_of_it(tmp_path: Path, dedupe: bool, rank: int) -> None:
    """One status line, five values over fifteen consecutive files, and the note that says what it means."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for day in range(15):
        date = f"2031-04-{day + 1:02}"
        line = f"Intake queue: {(12, 14, 9, 11, 20)[day // 3]} open, threshold 25, owner Mara."
        (corpus / f"status-{date}.md").write_text(f"# Status – {date}\n\n## Intake queue\n\n{line}\n")
    for n in range(12):
        (corpus / f"note-{n}.md").write_text(f"# Note {n}\n\nNotes about the cranes, ropes and lamps of pier {n}.\n")
    (corpus / "intake.md").write_text(
        "# How intake works\n\nNew requests wait until they are read. When more than twenty-five wait in the queue the"
        " watch takes in no others: past that threshold nobody finds the urgent ones.\n"
    )
    ingest(corpus, tmp_path / "store", dedupe_snapshots=dedupe)
    with opened(tmp_path) as index:
        found = index.search("intake queue threshold", 20).results
    assert [n for n, hit in enumerate(found, start=1) if hit.citation.source == "intake.md"] == [rank]
    assert len({hit.text for hit in found}) == len(found)
