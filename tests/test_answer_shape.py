"""What an answer is made of, and that nothing outside the corpus takes a place in it: real parts, the hash embedder."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from faulty import Faulty, raises
from storecheck import BY_INDEX, ingest, parts, write_corpus
from test_cli import rag

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.record.rows import unpacked
from rag_mcp.pure.errors import InvalidQuery
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.vectors import dot
from rag_mcp.search import search_knowledge

CITED = {
    "source", "heading", "chunk_index", "heading_path", "start_line", "end_line", "content_hash", "stale", "also_in",
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = write_corpus(tmp_path / "notes", pages=3, sections=2)
    (root / "ops").mkdir()
    (root / "ops" / "Pump room.md").write_text("The keys hang by the door.\n\n# Pumps\n\nGreased every 400 hours.\n")
    return root


@pytest.fixture
def store(tmp_path: Path, corpus: Path) -> Path:
    ingest(corpus, tmp_path / "store")
    return tmp_path / "store"


def displaced(store: Path, where: str, *paths: str) -> None:
    """Give the rows of `where`, in order, the `paths` as their sources, in turn."""
    with sqlite3.connect(store / "record.sqlite3") as db:
        found = [row for (row,) in db.execute(f"select id from rows where {where} order by id")]
        assert found
        for n, row in enumerate(found):
            db.execute("update rows set path = ? where id = ?", (paths[n % len(paths)], row))
    db.close()


def test_a_question_that_is_none_reaches_neither_embedder_nor_store(tmp_path: Path, corpus: Path, store: Path) -> None:
    with Index(parts(corpus, store, embedder=Faulty(raises, questions=True))) as index:
        for query in ("", " \n\t", 7, None, "x" * 4001):
            with pytest.raises(Refused) as refused:
                index.search(query)  # type: ignore[arg-type]
            assert isinstance(refused.value.failure, InvalidQuery)
    nowhere = tmp_path / "no store"
    for kind, answered in (
        ("invalid_query", search_knowledge(" ", doc_class="Note", store=nowhere, corpus_root=corpus)),
        ("invalid_doc_class", search_knowledge("x", doc_class="Note", store=nowhere, corpus_root=corpus)),
        ("store_missing", search_knowledge("x", doc_class="note", store=nowhere, corpus_root=corpus)),
    ):
        assert answered["error"]["type"] == kind
    wrong = [
        search_knowledge(query, doc_class=kind, store=nowhere, corpus_root=corpus)
        for query, kind in ((" ", None), ("x", "Note"), ("x", ""), ("x", 5))
    ]
    assert {(*reply, *reply["error"]) for reply in wrong} == {("ok", "error", "results", "type", "message")}


def test_an_answer_has_the_promised_keys_and_each_hit_a_citation_that_is_whole(corpus: Path, store: Path) -> None:
    reply = search_knowledge("where do the keys hang", 3, store=store, corpus_root=corpus)
    promised = ["ok", "query", "k", "count", "dropped_out_of_scope", "results"]
    assert [key for key in reply if key in promised] == promised
    assert (reply["query"], reply["k"], reply["count"]) == ("where do the keys hang", 3, 3)
    for hit in reply["results"]:
        assert set(hit) == {"text", "citation", "score", "similarity"}
        assert set(hit["citation"]) == CITED
        assert "\\" not in hit["citation"]["source"] and not hit["citation"]["source"].startswith("/")
    first = reply["results"][0]["citation"]
    assert (first["source"], first["heading"], first["chunk_index"]) == ("ops/Pump room.md", None, 0)
    below = search_knowledge("greased every 400 hours", 1, store=store, corpus_root=corpus)["results"][0]["citation"]
    assert (below["source"], below["heading"], below["chunk_index"]) == ("ops/Pump room.md", "Pumps", 1)


def test_similarity_is_the_cosine_and_answers_stand_best_first(corpus: Path, store: Path) -> None:
    question = "which pump feeds valve 3"
    asked = HashEmbedder().embed_query(question)
    with sqlite3.connect(store / "record.sqlite3") as db:
        vectors = db.execute("select r.text, v.vector from rows r join vectors v on v.rid = r.rid").fetchall()
    db.close()
    cosines = {unpacked(text): round(max(0.0, dot(asked, vector)), 4) for text, vector in vectors}
    with Index(parts(corpus, store)) as index:
        for mode in ("semantic", "hybrid", "keyword"):
            hits = index.search(question, 20, mode=mode).results
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
            near = [None if mode == "keyword" else cosines[hit.text] for hit in hits]
            assert [hit.similarity for hit in hits] == near
            assert mode != "semantic" or scores == near


@pytest.mark.parametrize("policy", [SearchPolicy(), BY_INDEX], ids=["scan", "index"])
def test_a_row_that_leads_out_of_the_corpus_in_any_way_is_dropped_and_counted(
    tmp_path: Path, corpus: Path, store: Path, policy: SearchPolicy
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("The keys hang by the door.\n")
    (corpus / "out").symlink_to(tmp_path / "outside")
    (corpus / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    with Index(parts(corpus, store), policy) as index:
        for path in ("", "/etc/hostname", "../../x.md", "ops/../../x.md", "out/secret.md", "secret.md"):
            displaced(store, "text like 'The keys hang%'", path)
            for mode in ("hybrid", "semantic", "keyword"):
                answer = index.search("the keys hang by the door", 5, mode=mode)
                assert answer.dropped_out_of_scope == 1, (path, mode)
                assert all("keys hang" not in hit.text for hit in answer.results)


@pytest.mark.parametrize("policy", [SearchPolicy(), BY_INDEX], ids=["scan", "index"])
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_what_is_dropped_takes_no_place_among_the_k(tmp_path: Path, policy: SearchPolicy, mode: str) -> None:
    corpus = tmp_path / "notes"
    corpus.mkdir()
    for n in range(150):
        (corpus / f"better{n:03}.md").write_text(f"harbour crane status {n}\n")
    for n in range(5):
        (corpus / f"worse{n}.md").write_text(f"in the far corner of the long quay the crane {n} was painted red\n")
    ingest(corpus, tmp_path / "store")
    displaced(tmp_path / "store", "path like 'better%'", *(f"../better{n:03}.md" for n in range(150)))
    with Index(parts(corpus, tmp_path / "store"), policy) as index:
        answer = index.search("harbour crane status", 5, mode=mode)
    assert [hit.citation.source[:5] for hit in answer.results] == ["worse"] * 5
    assert answer.dropped_out_of_scope >= 100


def test_a_link_out_of_the_corpus_is_never_embedded_and_is_in_the_report(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nThe marlinspike is in the safe.\n")
    (corpus / "leak.md").symlink_to(tmp_path / "secret.md")
    report = ingest(corpus, tmp_path / "store")
    assert ("leak.md", "a link that leads out of the corpus") in {(one.path, one.reason) for one in report.excluded}
    assert b"marlinspike" not in (tmp_path / "store" / "record.sqlite3").read_bytes()
    with Index(parts(corpus, tmp_path / "store")) as index:
        answer = index.search("marlinspike", 20)
    assert answer.dropped_out_of_scope == 0 and all(hit.citation.source != "leak.md" for hit in answer.results)


def test_a_second_clean_or_full_run_is_as_cheap_as_any(corpus: Path, store: Path) -> None:
    for how in ({"full": True}, {"clean": True}):
        with Index(parts(corpus, store)) as index:
            assert index.ingest(**how).texts_embedded > 0  # type: ignore[arg-type]
            assert index.ingest().texts_embedded == 0


def test_the_command_refuses_in_the_shape_of_the_tool_and_says_so_by_its_code(tmp_path: Path, corpus: Path) -> None:
    def asked(*more: str, code: int = 1) -> Any:
        return json.loads(rag(tmp_path, "query", "valve", "--db", "store", *more, "--json", code=code).stdout)

    absent = asked("-k", "99")
    assert (absent["ok"], absent["error"]["type"], absent["results"], absent["k"]) == (False, "store_missing", [], 20)
    rag(tmp_path, "ingest", "notes", "--db", "store", "--embedder", "hash")
    wrong = asked("--doc-class", "Note")
    assert set(wrong) == {"ok", "error", "results"} and wrong["error"]["type"] == "invalid_doc_class"
    assert asked("--doc-class", "note", code=0)["count"] == 5
    assert asked("--doc-class", "handoff", code=0)["count"] == 0
