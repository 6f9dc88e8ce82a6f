"""Small inputs that broke programs of this kind, each taken as it is written through the steps that it names.

The label of the case stands in the docstring; docs/conformance.md says which test shows which case. A case that ends
in one function stands with the laws of that function.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import evolve
from faulty import Faulty, one_too_few
from properties.markdown_texts import chunks
from storecheck import BY_INDEX, contents, ingest, parts
from test_kills import killed_at, mend
from wires import another_user, serving, world

from rag_mcp import ALL, Index, Refused
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.pure.errors import EmbedderFailed, SourceUnavailable
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.summary import Report

FENCE = "\x60\x60\x60"


@pytest.fixture
def n(tmp_path: Path) -> Path:
    (tmp_path / "n").mkdir()
    return tmp_path / "n"


def ingested(n: Path, **given: Any) -> Report:
    report: Report = ingest(n, n.parent / "store", **given)
    return report


def asked(n: Path, question: str, k: int = 5, mode: str = "hybrid") -> list[tuple[str, str | None, str]]:
    """(source, heading, text) of the answer, best first; each text must stand on the lines that are cited."""
    with Index(parts(n, n.parent / "store")) as index:
        results = index.search(question, k, mode=mode).results
    for hit in results:
        lines = (n / hit.citation.source).read_bytes().decode("utf-8-sig").splitlines(keepends=True)
        assert hit.text in "".join(lines[hit.citation.start_line - 1 : hit.citation.end_line])
        assert not hit.citation.stale
    return [(hit.citation.source, hit.citation.heading, hit.text) for hit in results]


def command(home: Path, *arguments: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
    """The program itself, over the hash embedder."""
    return subprocess.run(
        [sys.executable, "-m", "rag_mcp", *arguments],
        env=world(home, RAG_MCP_EMBEDDER="hash"), cwd=home, capture_output=True, text=True, timeout=120, check=False,
        user=user, group=user, extra_groups=None if user is None else [],
    )  # fmt: skip


# ---- headings, fences, text


OPENERS = ("sh", "js {1,3}", "{r}", "c#", 'py title="x"')


def test_what_follows_a_fence_is_cited_under_the_heading_above_it_whatever_opens_the_fence(n: Path) -> None:
    """B1, B4"""
    for number, opener in enumerate(OPENERS):
        (n / f"{number}.md").write_text(f"# Setup\n\n{FENCE}{opener}\n# install\nmake\n{FENCE}\n\nAfter.\n")
    (n / "open.md").write_text(f"# Open\n\n{FENCE}yaml\nkey: 1\n\n## Important\n\nThe sealant cures in 9 hours.\n")
    ingested(n)
    assert {(source, heading) for source, heading, _ in asked(n, "After install make", 20)} >= {("0.md", "Setup")}
    (first, *_) = asked(n, "sealant cures")
    assert first[:2] == ("open.md", "Open") and first[2].endswith("The sealant cures in 9 hours.")
    assert {heading for _, heading, _ in asked(n, "install", 20)} == {"Setup", "Open"}


def test_a_byte_order_mark_is_in_no_passage_and_moves_no_line(n: Path) -> None:
    """B5"""
    (n / "a.md").write_bytes(b"\xef\xbb\xbf# Title\n\nText.\n")
    (n / "b.md").write_bytes(b"\xef\xbb\xbf---\ntitle: T\n---\n\nText of b.\n")
    ingested(n)
    found = {source: (heading, text) for source, heading, text in asked(n, "Text")}
    assert found == {"a.md": ("Title", "# Title\n\nText."), "b.md": (None, "Text of b.")}
    with Index(parts(n, n.parent / "store")) as index:
        assert {index.read(name)[:1] for name in ("a.md", "b.md")} <= {"#", "-"}


BROKEN = {
    "1.md": ("---\ntitle: a: b\n---\n\nBody one.\n", "line 2"),
    "2.md": ("---\nyear: {{date:YYYY}}\n---\n\nBody two.\n", "line 2"),
    "3.md": ("---\ntags:\n\t- x\n---\n\nBody three.\n", "line 3"),
    "4.md": ("---\ntags: [x]\ntags: [y]\n---\n\nBody four.\n", "line 3"),
    "5.md": ("---\ntitle: open\n\n# Real\n\nBody five.\n", ""),
}


def test_every_body_is_found_below_front_matter_of_any_kind_and_the_report_names_file_and_line(n: Path) -> None:
    """B8"""
    for name, (text, _) in BROKEN.items():
        (n / name).write_text(text)
    report = ingested(n)
    for name, (text, line) in BROKEN.items():
        assert (n / name).read_text() == text
        told = [warning for warning in report.warnings if warning.startswith(f"{name}: ")]
        assert [line in warning for warning in told] == ([True] if line else [])
        word = text.split()[-1].rstrip(".")
        assert asked(n, f"Body {word}", mode="keyword")[0][0] == name
    assert asked(n, "Body five")[0][1] == "Real"


def test_a_key_that_is_no_plain_value_costs_neither_the_file_nor_another_key(n: Path) -> None:
    """B9"""
    front = "date: 2024-01-02\ntags: [a, handoff]\nx: null\nn: .nan\nm: {a: {b: [1]}}\nflag: yes\ntitle: T"
    (n / "a.md").write_text(f"---\n{front}\n---\n\nBody.\n")
    first = contents(n.parent / "store", n) if ingested(n).files_ingested else {}
    assert asked(n, "Body")[0][::2] == ("a.md", "Body.")
    assert [(row[7], row[8]) for row in first["files"]] == [("T", "handoff")]
    with Index(parts(n, n.parent / "store")) as index:
        index.ingest(full=True)
    assert contents(n.parent / "store", n) == first


def test_text_before_a_heading_a_file_without_one_and_a_heading_without_text_are_found(n: Path) -> None:
    """B11"""
    (n / "a.md").write_text("Preamble first.\n\n# Deploy\n\n## Rollback\n\n## T ##\n\nText.\n")
    (n / "b.md").write_text("No heading at all.\n")
    ingested(n)
    for question, source, heading in (
        ("Preamble", "a.md", None),
        ("Rollback", "a.md", "Rollback"),
        ("No heading", "b.md", None),
        ("Text", "a.md", "T"),
    ):
        assert asked(n, question)[0][:2] == (source, heading), question


@pytest.mark.slow
def test_a_line_of_five_megabytes_is_cut_small_and_each_of_its_characters_is_measured_a_few_times(n: Path) -> None:
    """B14: work grows with the file, not with its square."""
    seen = 0

    def measure(texts: Sequence[str]) -> Sequence[int]:
        nonlocal seen
        seen += sum(map(len, texts))
        return [len(text.split()) for text in texts]

    source = "word " * 1_000_000
    cut = chunks(source, 254, measure)
    assert "".join("".join(chunk.text.split()) for chunk in cut) == "word" * 1_000_000
    assert max(len(chunk.text.split()) for chunk in cut) <= 254
    assert seen < 6 * len(source)
    (n / "a.md").write_text("# L\n\n" + "x" * 21_000)
    assert ingested(n).store_count > 1
    assert all(len(text) < 2_000 for _, _, text in asked(n, "L", 20))


@pytest.mark.model
def test_words_at_the_end_of_a_text_that_fills_the_models_window_are_found_by_meaning_alone(n: Path) -> None:
    """B43"""
    from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

    random = Random(1)
    dense = " ".join(f"{random.getrandbits(32):08x}" for _ in range(100))
    (n / "a.md").write_text(f"# Dense\n\n{dense} zeppelin hangar door\n")
    (n / "b.md").write_text("# Bread\n\nThe dough rests overnight in a cool room.\n")
    with Index(parts(n, n.parent / "store", embedder=OnnxEmbedder())) as index:
        index.ingest()
        (best, *_) = index.search("zeppelin hangar door", mode="semantic").results
    assert best.text.endswith("zeppelin hangar door")
    assert best.score > 0.3


# ---- files, deletion, moves


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that another user may enter: each pytest that starts closes those that pytest makes."""
    with TemporaryDirectory(prefix="cases-") as home:
        Path(home).chmod(0o755)
        yield Path(home)


