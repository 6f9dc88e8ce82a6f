"""Nothing is lost or misread on its way in: the messy vault and five real corpora, by the packaged tokenizer.

What must be searchable is told here without the reader's own rules: a line is exempt when it belongs to front matter
that is a YAML mapping, or is one of its two rules, or is the data of an inline image.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any

import pytest
import yaml
from storecheck import parts

from rag_mcp import Index
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.dates import own_date
from rag_mcp.pure.decoding import decode
from rag_mcp.pure.documents import read_document
from rag_mcp.pure.identity import Chunking, EmbedderIdentity, RunIdentity
from rag_mcp.pure.values import Document
from rag_mcp.pure.view import EVERYTHING

SHARED = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parents[2] / "shared")) / "data"
WINDOW = 256  # of the packaged model, its two special tokens included
WAYS = {"default": Chunking(), "merged and overlapping": Chunking(merge_below=100, overlap=30)}
CORPORA = ("a1-small", "a4-nonenglish", "a5-dated", "a7-obsidian", "a8-handoff", "messy")
DATA = re.compile(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]{200,}")

pytestmark = pytest.mark.skipif(not (SHARED / "unpack.py").is_file(), reason=f"no real corpora at {SHARED}")
Measure = Callable[[Sequence[str]], Sequence[int]]


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("messy")
    make = [sys.executable, str(SHARED / "messy" / "make_messy.py"), str(home / "made"), "--fifo"]
    subprocess.run(make, check=True, capture_output=True)
    return home / "made"


def exempt(text: str) -> int:
    """The offset at which front matter that is metadata ends; 0 where there is none."""
    found = re.match(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if not found or len(found[1]) > 64 * 1024 or re.search(r"[\[,:] *\*\w", found[1]):
        return 0
    try:
        inner = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError):
        return 0
    return found.end() if isinstance(inner, dict) or not found[1].strip() else 0


def lost(text: str, read: Document) -> list[str]:
    """The lines that should be in a passage and are not, in whole or in part."""
    unified = re.sub(r"\r\n|\r", "\n", text)
    metadata = unified[: exempt(unified)].count("\n")
    lines = [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    missing, at = [], 0
    covered = [(chunk.start, chunk.end) for chunk in read.chunks] + [match.span() for match in DATA.finditer(text)]
    for first, last in [*sorted(covered), (len(text), len(text))]:
        for word in re.finditer(r"\S+", text[at:first]):
            number = bisect_right(lines, at + word.start())
            rule = word[0] in ("---", "...") and text.startswith("---")
            if number >= metadata and not rule:
                missing.append(f"line {number + 1}: {word[0][:80]!r}")
        at = max(at, last)
    return missing


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "way"),
    [*((corpus, "default") for corpus in CORPORA), *((corpus, "merged and overlapping") for corpus in CORPORA[-3:])],
)
def test_every_line_is_in_a_passage_every_passage_a_slice_and_none_is_over_the_window(
    corpus: str, way: str, wordpieces: Measure, messy: Path, tmp_path: Path
) -> None:
    if corpus == "messy":
        root = messy / "vault"
    else:
        shutil.unpack_archive(SHARED / f"{corpus}.tar.gz", tmp_path, filter="data")
        root = tmp_path
    run = RunIdentity(EmbedderIdentity("minilm", "", "", 384, "mean", "", "", WINDOW), WAYS[way])
    files = [path for path in sorted(root.rglob("*")) if path.suffix in (".md", ".markdown")]
    read = [path for path in files if path.is_file() and not path.is_symlink()]
    assert len(read) > 50
    largest: list[tuple[int, str]] = []
    for path in read:
        data = path.read_bytes()
        document = read_document(path.name, data, "", run, wordpieces)
        if not isinstance(document, Document):
            assert corpus == "messy", (path, document.why)
            continue
        text = decode(path.name, data).unwrap()
        assert not lost(text, document), path
        assert all(text[chunk.start : chunk.end] == chunk.text for chunk in document.chunks), path
        assert "\ufeff" not in "".join(chunk.text for chunk in document.chunks)
        date = own_date(path.name)
        largest = nlargest(200, [*largest, *((chunk.tokens, embedded_text(chunk, date)) for chunk in document.chunks)])
    assert largest[0][0] <= WINDOW - 2
    assert wordpieces([text for _, text in largest]) == [tokens for tokens, _ in largest]


def index_of(messy: Path) -> list[dict[str, str]]:
    with (messy / "INDEX.tsv").open(newline="", encoding="utf-8", errors="surrogateescape") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [{**row, "file": json.loads(row["file"])} for row in rows]


@pytest.fixture(scope="module")
def ingested(messy: Path) -> Any:
    """(rows of the store by path, coverage by path), after one ingest of the vault; the store stays beside it."""
    with Index(parts(messy / "vault", messy.parent / "store")) as index:
        index.ingest()
        covered: dict[str, list[str]] = {}
        for each in index.coverage():
            covered.setdefault(each.path, []).append(f"{each.lack.value}: {each.why}")
        with index.reader.snapshot() as snapshot:
            rows = snapshot.rows(snapshot.passing_rids(EVERYTHING), EVERYTHING)
    by_path: dict[str, list[Any]] = {}
    for row in rows:
        by_path.setdefault(row.source, []).append(row)
    return by_path, covered


def test_every_sentinel_that_must_be_found_is_in_a_passage_whose_lines_hold_it(messy: Path, ingested: Any) -> None:
    rows, _ = ingested
    wanted = [row for row in index_of(messy) if row["findable"] == "yes"]
    assert len(wanted) == 51
    for entry in wanted:
        assert rows.get(entry["file"]), entry
        data = (messy / "vault" / entry["file"]).read_bytes()
        lines = re.split(r"\r\n|\r|\n", decode("", data).unwrap())
        holding = [row for row in rows[entry["file"]] if entry["sentinel"] in row.text]
        assert holding, entry
        for row in holding:
            cited = "\n".join(lines[row.start_line - 1 : row.end_line])
            assert entry["sentinel"] in cited
            assert re.sub(r"\r\n|\r", "\n", row.text) in cited


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_search_for_a_sentinel_finds_it_first_where_it_must_be_found_and_never_where_not(
    mode: str, messy: Path, ingested: Any
) -> None:
    with Index(parts(messy / "vault", messy.parent / "store")) as index:
        for entry in index_of(messy):
            if not entry["sentinel"] or entry["findable"] not in ("yes", "no"):
                continue
            hits = index.search(entry["sentinel"], 20, mode=mode).results
            holding = [hit for hit in hits if entry["sentinel"] in hit.text]
            if entry["findable"] == "no":
                assert not holding, entry
                continue
            assert holding and (holding[0] == hits[0] or mode == "hybrid"), entry
            places = [holding[0].citation, *holding[0].citation.also_in]
            assert entry["file"] in [place.source for place in places], entry
            for place in places:
                lines = re.split(r"\r\n|\r|\n", decode("", (messy / "vault" / place.source).read_bytes()).unwrap())
                assert entry["sentinel"] in "\n".join(lines[place.start_line - 1 : place.end_line]), (entry, place)


def test_the_command_tells_of_every_entry_that_is_not_wholly_searchable(messy: Path, ingested: Any) -> None:
    _, covered = ingested
    command = [
        sys.executable,
        "-m",
        "rag_mcp.cli",
        "stats",
        "--coverage",
        "--json",
        "--db",
        str(messy.parent / "store"),
    ]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert {item["path"] for item in told["coverage"]} == covered.keys()


def test_no_sentinel_that_must_not_be_found_is_in_any_passage(messy: Path, ingested: Any) -> None:
    rows, _ = ingested
    text = "\n".join(row.text for several in rows.values() for row in several)
    unwanted = [row for row in index_of(messy) if row["findable"] == "no"]
    assert [entry["file"] for entry in unwanted if entry["sentinel"]] == ["link-outside.md"]
    for entry in unwanted:
        assert not entry["sentinel"] or entry["sentinel"] not in text, entry
        assert entry["file"] not in rows


def test_every_entry_is_indexed_or_in_the_coverage_list_with_its_reason(messy: Path, ingested: Any) -> None:
    rows, covered = ingested
    for entry in index_of(messy):
        path = entry["file"]
        folders = [f"{path[:n]}/" for n, letter in enumerate(path) if letter == "/"]
        assert rows.get(path) or any(place in covered for place in (path, f"{path}/", *folders)), entry


COVERED = {
    "blank.md": "without text: nothing in it can be searched",
    "empty.md": "without text: nothing in it can be searched",
    "fm-only.md": "without text: nothing in it can be searched",
    "fm-invalid.md": "with a warning: front matter could not be used (line 2: ",
    "fm-alias-bomb.md": "with a warning: front matter could not be used (it uses aliases)",
    "fm-huge.md": "with a warning: front matter could not be used (it has 214914 characters",
    "latin1.md": "with a warning: it is not UTF-8 and was read as Windows-1252",
    "utf16le-nobom.md": "with a warning: it has no byte order mark and was read as UTF-16",
    "base64-image-1mb.md": "with a warning: line 5: an inline image of 1053358 characters was left out",
    "shift-jis.md": "undecodable: it is not UTF-8 text (byte 2)",
    "nul-bytes.md": "undecodable: it holds NUL characters (the first at character 36)",
    "png.md": "undecodable: it is a PNG image, not text",
    "pdf.md": "undecodable: it is a PDF document, not text",
    "names/bad-\udcff\udcfe-name.md": "unreadable: its name is not UTF-8",
    "link-broken.md": "unreadable: a link to nothing",
    "pipe.md": "unreadable: a pipe, socket or device, not a file",
    "ping": "out of sight: a link that leads back to itself",
    "link-outside.md": "excluded: a link that leads out of the corpus",
    "link-inside.md": "excluded: a link to copy-a.md, which is read there",
    "loop-self/": "excluded: a link to the corpus itself",
    "names/no-extension": "excluded: it is not Markdown by its name",
    ".obsidian/": "excluded: ",
}


def test_the_coverage_list_says_of_each_what_it_lacks(ingested: Any) -> None:
    _, covered = ingested
    assert {path: covered.get(path, [""])[0][: len(why)] for path, why in COVERED.items()} == COVERED


def test_what_the_index_of_the_vault_says_of_structure_holds(ingested: Any) -> None:
    rows, _ = ingested
    headings = {path: list(dict.fromkeys(row.heading for row in several)) for path, several in rows.items()}
    assert [row.heading_path for row in rows["heading-levels.md"]] == [
        ("1", "6 straight after 1"),
        ("1", "Trailing hashes", "Three spaces"),
    ]
    assert headings["setext.md"] == ["Title of the page", "Section two", "A paragraph of two lines"]
    assert headings["lone-cr.md"] == ["Old Mac", "Second"]
    assert headings["fence-hash.md"] == ["Real Title"]
    assert headings["fence-in-list.md"] == ["List"]
    assert headings["html-blocks.md"] == ["Html", "After"]
    assert headings["bom-h1.md"] == ["First heading after a BOM"]
    assert len({row.start_line for row in rows["dup-headings.md"]}) == 5
    table = rows["table-200-rows.md"]
    assert len(table) > 5
