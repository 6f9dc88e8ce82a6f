"""The writer's record: what one transaction tells of itself, and rows that a disk has damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from storecheck import ingest, parts, write_corpus, write_series

from rag_mcp import Index
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.record.writer import SqliteCommit, SqliteRecord
from rag_mcp.pure.vectors import rid


@pytest.fixture
def world(tmp_path: Path) -> tuple[Path, Path]:
    corpus, store = write_corpus(tmp_path / "notes", pages=6, sections=3), tmp_path / "store"
    ingest(corpus, store)
    return corpus, store


def test_what_rows_name_is_told_as_it_is_after_every_step_of_a_transaction(world: tuple[Path, Path]) -> None:
    _, store = world
    record, embedder = SqliteRecord(store), HashEmbedder()
    paths = sorted(path for (path,) in record._db.execute("select path from files"))
    made = embedder.embed([f"other {number}" for number in range(40)])
    fingerprint = embedder.identity.fingerprint
    for path, some in zip(paths[:2], (made[:20], made[20:]), strict=True):
        keys = record.keys_of([path])[path]
        others = [(key, rid(fingerprint, vector), vector) for key, vector in zip(keys, some, strict=False)]
        record.cache(embedder.identity, others)  # as a full run by another engine that was killed leaves them
    with record.commit() as tx:

        def agrees() -> bool:
            return tx.rids() == SqliteCommit(record._db).rids()

        before = tx.rids()
        tx.remove(paths[-1])
        assert agrees() and tx.rids() < before
        tx.name_vectors(embedder.identity, [paths[0]])
        assert agrees() and not tx.rids() <= before
        tx.name_vectors(embedder.identity, None)
        assert agrees()
        tx.distrust([], sorted(tx.rids())[:3])
        assert agrees()
    record.close()


def damage(store: Path, sql: str) -> None:
    with closing(sqlite3.connect(store / "record.sqlite3", isolation_level=None)) as db:
        assert db.execute(sql).rowcount > 0


DAMAGES = {
    "a compressed text": "text = x'0102030405'",
    "a text of another kind": "text = 7",
    "a text that is no UTF-8": "text = cast(x'ff41' as text)",
    "a heading": "heading_path = '[x'",
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_row_costs_its_file_and_no_other(world: tuple[Path, Path], how: str) -> None:
    corpus, store = world
    with Index(parts(corpus, store)) as index:
        rows = index.stats().passages
    damage(store, f"update rows set {DAMAGES[how]} where path = 'part1/page1.md'")
    (corpus / "part1" / "page1.md").write_text("# Another\n\nThe hawser is new.\n")
    report = ingest(corpus, store)
    assert (report.files_ingested, report.texts_embedded) == (1, 1)
    assert not (store / "record.sqlite3.damaged").exists()
    with Index(parts(corpus, store)) as index:
        assert index.verify().ok and index.plan().quiet
        assert index.stats().passages < rows
        assert index.search("hawser", 1, mode="keyword").count == 1


def test_a_damaged_text_does_not_keep_other_files_from_being_edited(world: tuple[Path, Path]) -> None:
    corpus, store = world
    damage(store, "update rows set text = x'0102030405' where path in ('part0/page0.md', 'part1/page1.md')")
    (corpus / "part1" / "page1.md").write_text("# Another\n\nThe hawser is new.\n")
    assert ingest(corpus, store).texts_embedded == 1  # page1, whose own rows were damaged as well: all words anew
    report = ingest(corpus, store)
    assert (report.files_ingested, report.texts_embedded) == (1, 0)  # page0, which had no words any more
    with Index(parts(corpus, store)) as index:
        assert index.verify().ok and index.plan().quiet


def test_a_damaged_text_of_a_series_does_not_keep_another_day_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    corpus, store = write_series(tmp_path / "notes"), tmp_path / "store"
    ingest(corpus, store)
    first, second, *_ = sorted(path.relative_to(corpus).as_posix() for path in corpus.rglob("*.md"))
    damage(store, f"update rows set text = x'0102030405' where path = '{first}'")
    (corpus / second).write_text((corpus / second).read_text() + "\n## New\n\nThe hawser is new.\n")
    assert ingest(corpus, store).texts_embedded == 1
    assert not (store / "record.sqlite3.damaged").exists()


def test_a_search_leaves_out_a_row_that_is_damaged(world: tuple[Path, Path]) -> None:
    corpus, store = world
    with Index(parts(corpus, store)) as index:
        first, *_ = index.search("pump feeds valve", 5).results
        damage(store, f"update rows set text = x'0102030405' where path = '{first.citation.source}'")
        found = index.search("pump feeds valve", 5).results
        assert found
        assert first.citation.source not in {hit.citation.source for hit in found}
