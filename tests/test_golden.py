"""Golden cases as a user meets them: real processes over the hash embedder."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from storecheck import write_corpus
from test_cli import rag

from rag_mcp import Index, Refused, golden
from rag_mcp.golden import Case, Expectation

CASES = """
[[case]]
id = "greasing"
question = "all valves are greased on the first Monday"
expect = [{ quote = "All valves are greased on the first Monday." }]

[[case]]
id = "pump"
question = "pump 6 feeds valve 5 of page 3"
expect = [{ source = "part0/page3.md", heading = "Section 2" }]

[[case]]
id = "none"
question = "who won the regatta"
none = true
"""


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes, their store, cases and a baseline. Copy it before it is damaged."""
    folder = tmp_path_factory.mktemp("golden")
    write_corpus(folder / "notes", pages=4, sections=3)
    (folder / "golden.toml").write_text(CASES)
    rag(folder, "ingest", "notes", "--db", "s", "--embedder", "hash", "--quiet")
    rag(folder, "golden", "record", "--db", "s", "--corpus", "notes", "-k", "5")
    return folder


@pytest.fixture
def world(settled: Path, tmp_path: Path) -> Path:
    shutil.copytree(settled, tmp_path / "world")
    return tmp_path / "world"


def ask(cwd: Path, verb: str, *arguments: str, code: int = 0) -> str:
    return rag(cwd, "golden", verb, "--db", "s", "--corpus", "notes", *arguments, code=code).stdout


def compared(cwd: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask(cwd, "compare", "--json", *arguments, code=code))
    return found


def held(cwd: Path) -> dict[str, bytes]:
    """What is in the folder, the store left out."""
    files = (path for path in cwd.rglob("*") if path.is_file())
    return {name: path.read_bytes() for path in files if not (name := str(path.relative_to(cwd))).startswith("s/")}


def lose_the_pump(cwd: Path) -> None:
    """The page that answers one case no longer says so."""
    page = cwd / "notes" / "part0" / "page3.md"
    page.write_text(page.read_text().replace("Section 2\n\nPump 6 feeds valve 5 of page 3", "Part 2\n\nNothing"))
    rag(cwd, "ingest", "notes", "--db", "s", "--quiet")


def test_a_run_is_a_table_a_line_or_json_and_leaves_no_file(world: Path) -> None:
    before = held(world)
    table = ask(world, "run").split("\n")
    assert table[0] == "golden.toml   3 cases   k 10   embedder hash   16 passages   mode hybrid"
    assert [line.split()[:4] for line in table if line.startswith("  pump")] == [["pump", "1", "1.00", "1.00"]]
    assert any(line.startswith("  none ") and "no answer, and said so" in line for line in table)
    assert ask(world, "run", "--quiet").startswith("hit@1 1.000  hit@3 1.000  hit@k 1.000  mrr 1.000  ndcg 1.000")
    shape = json.loads(ask(world, "run", "--json", "-k", "3"))
    assert set(shape) == {"ok", "k", "setup", "means", "cases"}
    assert (shape["k"], shape["means"]["none"], [case["rank"] for case in shape["cases"]]) == (3, 1.0, [1, 1, None])
    assert held(world) == before


@pytest.mark.parametrize("how", ["--full", "--clean"])
def test_a_rebuild_moves_nothing_and_records_the_same_bytes(world: Path, how: str) -> None:
    recorded = (world / "golden.baseline.json").read_bytes()
    rag(world, "ingest", "notes", "--db", "s", "--embedder", "hash", how, "--quiet")
    assert ask(world, "compare").endswith("\nnothing moved\n")
    ask(world, "record", "-k", "5")
    assert (world / "golden.baseline.json").read_bytes() == recorded


def test_a_lost_answer_is_named_and_exits_with_1(world: Path) -> None:
    lose_the_pump(world)
    shown = ask(world, "compare", code=1)
    assert re.search(r"^  lost    pump +rank 1 -> -   pump 6 feeds valve 5 of page 3$", shown, re.MULTILINE)
    assert "part0/page3.md has no heading 'Section 2'" in shown
    assert "  * the corpus holds other files or texts" in shown
    assert re.search(r"^  mrr +1\.000 +0\.500 +-0\.500   worse$", shown, re.MULTILINE)
    assert shown.rstrip().split("\n")[-1].startswith("worse: 1 case and 8 measures (hit@1")
    shape = compared(world, code=1)
    assert (shape["worse"], [(move["id"], move["kind"]) for move in shape["moves"]]) == (True, [("pump", "lost")])
    assert ask(world, "compare", "--tolerance", "0.5", "--quiet") == "within what is allowed; 1 case got worse\n"
    ask(world, "compare", "--tolerance", "0.5", "--tolerance", "mrr=0.4", code=1)
    ask(world, "record", "-k", "5")
    assert compared(world)["worse"] is False


def test_notes_that_were_edited_and_not_ingested_are_named(world: Path) -> None:
    page = world / "notes" / "part0" / "page3.md"
    page.write_text(page.read_text().replace("feeds valve", "no longer feeds valve"))
    assert "  ! pump: part0/page3.md has changed since it was ingested\n" in ask(world, "run")


def test_two_stores_are_compared_before_a_cutover(world: Path) -> None:
    (world / "golden.baseline.json").unlink()
    rag(world, "ingest", "notes", "--db", "new", "--embedder", "hash", "--exclude", "page3.md", "--quiet")
    done = rag(world, "golden", "compare", "--db", "new", "--against", "s", "--json", code=1)
    shape = json.loads(done.stdout)
    assert (shape["against"], [(move["id"], move["kind"]) for move in shape["moves"]]) == ("s", [("pump", "lost")])
    shape = compared(world, "--against", "new")
    assert (shape["worse"], [(move["id"], move["kind"]) for move in shape["moves"]]) == (False, [("pump", "found")])
    rag(world, "ingest", "notes", "--db", "s", "--collection", "other", "--embedder", "hash", "--quiet")
    assert compared(world, "--against-collection", "other")["moves"] == []


