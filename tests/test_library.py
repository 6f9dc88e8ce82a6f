"""The library as a user meets it: real parts, the hash embedder."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from faulty import REPORTED, RETURNED, Faulty
from storecheck import BY_INDEX, ingest, parts, write_corpus

from rag_mcp import ALL, Index, Refused
from rag_mcp.adapters import wiring
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.ports import Exact
from rag_mcp.ingest import CURRENT_METADATA_VERSION
from rag_mcp.ingest import ingest as ingest_function
from rag_mcp.pure import errors
from rag_mcp.pure.codec import plan_from_json, plan_to_json
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.search import ALLOWED_DOC_CLASSES, search_knowledge


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", pages=4, sections=3)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def opened(corpus: Path, store: Path, **given: object) -> Index:
    return Index(parts(corpus, store, **given))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refusal(call: object) -> errors.Failure:
    with pytest.raises(Refused) as caught:
        call()  # type: ignore[operator]
    return caught.value.failure


def test_a_plan_writes_nothing_at_all(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        plan = index.plan()
    assert [file.reason.value for file in plan.files] == ["new"] * 4
    assert not store.exists()


def test_a_second_run_embeds_nothing_and_writes_no_byte(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        assert index.ingest().texts_embedded > 0
    before = bytes_of(store)
    with opened(corpus, store) as index:
        report = index.ingest()
    assert (report.texts_embedded, report.files_unchanged) == (0, 4)
    assert bytes_of(store) == before


def test_citations_name_lines_that_hold_the_text(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        answer = index.search("which pump feeds valve 3", 20)
    assert answer.results
    for hit in answer.results:
        lines = (corpus / hit.citation.source).read_text().split("\n")
        assert hit.text in "\n".join(lines[hit.citation.start_line - 1 : hit.citation.end_line])
        assert not hit.citation.stale


def test_index_and_exact_scan_give_the_same_answers(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        exact = index.search("grease on monday", 10)
    with Index(parts(corpus, store), BY_INDEX) as index:
        approximate = index.search("grease on monday", 10)
    assert approximate.degraded is None
    assert exact.results == approximate.results


def test_a_paragraph_of_two_files_is_one_hit_and_survives_either(corpus: Path, store: Path) -> None:
    for name in ("one", "two"):
        (corpus / f"{name}.md").write_text("The anchor chain is inspected by divers.\n")
    with opened(corpus, store) as index:
        index.ingest()
        (hit,) = [hit for hit in index.search("anchor chain divers", 3).results if "anchor" in hit.text]
        assert (hit.citation.source, [place.source for place in hit.citation.also_in]) == ("one.md", ["two.md"])
        (corpus / "one.md").unlink()
        assert index.ingest().texts_embedded == 0
        hit = index.search("anchor chain divers", 1).results[0]
        assert (hit.citation.source, hit.citation.also_in) == ("two.md", ())


def test_a_hit_whose_file_changed_since_is_marked_stale(corpus: Path, store: Path) -> None:
    (corpus / "one.md").write_text("The anchor chain is inspected by divers.\n")
    with opened(corpus, store) as index:
        index.ingest()
        (corpus / "one.md").write_text("The anchor chain is inspected by divers.\n\nA line after.\n")
        assert not index.search("anchor chain divers", 1).results[0].citation.stale
        (corpus / "one.md").write_text("A line before.\n\nThe anchor chain is inspected by divers.\n")
        assert index.search("anchor chain divers", 1).results[0].citation.stale
        (corpus / "one.md").unlink()
        assert index.search("anchor chain divers", 1).results[0].citation.stale


def test_an_open_reader_answers_from_the_new_generation_without_being_told(corpus: Path, store: Path) -> None:
    for policy in (SearchPolicy(), BY_INDEX):
        with Index(parts(corpus, store), policy) as reader, opened(corpus, store) as writer:
            writer.ingest()
            reader.search("marlinspike", 3)
            (corpus / "new.md").write_text("The marlinspike is in locker seven.\n")
            writer.ingest()
            assert reader.search("marlinspike locker", 1).results[0].citation.source == "new.md"
            (corpus / "new.md").unlink()
            writer.ingest()
            assert all("marlinspike" not in hit.text for hit in reader.search("marlinspike locker", 5).results)


def test_an_open_reader_notices_a_store_that_was_replaced(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
    reader = opened(corpus, store)
    reader.search("valve", 1)
    shutil.rmtree(store)
    assert isinstance(refusal(lambda: reader.search("valve", 1)), errors.StoreMissing)
    (corpus / "new.md").write_text("The marlinspike is in locker seven.\n")
    with opened(corpus, store) as index:
        index.ingest()
    assert reader.search("marlinspike locker", 1).results[0].citation.source == "new.md"
    reader.close()


def test_rows_outside_the_corpus_are_never_shown(corpus: Path, store: Path, tmp_path: Path) -> None:
    import sqlite3

    with opened(corpus, store) as index:
        index.ingest()
        with sqlite3.connect(store / "record.sqlite3") as db:
            db.execute("update rows set path = '../../x.md' where path = 'part0/page0.md' and ordinal = 0")
        db.close()
        answer = index.search("page 0", 20)
    assert answer.dropped_out_of_scope == 1
    assert all(hit.citation.source != "../../x.md" for hit in answer.results)


def test_a_saved_plan_is_applied_and_a_moved_world_refuses_it(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        plan = plan_from_json(plan_to_json(index.save(index.plan()))).unwrap().plan
        assert plan == index.plan()
        assert index.apply(plan).files_ingested == 4
        (corpus / "part0" / "page0.md").write_text("# Changed\n")
        plan = index.plan()
        (corpus / "part0" / "page0.md").write_text("# Changed again\n")
        before = bytes_of(store)
        failure = refusal(lambda: index.apply(plan))
        assert isinstance(failure, errors.PlanMoved)
        assert "part0/page0.md changed" in failure.message
        assert bytes_of(store) == before


def test_an_emptied_corpus_is_not_pruned_unasked(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        shutil.rmtree(corpus)
        assert isinstance(refusal(index.ingest), errors.CorpusMissing)
        corpus.mkdir()
        assert isinstance(refusal(index.ingest), errors.PruneRefused)
        assert index.search("valve", 1).results
        assert index.ingest(allow_prune=ALL).files_pruned == 4
        assert isinstance(refusal(lambda: index.search("valve", 1)), errors.EmptyStore)


def test_a_corpus_that_was_moved_is_no_leave_to_forget_most_of_it(corpus: Path, store: Path, tmp_path: Path) -> None:
    for n in range(80):
        (corpus / f"note{n}.md").write_text(f"# Note {n}\n")
    with opened(corpus, store) as index:
        index.ingest()
    moved = corpus.rename(tmp_path / "elsewhere")
    for n in range(70):
        (moved / f"note{n}.md").unlink()
    with opened(moved, store) as index:
        assert isinstance(refusal(index.ingest), errors.PruneRefused)
        assert index.plan().notes == (f"the corpus was at {corpus} before",)


def test_a_mistyped_corpus_or_store_leaves_nothing_behind(corpus: Path, store: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "no such corpus", store) as index:
        assert isinstance(refusal(index.ingest), errors.CorpusMissing)
        assert isinstance(refusal(index.plan), errors.CorpusMissing)
    with opened(corpus, store) as index:
        assert isinstance(refusal(lambda: index.search("x")), errors.StoreMissing)
        assert isinstance(refusal(index.verify), errors.StoreMissing)
        assert isinstance(refusal(index.stats), errors.StoreMissing)
        assert isinstance(refusal(index.repair), errors.StoreMissing)
    assert not store.exists()


def test_a_second_writer_is_told_at_once_who_is_writing(corpus: Path, store: Path) -> None:
    first = opened(corpus, store)
    failures: list[errors.Failure] = []

    def checkpoint(name: str) -> None:
        if name == "cached" and not failures:
            code = (
                "import sys; sys.path[:0] = sys.argv[3:]\n"
                "from pathlib import Path\nfrom storecheck import ingest\nfrom rag_mcp import Refused\n"
                "try: ingest(Path(sys.argv[1]), Path(sys.argv[2]))\n"
                "except Refused as refused: print(refused.failure.message)"
            )
            here = Path(__file__).parent
            command = [sys.executable, "-c", code, str(corpus), str(store), str(here), str(here.parent)]
            failures.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # type: ignore[arg-type]

    first = Index(parts(corpus, store, checkpoint=checkpoint))
    first.ingest()
    assert f"process {os.getpid()} on " in str(failures[0])


@pytest.mark.parametrize("fault", [*RETURNED, *REPORTED])
def test_a_faulty_embedder_is_loud_and_changes_no_answer(corpus: Path, store: Path, fault: str) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        before = index.search("valve", 5)
    (corpus / "many.md").write_text("\n".join(f"# Head {n}\n\nText number {n}.\n" for n in range(40)))
    with opened(corpus, store, embedder=Faulty(fault, at=2)) as index:
        failure = refusal(index.ingest)
    assert isinstance(failure, errors.EmbedderFailed)
    assert "many.md" in failure.message
    with opened(corpus, store) as index:
        assert index.search("valve", 5) == before
        assert index.plan().generation == 1
        index.ingest()
        assert index.verify().ok


class Other(HashEmbedder):
    """Another model of the same dimension."""

    @property
    def identity(self):  # type: ignore[no-untyped-def]
        from attrs import evolve

        return evolve(super().identity, weights="other")


def test_another_embedder_of_the_same_dimension_is_another_identity(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
    with opened(corpus, store, embedder=Other()) as index:
        failure = refusal(lambda: index.search("valve"))
        assert isinstance(failure, errors.EmbedderMismatch)
        assert "rag-mcp ingest" in failure.message
        plan = index.plan()
        assert {file.reason.value for file in plan.files} == {"embedder changed"}
        assert plan.rebuild == "the embedder changed"
        assert index.ingest().texts_embedded > 0
        assert index.search("valve").results
        assert index.verify().ok


def test_full_embeds_everything_again_and_clean_starts_anew(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        first = index.ingest()
        full = index.ingest(full=True)
        assert full.texts_embedded == first.texts_embedded
        assert not full.incremental
        assert index.ingest().texts_embedded == 0
        clean = index.ingest(clean=True)
        assert (clean.texts_embedded, clean.generation) == (first.texts_embedded, 1)


def test_verify_finds_what_was_damaged_and_repair_mends_it_without_embedding(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        assert index.verify().ok
        shutil.rmtree(store / "index")
        (finding,) = index.verify().findings
        assert (finding.where, finding.severity.value) == ("vector index", "error")
    with opened(corpus, store, embedder=Faulty("raises", at=1)) as index:
        assert index.repair()
        assert index.verify().ok


def test_verify_says_where_the_corpus_has_moved_on(corpus: Path, store: Path) -> None:
    with opened(corpus, store) as index:
        index.ingest()
        (corpus / "part0" / "page0.md").write_text("# Changed\n")
        (corpus / "part1" / "page1.md").unlink()
        (corpus / "added.md").write_text("# Added\n")
        found = {(finding.where, finding.what) for finding in index.verify().findings}
    assert found == {
        ("added.md", "new since the last ingest"),
        ("part0/page0.md", "changed since the last ingest"),
        ("part1/page1.md", "gone since the last ingest"),
    }


def test_the_promised_functions_work_and_never_raise(corpus: Path, store: Path) -> None:
    assert ALLOWED_DOC_CLASSES == ("note", "handoff")
    assert CURRENT_METADATA_VERSION >= 1
    missing = search_knowledge("valve", store=store, corpus_root=corpus)
    assert (missing["ok"], missing["error"]["type"], missing["results"], missing["k"]) == (
        False,
        "store_missing",
        [],
        5,
    )
    report = ingest_function(corpus, store, embedder=HashEmbedder())
    assert report["files_ingested"] == 4
    found = search_knowledge("valve", 3, store=store, corpus_root=corpus)
    assert (found["ok"], found["k"], found["count"]) == (True, 3, 3)
    assert {"source", "heading", "chunk_index"} <= found["results"][0]["citation"].keys()
    assert search_knowledge("valve", doc_class="handoff", store=store, corpus_root=corpus)["count"] == 0
    assert search_knowledge(" ", store=store, corpus_root=corpus)["error"]["type"] == "invalid_query"
    assert (
        search_knowledge("x", doc_class="Note", store=store, corpus_root=corpus)["error"]["type"] == "invalid_doc_class"
    )


def test_a_filter_acts_before_the_cut(corpus: Path, store: Path) -> None:
    for n in range(30):
        (corpus / f"h{n}.md").write_text(f"---\ntype: handoff\n---\n\nharbour crane status {n}\n")
    for n in range(5):
        (corpus / f"n{n}.md").write_text(f"the crane in the far corner was painted in colour {n}\n")
    for policy in (SearchPolicy(), BY_INDEX):
        with Index(parts(corpus, store), policy) as index:
            index.ingest()
            notes = index.search("harbour crane status", 5, "note")
            assert notes.count == 5
            assert all("type: handoff" not in (corpus / hit.citation.source).read_text() for hit in notes.results)
            assert index.search("harbour crane status", 5, "handoff").count == 5


def test_files_whose_bytes_stand_elsewhere_do_not_count_as_vanished(corpus: Path, store: Path) -> None:
    """What a run leaves that was killed after it took in a renamed folder, and before it let go of the old name."""
    for n in range(70):
        (corpus / f"old-{n}.md").write_text(f"# Note {n}\n\nbody {n}\n")
    shutil.copytree(corpus, corpus / "renamed")
    with opened(corpus, store) as index:
        index.ingest()
        for path in corpus.glob("old-*.md"):
            path.unlink()
        report = index.ingest()
        assert (report.files_pruned, report.texts_embedded) == (70, 0)
        for path in (corpus / "renamed").glob("old-*.md"):
            path.unlink()
        assert isinstance(refusal(index.ingest), errors.PruneRefused)


def listed(index: Index) -> list[tuple[str, str, str]]:
    return [(each.path, each.lack.value, each.why) for each in index.coverage()]


LEFT_OUT = [
    ("link.md", "unreadable", "a link to nothing"),
    ("x\udcff.md", "unreadable", "its name is not UTF-8"),
    ("bytes.md", "undecodable", "it is a PNG image, not text"),
    (".obsidian/", "excluded", ""),
    ("empty.md", "without text", "nothing in it can be searched"),
    ("latin.md", "with a warning", ""),
]


@pytest.fixture
def lacking(corpus: Path) -> Path:
    (corpus / "bytes.md").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (corpus / "empty.md").write_text("---\ntitle: Only this\n---\n")
    (corpus / "latin.md").write_bytes("# Qualität\n".encode("latin-1"))
    (corpus / "link.md").symlink_to("nowhere.md")
    (corpus / ".obsidian").mkdir()
    (corpus / ".obsidian" / "workspace.md").write_text("# Tool\n")
    (corpus / os.fsdecode(b"x\xff.md")).write_text("# X\n")
    return corpus


def test_what_an_ingest_could_not_search_is_told_later_without_a_new_look(lacking: Path, store: Path) -> None:
    with opened(lacking, store) as index:
        index.ingest()
        shutil.rmtree(lacking)
        found = listed(index)
    assert [(path, lack) for path, lack, _ in found] == [(path, lack) for path, lack, _ in LEFT_OUT]
    assert all(why == said or not said for (_, _, why), (_, _, said) in zip(found, LEFT_OUT, strict=True))
    assert all(why for _, _, why in found)


def test_a_quiet_run_notes_down_only_what_changed_in_what_it_could_not_search(lacking: Path, store: Path) -> None:
    with opened(lacking, store) as index:
        generation = index.ingest().generation
    before = bytes_of(store)
    with opened(lacking, store) as index:
        index.ingest()
    assert bytes_of(store) == before
    (lacking / "bytes.md").unlink()
    (lacking / "other.md").write_bytes(b"a\0b")
    with opened(lacking, store) as index:
        report = index.ingest()
        assert (report.generation, report.texts_embedded) == (generation, 0)
        assert ("other.md", "undecodable", "it holds NUL characters (the first at character 1)") in listed(index)
        assert "bytes.md" not in {path for path, _, _ in listed(index)}


def test_a_store_from_before_the_coverage_list_is_read_and_gains_one(lacking: Path, store: Path) -> None:
    with opened(lacking, store) as index:
        index.ingest()
    with sqlite3.connect(store / "record.sqlite3") as db:
        db.execute("drop table coverage")
    db.close()
    with opened(lacking, store) as index:
        assert [path for path, _, _ in listed(index)] == ["empty.md", "latin.md"]
        index.ingest()
        assert len(listed(index)) == len(LEFT_OUT)


def test_a_run_that_fails_leaves_the_coverage_list_of_the_last_one(lacking: Path, store: Path) -> None:
    with opened(lacking, store) as index:
        index.ingest()
        before = listed(index)
    (lacking / "bytes.md").unlink()
    (lacking / "new.md").write_text("# New\n\nText that must be embedded.\n")
    with opened(lacking, store, embedder=Faulty(REPORTED[0], at=1)) as index:
        refusal(index.ingest)
        assert listed(index) == before


def test_a_word_that_stands_nearly_everywhere_is_left_out_and_alone_it_still_finds(corpus: Path, store: Path) -> None:
    (corpus / "rare.md").write_text("# Rare\n\nvalves and the marlinspike\n")
    with Index(parts(corpus, store), SearchPolicy(common=3)) as index:
        index.ingest()
        both = index.search("valve marlinspike", 10, mode="keyword")
        assert [hit.citation.source for hit in both.results] == ["rare.md"]
        alone = index.search("valve", 20, mode="keyword")
        assert alone.count > 3
    with Index(parts(corpus, store)) as index:
        assert index.search("valve marlinspike", 10, mode="keyword").count > 3


def test_a_filter_that_leaves_few_reads_no_other_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path / "notes", pages=12, sections=5)
    page = corpus / "part0" / "page3.md"
    page.write_text("---\ntype: handoff\n---\n\n" + page.read_text())
    ingest(corpus, tmp_path / "store")
    sizes: list[int] = []

    def counting(pairs: Iterable[tuple[str, bytes]]) -> Exact:
        held = list(pairs)
        sizes.append(len(held))
        return scan(held)

    scan = wiring.scan
    monkeypatch.setattr(wiring, "scan", counting)
    with Index(parts(corpus, tmp_path / "store"), SearchPolicy(exact_up_to=10)) as index:
        few = index.search("pump", 3, "handoff")
        again = index.search("valve", 3, "handoff")
    assert few.count == again.count == 3
    assert {hit.citation.source for hit in few.results} == {"part0/page3.md"}
    assert max(sizes) <= 10, sizes
    with Index(parts(corpus, tmp_path / "store"), SearchPolicy()) as index:
        assert index.search("pump", 3, "handoff") == few


def test_a_program_that_ends_while_the_model_is_still_being_loaded_ends_well(tmp_path: Path) -> None:
    """Nothing need be embedded after a change of front matter alone; the model was being made ready all the same."""
    page = tmp_path / "notes" / "page.md"
    page.parent.mkdir()
    page.write_text("# A page\n\nThe pump feeds the valve.\n")
    script = (
        "from rag_mcp import Index\nwith Index.open('notes', store='store', engine='onnxruntime') as index:\n"
        "    print(index.ingest().texts_embedded)"
    )
    said = []
    for front in ("", "---\ntags: [a]\n---\n", "---\ntags: [b]\n---\n", "---\ntags: [c]\n---\n"):
        page.write_text(front + "# A page\n\nThe pump feeds the valve.\n")
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True)
        said.append((done.returncode, done.stdout, done.stderr))
    assert said == [(0, "1\n", ""), *[(0, "0\n", "")] * 3]
