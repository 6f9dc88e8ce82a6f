"""Notes and hand-overs: real hand-over files classed as a person classes them, and a class that fills its answer.

The list below was written by reading the 58 files, not by the program. Five of them have front matter; nothing but
that, or a place directly in the mirror folder, makes a hand-over, so by default all others are notes.
"""

import os
import shutil
import sqlite3
from itertools import product
from pathlib import Path

import pytest
from storecheck import BY_INDEX, ingest, parts

from rag_mcp import Index
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.ingest import ingest as promised
from rag_mcp.pure.stages import SearchPolicy

SHARED = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parents[2] / "shared")) / "data"
MODES = ("hybrid", "semantic", "keyword")

FRONTED = {
    "derived-frontmatter/active.md": "type: handoff, and a tag",
    "derived-frontmatter/handoff-2026-05-20.md": "type: Handoff, with a capital",
    "derived-frontmatter/handoff.md": "type: handoff, below a title in quotes",
    "derived-frontmatter/resume.md": "type: handoff, and a tag in a list of lines",
    "derived-frontmatter/session-note.md": "tags: '#handoff, #session', one text with a hash sign",
}
LEAN = ("08-09", "08-10", "08-11", "08-12", "08-15", "08-16", "08-17", "08-18", "08-19", "08-21", "08-22")
OPERATOR = (
    "04-21", "04-22", "04-23", "04-24", "04-25", "04-26", "04-29", "04-30", "05-01", "05-02", "05-03", "05-04", "05-05",
    "05-06", "05-07", "05-10", "05-11", "05-12", "05-13", "05-14", "05-15", "05-16", "05-17", "05-18", "05-19", "05-20",
)  # fmt: skip
DETECTION = "hassette/design/research/2026-06-10-forgotten-await-detection"

# folder -> its files, and what each is once that folder is the mirror folder
PLAIN: dict[str, dict[str, str]] = {
    "cc-switch/docs": {
        "handoff-2026-06-10.md": "handoff",  # ends in the word, the date aside
        "handoff-2026-06-11.md": "handoff",
    },
    "genshin-ts/.claude": {
        "handoff-gsts.md": "note",  # ends in another word
        "handoff.md": "handoff",  # one of the three names
    },
    "hassette/.claude": {"handoff.md": "handoff"},
    DETECTION: {"HANDOFF.md": "handoff"},  # in capitals
    "history/lean-doc": {f"handoff-2026-{day}.md": "handoff" for day in LEAN},
    "history/operator": {f"handoff-2026-{day}.md": "handoff" for day in OPERATOR},
    "history/pypeek": {
        "handoff-2026-08-03.md": "handoff",
        "handoff-2026-08-04.md": "handoff",
        "handoff-2026-08-05.md": "handoff",
    },
    "lean-doc/.claude": {"handoff.md": "handoff"},
    "mossraven/docs": {"HANDOFF-2026-06-10.md": "handoff"},  # in capitals, with a date
    "operator/docs": {"handoff.md": "handoff"},
    "pypeek/.claude": {"handoff.md": "handoff"},
    "tdpos/docs": {"handoff-2026-05-10.md": "handoff", "handoff-2026-05-11.md": "handoff"},
    "xmaster/.claude": {"handoff.md": "handoff"},
}
NOWHERE_DIRECTLY = ("history", "hassette", "genshin-ts", "hassette/design/research")
"""Folders whose files all lie deeper: a sub-folder of the mirror folder is not the mirror folder."""


def classes(store: Path) -> dict[str, set[str]]:
    """Each file's class, as its rows and its entry say it."""
    found: dict[str, set[str]] = {}
    with sqlite3.connect(store / "record.sqlite3") as db:
        for path, kind in db.execute("select path, doc_class from rows union select path, doc_class from files"):
            found.setdefault(path, set()).add(kind)
    db.close()
    return found


def expected(mirror: str = "") -> dict[str, set[str]]:
    plain = {
        f"{folder}/{name}": {kind if folder == mirror else "note"}
        for folder, names in PLAIN.items()
        for name, kind in names.items()
    }
    return plain | {path: {"handoff"} for path in FRONTED}


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "a8-handoff.tar.gz").is_file(), reason=f"no real corpora at {SHARED}")
def test_fifty_eight_real_files_are_classed_as_a_reader_classes_them_wherever_the_mirror_folder_is(
    tmp_path: Path,
) -> None:
    shutil.unpack_archive(SHARED / "a8-handoff.tar.gz", tmp_path, filter="data")
    (root,) = (path.parent for path in tmp_path.rglob("derived-frontmatter"))
    assert len(expected()) == 58
    store = tmp_path / "store"
    first = promised(root, store, embedder=HashEmbedder())
    assert (first["files_ingested"], first["files_skipped"]) == (58, 0)
    assert classes(store) == expected()
    for mirror in (*PLAIN, *NOWHERE_DIRECTLY):
        run = promised(root, store, embedder=HashEmbedder(), handoff_mirror_dir=mirror)
        assert classes(store) == expected(mirror), mirror
        assert run["texts_embedded"] == 0


@pytest.mark.slow
def test_three_hand_overs_among_five_thousand_notes_are_the_three_that_come(tmp_path: Path) -> None:
    """B41"""
    (tmp_path / "n").mkdir()
    for n in range(5_000):
        (tmp_path / "n" / f"c{n}.md").write_text(f"---\ntags: [common]\n---\n\n# Pump {n}\n\nPump pressure note {n}.\n")
    for n in range(3):
        (tmp_path / "n" / f"r{n}.md").write_text(
            f"---\ntags: [handoff]\n---\n\n# Pump r{n}\n\nOn the quay the pressure of a pump was seen, rare {n}.\n"
        )
    assert ingest(tmp_path / "n", tmp_path / "store").files_ingested == 5_003
    for policy, mode in product((SearchPolicy(), BY_INDEX), MODES):
        with Index(parts(tmp_path / "n", tmp_path / "store"), policy) as index:
            answer = index.search("pump pressure", 3, "handoff", mode=mode)
            assert answer.degraded is None
            assert {hit.citation.source for hit in answer.results} == {"r0.md", "r1.md", "r2.md"}
            unfiltered = index.search("pump pressure", 3, mode=mode).results
            assert mode == "keyword" or all(hit.citation.source.startswith("c") for hit in unfiltered)


@pytest.mark.parametrize("policy", [SearchPolicy(), BY_INDEX], ids=["scan", "index"])
@pytest.mark.parametrize("mode", MODES)
def test_hand_overs_that_match_better_take_no_place_from_notes(tmp_path: Path, policy: SearchPolicy, mode: str) -> None:
    (tmp_path / "n").mkdir()
    for n in range(30):
        (tmp_path / "n" / f"h{n}.md").write_text(f"---\ntype: handoff\n---\n\nharbour crane status {n}\n")
    for n in range(5):
        (tmp_path / "n" / f"n{n}.md").write_text(f"the crane in the far corner was painted in colour {n}\n")
    ingest(tmp_path / "n", tmp_path / "store")
    with Index(parts(tmp_path / "n", tmp_path / "store"), policy) as index:
        assert {hit.citation.source[0] for hit in index.search("harbour crane status", 20, mode=mode).results} == {"h"}
        notes = index.search("harbour crane status", 5, "note", mode=mode)
        assert {hit.citation.source for hit in notes.results} == {f"n{n}.md" for n in range(5)}