@pytest.mark.slow
def test_what_cannot_be_seen_is_kept_and_named_and_an_empty_root_empties_nothing(reachable: Path) -> None:
    """B16, as a user whom permissions bind."""
    user, home, n = another_user(), reachable, reachable / "n"
    (n / "sub").mkdir(parents=True)
    (n / "a.md").write_text("# A\n\nThe anchor is on deck.\n")
    (n / "sub" / "b.md").write_text("# B\n\nThe bucket is below.\n")
    if user:
        for path in (home, *home.rglob("*")):
            os.chown(path, user, user)

    def run(code: int, *named: str) -> None:
        done = command(home, "ingest", "n", "--db", "store", user=user)
        assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
        assert [name for name in named if name not in done.stdout + done.stderr] == []
        shown = command(home, "query", "anchor bucket", "--db", "store", "--json", user=user).stdout
        assert {hit["citation"]["source"] for hit in json.loads(shown)["results"]} == {"a.md", "sub/b.md"}

    try:
        run(0)
        for path, mode in ((n / "sub", 0), (n / "sub", 0o644), (n / "a.md", 0)):
            before = path.stat().st_mode
            path.chmod(mode)
            run(4, str(path.relative_to(n)))
            path.chmod(before)
        n.rename(home / "n.away")
        run(1, "no such folder")
        n.mkdir()
        if user:
            os.chown(n, user, user)
        run(1, "--allow-prune")
        n.rmdir()
        (home / "n.away").rename(n)
        run(0)
    finally:
        for path in (n / "sub", n / "a.md"):
            if path.exists():
                path.chmod(0o755)


