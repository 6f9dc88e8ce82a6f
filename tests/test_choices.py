"""What was chosen for a store holds until another is chosen; changing it rewrites rows and embeds nothing."""

import json
import sqlite3
from pathlib import Path

import pytest
from faulty import Faulty, raises
from storecheck import ingest, parts, write_corpus
from test_cli import rag
from test_kills import killed_at

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.ingest import ingest as promised
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.plans import Reason
from rag_mcp.pure.wishes import Wishes

LOGS = Wishes(mirror_dir="logs/", mirror_basenames=("today.md",))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = write_corpus(tmp_path / "notes", pages=4, sections=2)
    for folder, name in (("context", "active.md"), ("logs", "today.md"), ("logs", "active.md")):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / name).write_text(f"# {folder} {name}\n\nThe {folder} of {name} are on deck.\n")
    return root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def classed(store: Path) -> set[str]:
    with sqlite3.connect(store / "record.sqlite3") as db:
        found = {path for (path,) in db.execute("select distinct path from rows where doc_class = 'handoff'")}
    db.close()
    return found


def nobody_embeds() -> Faulty:
    return Faulty(raises)


def test_a_changed_setting_rewrites_rows_in_the_plans_own_line_and_embeds_nothing(corpus: Path, store: Path) -> None:
    ingest(corpus, store)
    assert classed(store) == {"context/active.md"}
    with Index(parts(corpus, store, wishes=LOGS, embedder=nobody_embeds())) as index:
        stale = [file.path for file in index.plan().files if file.reason is Reason.METADATA_STALE]
        assert len(stale) == 7
        report = index.ingest()
    assert (report.texts_embedded, report.chunks_added, report.chunks_deleted) == (0, 0, 0)
    assert report.rows_rewritten == report.store_count
    assert classed(store) == {"logs/today.md"}


def test_a_run_that_says_nothing_undoes_nothing_and_writes_nothing(corpus: Path, store: Path) -> None:
    ingest(corpus, store, wishes=LOGS)
    before = (store / "record.sqlite3").read_bytes()
    report = ingest(corpus, store)
    assert (report.files_unchanged, report.rows_rewritten) == (7, 0)
    assert (store / "record.sqlite3").read_bytes() == before
    (corpus / "logs" / "today.md").write_text("# Today\n\nAnother day.\n")
    ingest(corpus, store)
    assert classed(store) == {"logs/today.md"}
    with Index(parts(corpus, store)) as index:
        index.ingest(clean=True)
    assert classed(store) == {"logs/today.md"}


def test_an_open_index_follows_what_another_run_was_told(corpus: Path, store: Path) -> None:
    ingest(corpus, store)
    with Index(parts(corpus, store)) as watcher:
        ingest(corpus, store, wishes=LOGS)
        watcher.ingest()
    assert classed(store) == {"logs/today.md"}


@pytest.mark.model
def test_an_open_index_that_named_no_embedder_never_goes_back_to_an_older_one(corpus: Path, store: Path) -> None:
    ingest(corpus, store)
    with Index.open(corpus, store=store, environ={}) as watcher:
        watcher.search("deck")
        with Index.open(corpus, store=store, embedder="default", environ={}) as other:
            other.ingest()
        report = watcher.ingest()
        assert (report.files_unchanged, report.texts_embedded) == (7, 0)
        assert watcher.search("deck").results
        assert watcher.stats().embedder == "minilm-l6-v2"


def test_one_wish_leaves_the_other_settings_as_they_were(corpus: Path, store: Path) -> None:
    ingest(corpus, store, wishes=Wishes(mirror_dir="logs"))
    assert classed(store) == {"logs/active.md"}
    ingest(corpus, store, wishes=Wishes(mirror_basenames=("today.md", "active.md")))
    assert classed(store) == {"logs/active.md", "logs/today.md"}


