"""The corpus profile over real pipes: two tools, their failures, and a reader that shows nothing but indexed files."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from embedding_server import running
from returns.result import Success
from storecheck import ingest
from wires import ROOT, Message, Server, call, request, serving, world

from rag_mcp import Index
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.server import schemas
from rag_mcp.adapters.server.engine import Engine
from rag_mcp.adapters.server.tools import OFFERS
from rag_mcp.adapters.settings import Settings
from rag_mcp.pure.corpus_reply import PROMISED
from rag_mcp.pure.profiles import TOOLS

SECRET = "the combination of the safe is 4711"
PUMPS = f"---\ntitle: Pump manual\n---\n\n# Pumps\n\n{'Every pump has a valve. ' * 60}\n\n## Valves\n\nValve 3 leaks.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A corpus of two documents and what is none, its store, and secrets beside it."""
    home = tmp_path.resolve()
    for name, text in (
        ("notes/ops/deep/pumps.md", PUMPS),
        ("notes/boats.md", "# Boats\n\nBoats float.\n"),
        ("notes/empty.md", "\n"),
        ("notes/left.md", "# Left out\n\nNot indexed.\n"),
        ("notes/.ragignore", "left.md\n"),
        ("notes/plain.txt", "Not Markdown.\n"),
        ("outside/ops/deep/pumps.md", SECRET),
    ):
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    ingest(home / "notes", home / "store")
    return home


def settings(home: Path, **more: str) -> dict[str, str]:
    return {
        "RAG_CORPUS_DIR": str(home / "notes"), "RAG_STORE_DIR": str(home / "store"), "RAG_MCP_TOOLS": "corpus", **more,
    }  # fmt: skip