def test_loops_leaks_pipes_and_sockets_are_passed_over_and_take_no_place(n: Path, monkeypatch: Any) -> None:
    """B18"""
    secret = n.parent / "hostname"
    secret.write_text("marlinspike.example\n")
    (n / "a.md").write_text("# A\n\nThe marlinspike is on deck.\n")
    (n / "loop").symlink_to("..")
    (n / "leak.md").symlink_to(secret)
    os.mkfifo(n / "pipe.md")
    monkeypatch.chdir(n)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("sock.md")
    report = ingested(n)
    assert (report.files_ingested, report.store_count) == (1, 1)
    assert {held.path for held in report.held} == {"pipe.md", "sock.md"}
    assert {left.path for left in report.excluded} == {"leak.md", "loop/"}
    assert [source for source, _, _ in asked(n, "marlinspike.example", 1)] == ["a.md"]
    assert b"marlinspike.example" not in (n.parent / "store" / "record.sqlite3").read_bytes()


def test_no_name_leads_a_reader_out_of_the_corpus_or_tells_what_is_there(n: Path) -> None:
    """B19"""
    (n / "a.md").write_text("# A\n")
    (n / "link").symlink_to(n.parent)
    (n.parent / "there.md").write_text("# Outside\n")
    ingested(n)
    names = (
        "../../etc/hostname", "%2e%2e/%2e%2e/etc/hostname", "/etc/hostname", "C:\\Windows\\win.ini", "a.md\0.txt",
        "link/../../x.md", "link/there.md", "link/absent.md", "../there.md", "../absent.md", "link",
    )  # fmt: skip
    said = set()
    with Index(parts(n, n.parent / "store")) as index:
        for name in names:
            with pytest.raises(Refused) as refused:
                index.read(name)
            assert isinstance(refused.value.failure, SourceUnavailable)
            said.add(refused.value.failure.message.replace(repr(name), "X"))
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("effect", ["rows written", "synced", "committed"])
def test_of_a_file_that_came_in_a_killed_run_and_went_before_the_next_nothing_is_left(n: Path, effect: str) -> None:
    """B20; every effect is swept in test_history.py, over an index of plain files."""
    home = n.rename(n.parent / "corpus").parent
    (home / "corpus" / "old.md").write_text("# Old\n\nThe pump is old.\n")
    ingest(home / "corpus", home / "store")
    (home / "corpus" / "new.md").write_text("# New\n\nThe marlinspike is in locker seven.\n")
    killed_at(home / "corpus", home / "store", f"{effect}:1")
    (home / "corpus" / "new.md").unlink()
    mend(home)
    with Index(parts(home / "corpus", home / "store")) as index:
        assert {hit.citation.source for hit in index.search("marlinspike", 20).results} == {"old.md"}


