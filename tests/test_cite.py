"""Citations of a real search, held against files that were edited, moved, removed and replaced by links since."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from storecheck import ingest, parts, write_corpus

from rag_mcp import Index, Refused
from rag_mcp.pure.citations import Citation
from rag_mcp.pure.citing import Lines, Verdict
from rag_mcp.pure.errors import InvalidCitation, SourceUnavailable

ROOT = Path(__file__).parent.parent


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ingest(write_corpus(tmp_path / "notes", pages=4, sections=3), tmp_path / "store")
    return tmp_path


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with Index(parts(home / "notes", home / "store")) as index:
        yield index


@pytest.fixture
def hit(index: Index) -> Citation:
    """A passage that stands in one place only."""
    [found] = index.search("pump 6 feeds valve 5 of page 3", 1).results
    assert found.citation.source == "part0/page3.md"
    return found.citation


def at(hit: Citation) -> str:
    return f"{hit.source}:{hit.start_line}-{hit.end_line}"


def test_what_a_search_cites_holds_until_its_file_is_edited(home: Path, index: Index, hit: Citation) -> None:
    cited = index.cite(at(hit), hit.content_hash)
    assert (cited.verdict, cited.holds) == (Verdict.HOLDS, True)
    page = home / "notes" / hit.source
    text = page.read_text()
    page.write_text("a line\nand another\n" + text)
    moved = index.cite(at(hit), hit.content_hash)
    assert (moved.verdict, moved.holds) == (Verdict.MOVED, False)
    assert moved.now == Lines(hit.source, hit.start_line + 2, hit.end_line + 2)
    index.ingest()
    assert index.cite(at(hit), hit.content_hash).now == moved.now
    page.write_text(text.replace("Pump 6 feeds", "Pump 6 fed"))
    assert index.cite(at(hit), hit.content_hash).verdict is Verdict.CHANGED
    index.ingest()  # now the index has no such text any more
    assert index.cite(at(hit), hit.content_hash).verdict is Verdict.CHANGED
    page.write_text("a line\n" + text)  # and finds it again by its hash alone
    assert index.cite(at(hit), hit.content_hash).now == Lines(hit.source, hit.start_line + 1, hit.end_line + 1)


def test_a_file_that_is_gone_and_one_that_was_renamed_are_told_apart(home: Path, index: Index, hit: Citation) -> None:
    page = home / "notes" / hit.source
    page.rename(home / "notes" / "a:new name.md")
    assert index.cite(at(hit), hit.content_hash).verdict is Verdict.GONE
    assert index.cite(at(hit)).verdict is Verdict.GONE
    index.ingest()
    moved = index.cite(at(hit), hit.content_hash)
    assert moved.verdict is Verdict.MOVED
    assert moved.now == Lines("a:new name.md", hit.start_line, hit.end_line)
    assert index.cite(f"a:new name.md:{hit.start_line}-{hit.end_line}", hit.content_hash).holds
    with pytest.raises(Refused) as refused:
        index.cite(at(hit))
    assert refused.value.failure == SourceUnavailable(hit.source)


def test_what_lies_outside_gets_the_same_refusal_whether_it_is_there_or_not(
    home: Path, index: Index, hit: Citation
) -> None:
    (home / "secret.md").write_text("# Secret\n")
    (home / "notes" / "never.txt").write_text("never indexed\n")
    asked = ["../secret.md", "../absent.md", str(home / "secret.md"), "/absent.md", "..\\secret.md", "..\\absent.md",
             "never.txt", "absent.txt", "C:\\secret.md", "\ud800.md", "part0", "."]  # fmt: skip
    for source in asked:
        for wanted in (None, "0" * 64):
            with pytest.raises(Refused) as refused:
                index.cite(f"{source}:1", wanted)
            assert refused.value.failure == SourceUnavailable(source)
    page = home / "notes" / hit.source
    page.unlink()
    page.symlink_to(home / "secret.md")
    with pytest.raises(Refused) as there:
        index.cite(at(hit))
    page.unlink()
    page.symlink_to(home / "absent.md")
    with pytest.raises(Refused) as absent:
        index.cite(at(hit))
    assert there.value.failure == absent.value.failure == SourceUnavailable(hit.source)
    assert "Secret" not in str(there.value)


def test_a_file_that_asks_to_be_left_out_now_and_a_second_name_of_other_bytes_show_nothing(
    home: Path, index: Index, hit: Citation
) -> None:
    page = home / "notes" / hit.source
    page.write_text("---\nrag: false\n---\n# Secret\n")
    left_out = index.cite(f"{hit.source}:1-5")
    page.unlink()
    (home / "secret.md").write_text("# Secret\n")
    page.hardlink_to(home / "secret.md")
    linked = index.cite(f"{hit.source}:1-5")
    assert left_out == linked
    assert (linked.verdict, linked.text) == (Verdict.GONE, None)


def test_single_lines_windows_paths_and_lines_beyond_the_end_are_understood(index: Index, hit: Citation) -> None:
    assert index.cite("part0\\page3.md:1").text == "# Page 3\n"
    assert index.cite("part0\\page3.md:1").cited.source == "part0/page3.md"
    beyond = index.cite("part0/page3.md:5000-6000")
    assert (beyond.text, beyond.holds) == ("", False)
    with pytest.raises(Refused) as refused:
        index.cite("part0/page3.md")
    assert refused.value.failure == InvalidCitation("part0/page3.md")
    with pytest.raises(Refused):
        index.cite(at(hit), "not a hash")


def test_the_verb_prints_the_lines_and_its_code_says_whether_they_hold(home: Path, index: Index, hit: Citation) -> None:
    world = {name: value for name, value in os.environ.items() if not name.startswith("RAG_MCP_")}

    def run(code: int, *words: str) -> str:
        command = [sys.executable, "-m", "rag_mcp.cli", "cite", *words, "--corpus", "notes", "--db", "store"]
        done = subprocess.run(command, cwd=home, env={**world, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout or done.stderr

    shown = run(0, at(hit), "--hash", hit.content_hash)
    assert "Pump 6 feeds valve 5 of page 3." in shown
    assert shown.endswith(f"{at(hit)}: holds; it is what was quoted\n")
    assert "with --hash HASH" in run(0, f"{hit.source}:1")
    shape = json.loads(run(1, at(hit), "--hash", "0" * 64, "--json"))
    assert (shape["ok"], shape["holds"], shape["verdict"], shape["now"]) == (True, False, "changed", None)
    assert "names no lines" in run(2, hit.source)
    assert "is not a document of this index" in run(1, "../x.md:1")