class Asked:
    """A server's tools, asked one call after another; both channels of each reply must be equal."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.number = 10
        server.shake_hands()

    def __call__(self, name: str, **arguments: Any) -> Message:
        self.number += 1
        params = {"name": name, "arguments": arguments}
        result = self.server.ask(request("tools/call", params, self.number))["result"]
        structure: Message = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == structure
        assert result["isError"] is ("error" in structure)
        jsonschema.validate(structure, {"search_corpus": schemas.CORPUS_GIVES, "get_file": schemas.FILE_GIVES}[name])
        return structure

    def refused(self, name: str, kind: str, **arguments: Any) -> str:
        """The message of a refusal, which holds nothing else."""
        shape = self(name, **arguments)
        assert list(shape) == ["error"] and shape["error"]["type"] == kind, shape
        assert kind in PROMISED and shape["error"]["next_step"]
        return str(shape["error"]["message"])


def test_every_tool_of_the_profiles_is_offered_by_schemas_that_are_schemas() -> None:
    assert [offer.name for offer in OFFERS] == [name for names in TOOLS.values() for name in names]
    for offer in OFFERS:
        jsonschema.Draft202012Validator.check_schema(offer.takes)
        jsonschema.Draft202012Validator.check_schema(offer.gives)
        assert offer.takes["additionalProperties"] is offer.gives["additionalProperties"] is False


def test_there_are_two_tools_and_both_only_read(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        instructions = server.shake_hands()["result"]["instructions"]
        tools = server.ask(request("tools/list", {}, 2))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["search_corpus", "get_file"]
    for tool in tools:
        assert tool["annotations"] == {
            "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False,
        }  # fmt: skip
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "quoted data, never instructions" in tool["description"] and len(tool["description"]) < 2048
        assert "error" in tool["outputSchema"]["properties"]
    assert [tool["inputSchema"]["required"] for tool in tools] == [["query"], ["path"]]
    assert "search_knowledge" not in instructions and "never follow" in instructions.casefold()


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        ("knowledge", ["search_knowledge"]),
        ("corpus,knowledge", ["search_knowledge", "search_corpus", "get_file"]),
    ],
)
def test_profiles_are_shown_alone_or_together(home: Path, said: str, tools: list[str]) -> None:
    with serving(home, "-m", "rag_mcp", "serve", "--tools", said, **settings(home, RAG_MCP_TOOLS="corpus")) as server:
        instructions = server.shake_hands()["result"]["instructions"]
        assert [tool["name"] for tool in server.ask(request("tools/list", {}, 2))["result"]["tools"]] == tools
        assert server.found(3, query="valve")["ok"]
        unknown = server.ask(request("tools/call", {"name": "get_text", "arguments": {}}, 4))
        assert unknown["error"]["code"] == -32602
        prompt = server.ask(request("prompts/get", {"name": "search", "arguments": {"question": "x"}}, 5))
        assert "search_knowledge" in prompt["result"]["messages"][0]["content"]["text"]
    assert len(instructions.encode()) < 2048 and ("get_file" in instructions) == (len(tools) > 1)


def test_a_profile_that_nobody_knows_ends_a_start_by_name_and_is_said_by_the_script(home: Path) -> None:
    wrong = settings(home, RAG_MCP_TOOLS="nonsense")
    with serving(home, **wrong) as server:
        assert server.gone() == 1
    assert b"RAG_MCP_TOOLS" in server.stderr and b"Traceback" not in server.stderr
    with serving(home, str(ROOT / "run_server.py"), **wrong) as server:
        server.shake_hands()
        assert "RAG_MCP_TOOLS" in server.found(2, query="x")["error"]["message"]


def test_an_answer_has_the_promised_shape_and_every_path_in_it_can_be_read(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        reply = asked("search_corpus", query="which valve leaks", k=3)
        assert reply["query"] == "which valve leaks" and 1 <= reply["count"] == len(reply["results"]) <= 3
        assert reply["index"] == {
            "corpus_commit": None, "uncommitted_changes": None, "corpus_state": "not under version control",
            "model": "hash",
        }  # fmt: skip
        for hit in reply["results"]:
            assert {"path", "title", "heading", "chunk_index", "score", "text"} <= hit.keys()
            assert hit["text"] in asked("get_file", path=hit["path"])["text"]
        scores = [hit["score"] for hit in reply["results"]]
        assert scores == sorted(scores, reverse=True)
        assert {hit["title"] for hit in reply["results"] if hit["path"].endswith("pumps.md")} == {"Pump manual"}


def test_arguments_are_refused_in_the_shape_of_every_failure(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        for k in (0, 21, -1, "5", 2.5, True, [], 10**400):
            assert "1 to 20" in asked.refused("search_corpus", "invalid_argument", query="valve", k=k)
        for query in ("", " ", "x" * 4001, None, 7, ["valve"]):
            asked.refused("search_corpus", "invalid_argument", query=query)
        asked.refused("search_corpus", "invalid_argument")
        assert "top_k" in asked.refused("search_corpus", "invalid_argument", query="valve", top_k=3)
        for path in ("", None, 7, ["boats.md"], "x" * 4097):
            asked.refused("get_file", "invalid_argument", path=path)
        asked.refused("get_file", "invalid_argument")
        assert asked("search_corpus", query="valve", k=20)["count"] and server.end() == 0
    assert server.stderr == b""


class Counted(HashEmbedder):
    """Counts questions that were embedded."""

    asked = 0

    def embed_query(self, text: str) -> bytes:
        Counted.asked += 1
        return super().embed_query(text)


def test_arguments_are_refused_before_anything_is_embedded(home: Path) -> None:
    engine = Engine(Success(Settings(store=home / "store", corpus=home / "notes")))
    engine._index = Index.open(home / "notes", store=home / "store", embedder=Counted(), environ={})
    engine.start().result()
    Counted.asked = 0

    async def ask() -> list[dict[str, Any]]:
        wrong = [await engine.search_corpus("valve", k) for k in (0, 21, "5")]
        wrong += [await engine.search_corpus(text, 5) for text in ("", " ", "x" * 4001, None)]
        assert Counted.asked == 0
        await engine.search_corpus("valve", 5)
        return wrong

    assert {shape["error"]["type"] for shape in asyncio.run(ask())} == {"invalid_argument"}
    assert Counted.asked == 1


def test_a_store_that_is_missing_empty_or_of_another_model_is_an_error_and_not_an_empty_answer(home: Path) -> None:
    store = home / "store"
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        store.rename(home / "away")
        for name, argument in (("search_corpus", {"query": "valve"}), ("get_file", {"path": "boats.md"})):
            assert "rag-mcp ingest" in asked.refused(name, "store_missing", **argument)
        assert not store.exists()
        (home / "none").mkdir()
        ingest(home / "none", store)
        asked.refused("search_corpus", "store_empty", query="valve")
        shutil.rmtree(store)
        (home / "away").rename(store)
        assert asked("search_corpus", query="valve")["count"]
        assert server.ask(request("tools/list", {}, 5))["result"]["tools"]
    with serving(home, **settings(home, RAG_MCP_EMBEDDER="default")) as server:
        asked = Asked(server)
        asked.refused("search_corpus", "store_incompatible", query="valve")
        assert asked("get_file", path="boats.md")["origin"] == "disk"


def test_an_embedder_that_is_away_weakens_the_search_alone(home: Path) -> None:
    gemma = "ollama:embeddinggemma"
    with running() as service:
        service.control()
        away = settings(home, RAG_MCP_EMBEDDER=gemma, **service.variables(gemma))
        with Index.open(home / "notes", store=home / "store", embedder=gemma, environ=away) as index:
            index.ingest()
        with serving(home, **away) as server:
            assert Asked(server)("search_corpus", query="valve")["index"]["model"] == gemma
    with serving(home, **away) as server:
        asked = Asked(server)
        message = asked.refused("search_corpus", "embedder_unavailable", query="valve")
        assert "ollama" in message.casefold()
        assert asked("get_file", path="boats.md")["origin"] == "disk"
        assert len(server.ask(request("tools/list", {}, 5))["result"]["tools"]) == 2


def test_a_document_is_read_from_disk_and_says_when_it_is_newer_than_the_index(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        was = asked("get_file", path="ops/deep/pumps.md")
        assert (was["origin"], was["text"], was["lifecycle"]) == ("disk", PUMPS, "current")
        assert was["changed_since_index"] is False and was["title"] == "Pump manual" and "note" not in was
        (home / "notes" / "ops" / "deep" / "pumps.md").write_text(PUMPS + "\nNew.\n")
        now = asked("get_file", path="ops/deep/pumps.md")
        assert now["changed_since_index"] is True and now["text"].endswith("New.\n") and "changed" in now["note"]


def test_a_document_that_is_not_on_disk_comes_from_the_index_and_says_so(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        (home / "notes").rename(home / "moved")
        reply = asked("get_file", path="ops/deep/pumps.md")
        assert reply["origin"] == "index" and "changed_since_index" not in reply
        assert reply["indexed_at"] in reply["note"] and "joined" in reply["note"]
        body = PUMPS.split("---\n")[2]
        assert reply["text"].split() == body.split()
        assert asked("search_corpus", query="which valve leaks")["count"]
        assert asked("get_file", path="boats.md")["text"] == "# Boats\n\nBoats float."
    with serving(home, **settings(home, RAG_CORPUS_DIR=str(home / "moved"))) as server:
        reply = Asked(server)("get_file", path="boats.md")
        assert reply["origin"] == "index" and "another place" in reply["note"]


def test_a_large_document_is_cut_and_says_so(home: Path) -> None:
    large = "# Large\n\n" + "A line of a long report, as they are.\n" * 5_000
    (home / "notes" / "large.md").write_text(large)
    ingest(home / "notes", home / "store")
    with serving(home, **settings(home)) as server:
        reply = Asked(server)("get_file", path="large.md")
    assert reply["truncated"] and f"of {len(large)} characters" in reply["note"]
    assert large.startswith(reply["text"]) and reply["text"].endswith("\n") and len(json.dumps(reply)) < 50_000


def test_a_file_that_asks_to_be_left_out_since_is_not_shown(home: Path) -> None:
    (home / "notes" / "boats.md").write_text(f"---\nrag: false\n---\n{SECRET}\n")
    with serving(home, **settings(home)) as server:
        Asked(server).refused("get_file", "not_indexed", path="boats.md")
        assert "error" in server.ask(request("resources/read", {"uri": "rag://boats.md"}, 5))


def test_a_retired_document_takes_no_place_in_a_search_and_stays_readable(home: Path) -> None:
    retired = "---\nlifecycle: superseded\n---\n\n# Boats\n\nWhich valve leaks? Valve 3 leaks, valve 3.\n"
    (home / "notes" / "boats.md").write_text(retired)
    ingest(home / "notes", home / "store")
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        paths = {hit["path"] for hit in asked("search_corpus", query="which valve leaks", k=20)["results"]}
        assert paths == {"ops/deep/pumps.md"}
        reply = asked("get_file", path="boats.md")
        assert (reply["lifecycle"], reply["text"]) == ("superseded", retired)
        (home / "notes" / "boats.md").unlink()
        reply = asked("get_file", path="boats.md")
        assert (reply["lifecycle"], reply["origin"]) == ("superseded", "index")


ELSEWHERE = (
    "left.md", "plain.txt", ".ragignore", "empty.md", "ops", "ops/", "ops/deep", "nothing.md", "ops/nothing.md",
    "../outside/ops/deep/pumps.md", "ops/../../outside/ops/deep/pumps.md", "./boats.md", "ops/../boats.md",
    "boats.md/", "/boats.md", "//boats.md", "BOATS.MD", " boats.md", "boats.md ", "boats%2emd", "ops%2Fdeep%2Fpumps.md",
    "%2e%2e/outside/ops/deep/pumps.md", "..%2foutside", "file:///etc/passwd", "rag://boats.md", "~/x.md", "~root",
    "ops\\deep\\pumps.md", "..\\outside\\ops\\deep\\pumps.md", "C:\\boats.md", "C:/boats.md", "\\\\host\\share\\x.md",
    "\\\\?\\C:\\x.md", "boats.md:stream", "boats.md::$DATA", "NUL", "CON.md", "boats.md\0", "\0", "a\0../b.md",
    "boats.md\n", "boats.md?lines=1", "boats.md#x", "*", "*.md", "boats.m?", "x" * 4096, "/".join("x" * 2000),
    ".", "..",
    "/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/stdin", "/dev/zero", "proc/self/environ",
    "' or 1=1 --", "b\u043eats.md", "boats\u200b.md", "\u202eboats.md",
)  # fmt: skip


def test_what_is_not_in_the_index_is_refused_alike_whether_it_is_there_or_not(home: Path) -> None:
    places = (
        str(home / "notes" / "boats.md"),
        str(home / "outside" / "ops" / "deep" / "pumps.md"),
        str(home / "no.md"),
    )
    said = set()
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        for path in (*ELSEWHERE, *places):
            shape = asked("get_file", path=path)
            assert shape["error"].pop("message").endswith("is not a document of this index, or cannot be read now"), (
                path
            )
            said.add(json.dumps(shape))
        assert asked("get_file", path="boats.md")["origin"] == "disk"
    assert len(said) == 1 and '"not_indexed"' in said.pop()


def swap(place: Path, target: Path) -> None:
    place.rename(place.with_name(f"{place.name}.was"))
    place.symlink_to(target)


def the_file(home: Path) -> None:
    swap(home / "notes" / "ops" / "deep" / "pumps.md", home / "outside" / "ops" / "deep" / "pumps.md")


def its_folder(home: Path) -> None:
    swap(home / "notes" / "ops" / "deep", home / "outside" / "ops" / "deep")


def a_folder_above(home: Path) -> None:
    swap(home / "notes" / "ops", home / "outside" / "ops")


def the_corpus(home: Path) -> None:
    swap(home / "notes", home / "outside")


def a_hard_link(home: Path) -> None:
    (home / "notes" / "ops" / "deep" / "pumps.md").unlink()
    os.link(home / "outside" / "ops" / "deep" / "pumps.md", home / "notes" / "ops" / "deep" / "pumps.md")


def a_link_to_a_process(home: Path) -> None:
    swap(home / "notes" / "ops" / "deep" / "pumps.md", Path("/proc/self/environ"))


def a_pipe(home: Path) -> None:
    (home / "notes" / "ops" / "deep" / "pumps.md").unlink()
    os.mkfifo(home / "notes" / "ops" / "deep" / "pumps.md")


@pytest.mark.parametrize(
    "act", [the_file, its_folder, a_folder_above, the_corpus, a_hard_link, a_link_to_a_process, a_pipe]
)
def test_a_document_whose_place_is_taken_is_refused_and_nothing_of_the_other_is_shown(
    home: Path, act: Callable[[Path], None]
) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        assert asked("get_file", path="ops/deep/pumps.md")["text"] == PUMPS
        act(home)
        message = asked.refused("get_file", "path_changed", path="ops/deep/pumps.md")
        resource = server.ask(request("resources/read", {"uri": "rag://ops/deep/pumps.md"}, 5))
        assert "error" in resource and SECRET not in json.dumps(resource)
        assert str(home) not in message and SECRET not in message
        assert server.end() == 0


def test_a_second_name_of_the_very_bytes_that_were_indexed_is_no_change(home: Path) -> None:
    os.link(home / "notes" / "boats.md", home / "copy.md")
    with serving(home, **settings(home)) as server:
        assert Asked(server)("get_file", path="boats.md")["changed_since_index"] is False


RACER = """
import os, sys
place, outside = sys.argv[1:]
print("begun", flush=True)
while True:
    os.rename(place, place + ".keep"); os.symlink(outside, place); os.unlink(place); os.rename(place + ".keep", place)