def test_a_file_that_moved_is_found_at_its_new_place_alone_and_costs_no_embedding(n: Path) -> None:
    """B21"""
    (n / "a.md").write_text("# A\n\nThe anchor is on deck.\n")
    ingested(n)
    (n / "sub").mkdir()
    (n / "a.md").rename(n / "sub" / "a.md")
    assert ingested(n).texts_embedded == 0
    assert [source for source, _, _ in asked(n, "anchor", 20)] == ["sub/a.md"]
    assert {path for path, *_ in contents(n.parent / "store", n)["rows"]} == {"sub/a.md"}


@pytest.mark.skipif(sys.platform == "darwin", reason="this file system makes one name of the two")
def test_two_spellings_of_one_name_are_two_files_and_a_name_that_changes_its_spelling_is_one_file_moved(
    n: Path,
) -> None:
    """B24"""
    composed, apart = (unicodedata.normalize(form, "\u00e9.md") for form in ("NFC", "NFD"))
    for form, name in (("NFC", composed), ("NFD", apart)):
        (n / name).write_text(f"# {form}\n\nText {form}.\n")
    assert ingested(n).files_seen == 2
    assert {source for source, _, _ in asked(n, "Text", 20)} == {composed, apart}
    (n / composed).unlink()
    report = ingested(n)
    assert (report.files_pruned, report.texts_embedded) == (1, 0)
    assert [source for source, _, _ in asked(n, "Text", 20)] == [apart]
    (n / apart).rename(n / composed)
    report = ingested(n)
    assert (report.files_seen, report.files_moved, report.texts_embedded) == (1, 1, 0)
    assert [source for source, _, _ in asked(n, "Text", 20)] == [composed]