def test_a_baseline_is_compared_at_the_depth_at_which_it_was_recorded(world: Path) -> None:
    assert {delta["metric"] for delta in compared(world)["deltas"]} >= {"hit@k", "none"}
    refused = rag(world, "golden", "compare", "--db", "s", "-k", "7", code=2)
    assert "recorded with -k 5" in refused.stderr


def test_a_case_that_came_or_went_or_was_edited_is_shown_and_not_measured(world: Path) -> None:
    file = world / "golden.toml"
    file.write_text(CASES.replace('"pump"', '"new"').replace("who won the regatta", "who won the race"))
    moves = {move["id"]: move["kind"] for move in compared(world)["moves"]}
    assert moves == {"none": "edited", "new": "new", "pump": "gone"}
    file.write_text('[[case]]\nquestion = "x"\nnone = true\n')
    assert "no case in common" in rag(world, "golden", "compare", "--db", "s", code=2).stderr


def test_what_cannot_be_used_is_one_sentence_and_exit_code_2(world: Path) -> None:
    (world / "bad.toml").write_text(
        '[[case]]\nquestion = "x"\n\n[[case]]\nquestion = "y"\nexpect = [{ sorce = "a" }]\n'
    )
    for arguments, sentence in (
        (
            ("run", "absent.toml"),
            "rag-mcp: absent.toml: there is no such file; make one with: rag-mcp golden init absent.toml",
        ),
        (("run", "bad.toml"), "rag-mcp: bad.toml: case 1, line 1: nothing is expected"),
        (("run", "notes"), "notes"),
        (("compare", "--tolerance", "much"), "'much' is not a number"),
    ):
        assert sentence in rag(world, "golden", *arguments, "--db", "s", code=2).stderr
    (world / "bad.toml").write_text("[[case\n")
    assert "bad.toml: it is not TOML: " in rag(world, "golden", "run", "bad.toml", "--db", "s", code=2).stderr
    (world / "golden.baseline.json").write_text("{}")
    assert "it is not a baseline" in rag(world, "golden", "compare", "--db", "s", code=2).stderr
    (world / "golden.baseline.json").unlink()
    refused = rag(world, "golden", "compare", "--db", "s", code=2)
    assert "there is no baseline to compare with; record one with: rag-mcp golden record golden.toml" in refused.stderr
    shape = json.loads(rag(world, "golden", "compare", "--db", "s", "--json", code=2).stdout)
    assert shape["error"]["type"] == "bad_golden"
    assert "there is no store" in rag(world, "golden", "run", "--db", "absent", code=1).stderr


def test_init_writes_a_file_that_explains_itself_and_leaves_one_that_is_there(tmp_path: Path) -> None:
    assert rag(tmp_path, "golden", "init").stdout == "golden.toml was written\n"
    written = (tmp_path / "golden.toml").read_text()
    assert "it is there already" in rag(tmp_path, "golden", "init", code=2).stderr
    assert (tmp_path / "golden.toml").read_text() == written
    assert tomllib.loads(written) == {}
    assert "holds no case" in rag(tmp_path, "golden", "run", "--db", "s", code=2).stderr
    example = written.partition("#\n")[2].partition("# What is expected")[0]
    (tmp_path / "golden.toml").write_text("\n".join(line.removeprefix("# ") for line in example.split("\n")))
    cases = golden.load(tmp_path / "golden.toml")
    assert [(case.name, len(case.expect), case.none) for case in cases] == [
        ("pumps", 3, False),
        ("who-won-the-regatta-of-1987", 0, True),
    ]


def test_init_over_a_store_proposes_cases_that_run_and_says_that_they_prove_little(world: Path) -> None:
    said = ask(world, "init", "mine.toml", "--propose", "3")
    assert said == "mine.toml was written, with 3 proposed cases; word them anew\n"
    assert (world / "mine.toml").read_text().count("  # EDIT\n") == 3
    shown = ask(world, "run", "mine.toml")
    assert '! 3 of 3 questions are as they were proposed (tag "proposed"): word them anew' in shown
    assert len(golden.load(world / "mine.toml")) == 3


def test_jsonl_says_the_same_as_toml(world: Path) -> None:
    items = tomllib.loads(CASES)["case"]
    (world / "golden.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    assert golden.load(world / "golden.jsonl") == golden.load(world / "golden.toml")
    (world / "windows.toml").write_bytes(b"\xef\xbb\xbf" + CASES.replace("\n", "\r\n").encode())
    assert golden.load(world / "windows.toml") == golden.load(world / "golden.toml")


def test_the_library_runs_records_and_compares(world: Path) -> None:
    case = Case("pump 6 feeds valve 5 of page 3", (Expectation("part0/page3.md", quote="Pump 6 feeds"),))
    with Index.open(world / "notes", store=world / "s", environ={}) as index:
        one = golden.run(index, [case], k=99)
        assert (one.k, one.cases[0].rank, one.means["recall"]) == (20, 1, 1.0)
        for bad in ([Case("x")], [case, case], []):
            with pytest.raises(Refused):
                golden.run(index, bad)
    golden.record(world / "mine.toml", one)
    assert golden.baseline(world / "mine.toml") == one
    assert not golden.compare(one, one).worse
    assert {path.name for path in world.iterdir() if path.name.startswith(".")} <= {".cache"}