@pytest.mark.parametrize("effect", ["rows written", "committing", "committed"])
def test_an_interrupted_backfill_is_finished_by_the_next_run(corpus: Path, store: Path, effect: str) -> None:
    ingest(corpus, store)
    with sqlite3.connect(store / "record.sqlite3") as db:  # a store from before the classes: key and version missing
        db.execute("update rows set doc_class = ''")
        db.execute("update files set doc_class = '', labels = 'before'")
    db.close()
    killed_at(corpus, store, f"{effect}:1")
    report = ingest(corpus, store, embedder=nobody_embeds())
    assert report.texts_embedded == 0
    assert report.files_unchanged == (7 if effect == "committed" else 0)
    with sqlite3.connect(store / "record.sqlite3") as db:
        assert dict(db.execute("select doc_class, count(*) from rows group by 1")).keys() == {"note", "handoff"}
    db.close()
    assert classed(store) == {"context/active.md"}
    assert ingest(corpus, store).files_unchanged == 7


def test_a_choice_that_cannot_be_read_is_the_default_and_costs_no_embedding(corpus: Path, store: Path) -> None:
    ingest(corpus, store, wishes=LOGS)
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("update choices set choices = '{\"chunking\": 3}'")
    db.close()
    ingest(corpus, store, embedder=nobody_embeds())
    assert classed(store) == {"context/active.md"}


def test_the_promised_function_takes_characters_and_keeps_them(corpus: Path, store: Path) -> None:
    (corpus / "long.md").write_text("# Long\n\n" + "".join(f"Sentence {n} is about pump {n}. " for n in range(200)))
    fake = HashEmbedder()
    whole = promised(corpus, store_dir=store, embedder=fake)
    cut = promised(corpus, store, embedder=fake, max_chars=300, overlap=60)
    assert cut["store_count"] > whole["store_count"]
    assert promised(corpus, store, embedder=fake)["files_unchanged"] == 8
    assert promised(corpus, store, embedder=fake, max_chars=1000, overlap=0)["store_count"] == whole["store_count"]
    assert promised(corpus, store, embedder=fake, handoff_mirror_dir="logs")["texts_embedded"] == 0
    assert classed(store) == {"logs/active.md"}
    for wrong in ({"max_chars": 100, "overlap": 100}, {"handoff_mirror_dir": "/etc"}, {"store_dir": corpus}):
        with pytest.raises(Refused):
            promised(corpus, store, embedder=fake, **wrong)  # type: ignore[arg-type]


def test_the_library_takes_the_same_settings(corpus: Path, store: Path) -> None:
    opened = Index.open(
        corpus, store=store, embedder=HashEmbedder(), handoff_mirror_dir="logs", chunking=Chunking(budget=64)
    )
    with opened as index:
        saved = index.save(index.plan())
        assert (saved.choices.labelling.mirror_dir, saved.choices.chunking.budget) == ("logs/", 64)
        index.apply(saved.plan)
    assert classed(store) == {"logs/active.md"}


def test_the_command_line_takes_them_saves_them_in_plans_and_keeps_them(tmp_path: Path, corpus: Path) -> None:
    flags = ("--handoff-mirror-dir", "logs", "--handoff-mirror-basename", "today.md")
    rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash")
    shown = rag(tmp_path, "ingest", "notes", "--db", "store", *flags, "--plan", "--out", "p.json").stdout
    assert "  # 7 metadata stale " in shown
    assert "rows to rewrite, nothing to embed" in shown
    rag(tmp_path, "apply", "p.json")
    assert classed(tmp_path / "store") == {"logs/today.md"}
    assert json.loads(rag(tmp_path, "ingest", "notes", "--db", "store", "--json").stdout)["files_unchanged"] == 7
    wrong = rag(tmp_path, "ingest", "notes", "--db", "store", "--handoff-mirror-dir", "/etc", code=2).stderr
    assert wrong == "rag-mcp: the mirror folder '/etc' must be a folder of the corpus, as context/ is\n"