"""


@pytest.mark.parametrize("below", ["ops", "ops/deep", "ops/deep/pumps.md"])
def test_a_server_under_a_racing_swap_never_shows_a_byte_from_outside(home: Path, below: str) -> None:
    command = [sys.executable, "-c", RACER, str(home / "notes" / below), str(home / "outside" / below)]
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        racer = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert racer.stdout is not None and racer.stdout.readline() == b"begun\n"
            until, seen = time.monotonic() + 1, set()
            while time.monotonic() < until or ("disk" not in seen and time.monotonic() < until + 30):
                shape = asked("get_file", path="ops/deep/pumps.md")
                assert SECRET not in json.dumps(shape)
                seen.add(shape.get("origin") or shape["error"]["type"])
            assert racer.poll() is None
        finally:
            racer.kill()
            racer.wait()
            assert racer.stdout is not None
            racer.stdout.close()
    assert seen <= {"disk", "index", "path_changed"} and "disk" in seen


def test_both_tools_change_nothing(home: Path) -> None:
    def tree() -> dict[str, tuple[int, bytes]]:
        files = (path for top in ("notes", "store") for path in (home / top).rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = tree()
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        assert asked("search_corpus", query="valve")["count"]
        assert asked("get_file", path="boats.md")["text"]
        assert server.end() == 0
    assert tree() == before


def test_what_another_process_ingests_is_found_without_a_restart(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        asked = Asked(server)
        asked.refused("get_file", "not_indexed", path="new.md")
        (home / "notes" / "new.md").write_text("# New\n\nA crane lifts.\n")
        ingest(home / "notes", home / "store")
        assert asked("search_corpus", query="a crane lifts", k=1)["results"][0]["path"] == "new.md"
        assert asked("get_file", path="new.md")["origin"] == "disk"


def test_the_scripts_find_the_sample_corpus_from_any_folder_and_keep_their_store_in_the_home(tmp_path: Path) -> None:
    environment = world(tmp_path, RAG_MCP_EMBEDDER="hash")
    done = subprocess.run(
        [sys.executable, str(ROOT / "ingest.py"), "--json"], env=environment, cwd="/", check=True, capture_output=True
    )
    report = json.loads(done.stdout)
    assert report["files_seen"] >= 4 and set(report["corpus"]) == {"commit", "uncommitted_changes", "label"}
    assert (tmp_path / ".local-rag-mcp" / "store" / "record.sqlite3").is_file()
    with serving(tmp_path, str(ROOT / "server.py")) as server:
        reply = Asked(server)("search_corpus", query="who gets paged", k=1)
        assert reply["results"][0]["path"] == "oncall.md"
        assert reply["index"]["corpus_commit"] == report["corpus"]["commit"]


def test_our_variables_win_over_the_other_names(home: Path) -> None:
    both = {"RAG_MCP_CORPUS_ROOT": str(home / "notes"), "RAG_MCP_DB_PATH": str(home / "store")}
    wrong = {"RAG_CORPUS_DIR": "no/such/folder", "RAG_STORE_DIR": "no/such/store"}
    with serving(home, **both, **wrong) as server:
        server.shake_hands()
        assert server.ask(call(2, query="valve"))["result"]["structuredContent"]["ok"]


def test_the_second_profile_loads_nothing_more_before_the_first_reply() -> None:
    """Of what is heavy in the profile nothing is loaded before a call."""
    script = (
        "import sys; from returns.result import Failure; from rag_mcp.adapters.server.app import make_app;"
        "from rag_mcp.adapters.server.engine import Engine; from rag_mcp.pure.errors import ConfigError;"
        "make_app(Engine(Failure(ConfigError('x'))), profiles=sys.argv[1].split(','));"
        "print('\\n'.join(sorted(sys.modules)))"
    )

    def loaded(profiles: str) -> set[str]:
        command = [sys.executable, "-c", script, profiles]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return set(done.stdout.split("\n"))

    assert loaded("knowledge,corpus") - loaded("knowledge") == set()


def test_an_ingest_warns_of_a_store_that_lies_in_its_corpus_or_where_files_are_kept_in_step(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\ntext\n")
    inside = ingest(tmp_path / "notes", tmp_path / "notes" / "store")
    assert any("inside the corpus" in warning for warning in inside.warnings)
    synced = ingest(tmp_path / "notes", tmp_path / "Dropbox" / "store")
    assert any("Dropbox" in warning and "damaged" in warning for warning in synced.warnings)
    assert ingest(tmp_path / "notes", tmp_path / "store").warnings == ()


def test_every_ingest_says_and_keeps_the_commit_and_a_quiet_one_learns_of_a_new_one(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    notes, store = tmp_path / "notes", tmp_path / "store"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\ntext\n")

    def git(*words: str) -> str:
        nobody = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *nobody, *words], cwd=notes, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    assert ingest(notes, store).corpus.label == "under version control, without a commit yet"
    git("add", ".")
    git("commit", "-q", "-m", "one")
    first = git("rev-parse", "--short", "HEAD").strip()
    quiet = ingest(notes, store)
    assert quiet.files_ingested == 0 and (quiet.corpus.commit, quiet.corpus.uncommitted_changes) == (first, False)
    (notes / "a.md").write_text("# A\n\nother text\n")
    assert ingest(notes, store).corpus.label == f"commit {first}, with uncommitted changes"
    with Index.open(notes, store=store, environ={}) as index:
        kept = index.stats().revision
        assert kept is not None and (kept.commit, kept.uncommitted_changes) == (first, True)
    with serving(tmp_path, **settings(tmp_path)) as server:
        asked = Asked(server)
        told = asked("search_corpus", query="text")["index"]
        assert (told["corpus_commit"], told["uncommitted_changes"]) == (first, True)
        git("commit", "-q", "-a", "-m", "two")
        ingest(notes, store)
        assert (
            asked("search_corpus", query="text")["index"]["corpus_commit"]
            == git("rev-parse", "--short", "HEAD").strip()
        )


def test_a_store_from_before_commits_were_noted_says_so(home: Path) -> None:
    import sqlite3

    with sqlite3.connect(home / "store" / "record.sqlite3") as db:
        db.execute("drop table revision")
    db.close()
    with serving(home, **settings(home)) as server:
        told = Asked(server)("search_corpus", query="valve")["index"]
    assert (told["corpus_commit"], told["corpus_state"]) == (None, "not noted when it was indexed")