def test_only_another_text_is_embedded_again_whatever_the_clock_and_the_line_ends_say(n: Path) -> None:
    """B42"""
    (n / "a.md").write_text("A")
    (n / "b.md").write_text("# B\n\nOne line.\n\nAnother line.\n")
    ingested(n)
    for path in n.iterdir():
        os.utime(path, (1, 1))
    assert ingested(n).texts_embedded == 0
    here, there = (n / "b.md").read_text(), "# B\n\nThe other branch says this.\n"
    (n / "b.md").write_text(there)
    assert ingested(n).texts_embedded == 1
    (n / "b.md").write_text(here)
    assert ingested(n).texts_embedded == 0
    before = (n / "a.md").stat()
    (n / "a.md").write_text("B")
    os.utime(n / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (n / "a.md").stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert ingested(n).texts_embedded == 1
    (n / "b.md").write_bytes(here.replace("\n", "\r\n").encode())
    assert ingested(n).texts_embedded == 0
    ((source, heading, text), *_) = asked(n, "Another line")
    assert (source, heading) == ("b.md", "B") and "\r\n" in text


# ---- model and store


class Prefixed(HashEmbedder):
    """The same model, asked with words in front of each question."""

    @property
    def identity(self) -> Any:
        return evolve(super().identity, query_prefix="query: ")


def test_another_prefix_for_questions_is_another_embedder_and_is_said(n: Path) -> None:
    """B26"""
    (n / "a.md").write_text("# A\n\nThe anchor is on deck.\n")
    ingested(n)
    with Index(parts(n, n.parent / "store", embedder=Prefixed())) as index:
        plan = index.plan()
        assert {file.reason.value for file in plan.files} == {"embedder changed"}
        with pytest.raises(Refused, match="rag-mcp ingest"):
            index.search("anchor")
        assert index.ingest().texts_embedded == 1
    with Index(parts(n, n.parent / "store")) as old, pytest.raises(Refused, match="rag-mcp ingest"):
        old.search("anchor")


def test_of_a_file_whose_embedding_fails_the_former_passages_stay_and_none_of_the_new_are_stored(n: Path) -> None:
    """B27"""
    (n / "a.md").write_text("# A\n\nThe anchor is on deck.\n")
    ingested(n)
    before = contents(n.parent / "store", n)
    (n / "a.md").write_text("\n".join(f"# Head {m}\n\nText number {m}.\n" for m in range(40)))
    faulty = Index(parts(n, n.parent / "store", embedder=Faulty(one_too_few, at=1)))
    with faulty as index, pytest.raises(Refused) as refused:
        index.ingest(allow_prune=ALL)
    failure = refused.value.failure
    assert isinstance(failure, EmbedderFailed) and "a.md" in failure.message
    after = contents(n.parent / "store", n)
    assert [row[11] for row in after["rows"]] == ["# A\n\nThe anchor is on deck."]
    assert {key: after[key] for key in ("files", "rows", "keywords")} == {
        key: before[key] for key in ("files", "rows", "keywords")
    }


def test_two_ingests_at_once_leave_what_one_leaves_and_the_second_says_who_writes(n: Path) -> None:
    """B30"""
    for m in range(60):
        (n / f"{m}.md").write_text(f"# Note {m}\n\nText {m}.\n")
    home = n.parent
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "rag_mcp", "ingest", "n", "--db", "store"], cwd=home, text=True,
            env=world(home, RAG_MCP_EMBEDDER="hash"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    settings = {"RAG_MCP_CORPUS_ROOT": str(n), "RAG_MCP_DB_PATH": str(home / "store")}
    with serving(home, **settings) as server:
        said = [(process.communicate(timeout=120)[1], process.returncode) for process in both]
        server.shake_hands()
        reply = server.found(2, query="note 7")
        assert reply["ok"] and reply["count"] == 5
    assert sorted(code for _, code in said) in ([0, 0], [0, 3])
    for text, code in said:
        assert "Traceback" not in text and (code == 0 or re.search(r"process \d+ on|another process", text)), text
    by_scan = SearchPolicy()  # so many like vectors that two graphs of them may answer differently
    stored = contents(home / "store", n, by_scan)
    shutil.rmtree(home / "store")
    ingested(n)
    assert contents(home / "store", n, by_scan) == stored


# ---- questions


def test_a_name_or_a_number_brings_its_note_first_and_marks_of_any_kind_are_plain_text(n: Path) -> None:
    """B39"""
    (n / "a.md").write_text("# Log\n\nDEC-0054 shipped in 2026.4.10, after 1.0.21; C++ said ERR_CONN_REFUSED.\n")
    (n / "b.md").write_text("# Log\n\nDEC-0055 shipped in 2026.4.11, after 1.0.22; C said ERR_CONN_RESET.\n")
    (n / "c.md").write_text("# Other\n\nThe connection was refused, and 10 of 2026 shipped in C# or C.\n")
    for m in range(20):
        (n / f"{m}.md").write_text(f"# Note {m}\n\nNothing to see on day {m}, and nothing was shipped.\n")
    ingested(n)
    for question in ("DEC-0054", "2026.4.10", '"1.0.21"', "C++", "ERR_CONN_REFUSED"):
        assert asked(n, question)[0][0] == "a.md", question
    with Index(parts(n, n.parent / "store"), BY_INDEX) as index:
        for question in ('"unbalanced', "*", "AND", "NEAR(", "-x"):
            for mode in ("hybrid", "semantic", "keyword"):
                index.search(question, mode=mode)
        with pytest.raises(Refused, match="non-empty"):
            index.search("")
