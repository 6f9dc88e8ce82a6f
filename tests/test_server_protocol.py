"""The server over real pipes: eras, orders, odd frames, noise. Every line of its stdout parses as JSON-RPC."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from storecheck import ingest, write_corpus
from wires import INITIALIZED, MODERN, ROOT, Server, call, discover, initialize, request, serving, world


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    ingest(write_corpus(home / "notes", pages=4, sections=3), home / "store")
    return home


def settings(home: Path) -> dict[str, str]:
    return {"RAG_MCP_CORPUS_ROOT": str(home / "notes"), "RAG_MCP_DB_PATH": str(home / "store")}


def parameters(home: Path) -> StdioServerParameters:
    import sys

    return StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "run_server.py")], env=world(home, **settings(home)), cwd=home
    )


def works(server: Server, number: int, *, meta: dict[str, object] | None = None) -> None:
    """A search on this connection brings passages."""
    result = server.ask(call(number, meta, query="which pump feeds valve 3"))["result"]
    assert result["structuredContent"]["ok"] and result["structuredContent"]["count"] == 5


@pytest.mark.parametrize(
    ("mode", "negotiated"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_the_sdk_client_works_in_each_mode(home: Path, mode: str, negotiated: str) -> None:
    async def session() -> None:
        async with Client(stdio_client(parameters(home)), mode=mode) as client:  # type: ignore[arg-type]
            assert client.protocol_version == negotiated
            assert [tool.name for tool in (await client.list_tools()).tools] == ["search_knowledge"]
            good = await client.call_tool("search_knowledge", {"query": "which pump feeds valve 3", "k": 2})
            assert not good.is_error and good.structured_content["count"] == 2
            bad = await client.call_tool("search_knowledge", {"query": " "})
            assert bad.is_error and bad.structured_content["error"]["type"] == "invalid_query"

    asyncio.run(session())


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"])
def test_initialize_negotiates_the_date_that_was_asked_or_the_newest_of_its_era(home: Path, asked: str) -> None:
    known = asked if asked.startswith(("2024", "2025")) else "2025-11-25"
    with serving(home, **settings(home)) as server:
        assert server.ask(initialize(asked))["result"]["protocolVersion"] == known
        server.send(INITIALIZED)
        works(server, 2)


@pytest.mark.parametrize(
    "probes",
    [
        [discover(10)],
        [discover(10), discover(11)],
        [discover(10, "1999-01-01")],
        [request("server/discover", {}, 10)],
    ],
    ids=["once", "twice", "of an unknown version", "without an envelope"],
)
def test_a_client_that_probes_and_then_initializes_is_served(home: Path, probes: list[dict[str, object]]) -> None:
    with serving(home, **settings(home)) as server:
        server.send(*probes, initialize("2025-06-18"), INITIALIZED, request("tools/list", {}, 2))
        for probe in probes:
            answer = server.answer(int(str(probe["id"])))
            assert "result" in answer or answer["error"]["code"] in (-32022, -32601, -32602)
        assert server.answer(1)["result"]["protocolVersion"] == "2025-06-18"
        assert [tool["name"] for tool in server.answer(2)["result"]["tools"]] == ["search_knowledge"]
        works(server, 3)


def test_a_probe_is_answered_as_the_stock_server_answers_it(home: Path) -> None:
    stock = "from rag_mcp.adapters.server.app import make_app; from rag_mcp.adapters.server.engine import Engine; "
    stock += "from rag_mcp.adapters.serving import server_settings; import os; "
    stock += "make_app(Engine(server_settings(os.environ, {}))).run()"
    with serving(home, "-c", stock, **settings(home)) as theirs, serving(home, **settings(home)) as ours:
        answer = ours.ask(discover(1))
        assert answer == theirs.ask(discover(1))
        assert "2026-07-28" in answer["result"]["supportedVersions"]


def test_after_a_probe_enveloped_requests_are_served(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        server.ask(discover(1))
        works(server, 2, meta=MODERN)


def test_a_real_request_settles_the_era(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        works(server, 1, meta=MODERN)
        assert server.ask({**initialize(), "id": 2})["error"]["code"] == -32022
        works(server, 3, meta=MODERN)


def test_a_call_with_no_handshake_is_answered_and_the_connection_stays_usable(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        assert "error" in server.ask(call(1, query="valve"))
        assert server.ask({**initialize(), "id": 2})["result"]["protocolVersion"] == "2025-11-25"
        server.send(INITIALIZED)
        works(server, 3)


def test_everything_in_one_write_and_then_nothing_more_is_answered_before_the_end(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        server.send(
            discover(7), initialize(), INITIALIZED, request("tools/list", {}, 2), call(3, query="valve"),
            request("ping", {}, 4),
        )  # fmt: skip
        assert server.end() == 0
    assert {message["id"] for message in server.said} == {7, 1, 2, 3, 4}
    assert all("result" in message for message in server.said)


@pytest.mark.parametrize(
    "before", [[], [discover(1)], [initialize(), INITIALIZED], [initialize(), INITIALIZED, call(2, query="x")]]
)
def test_a_client_that_leaves_early_leaves_nothing_behind(home: Path, before: list[dict[str, object]]) -> None:
    with serving(home, **settings(home)) as server:
        server.send(*before)
        assert server.end() == 0
    assert server.stderr == b""
    assert not list(home.glob("rag-mcp-*"))


ODD = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","id":90,"method":"no/such"}',
    b'{"jsonrpc":"2.0","id":91,"method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":92,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":93,"method":"tools/call","params":{"name":"search_knowledge","arguments":[]}}',
    b'{"jsonrpc":"2.0","id":94,"method":"tools/call","params":{"name":"nothing","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":95,"method":"resources/read","params":{"uri":"rag://../../etc/passwd"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}',
    b'{"jsonrpc":"2.0","method":"notifications/nonsense","params":{}}',
    b"\xff\xfe\x00garbage",
    b'{"jsonrpc":"2.0","id":96,"method":"tools/call","params":{"name":"search_knowledge","arguments":{"query":"\\ud800"}}}',
    b'{"jsonrpc":"2.0","id":97,"method":"tools/call","params":["\\ud800"]}',
    b'{"jsonrpc":"2.0","id":98,"method":"ping","params":[1]}',
    b'{"id":99,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":100,"result":"\\ud800"}',
    b'{"id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping","params":[1]}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping","params":[1]}',
    b'{"jsonrpc":"2.0","id":101,"error":{"method":"a","id":102}}',
    b'{"jsonrpc":"2.0","id":103,"method":"ping","params":{"a":{"method":"b","id":104}},"result":1}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping","params":[]}',
    b'{"jsonrpc":"2.0","id":"' + b"x" * 70_000 + b'","method":"ping","params":[]}',
    b"x" * 300_000,
]


def test_odd_frames_are_refused_or_passed_over_and_the_connection_stays_usable(home: Path) -> None:
    with serving(home, **settings(home)) as server:
        server.shake_hands()
        server.send(*ODD)
        works(server, 2)
        for number in (90, 91, 92, 93, 94, 95):
            assert "error" in server.answer(number) or server.answer(number)["result"]["isError"]
        assert server.answer(94)["error"]["code"] == -32602
        assert server.answer(96)["result"]["structuredContent"]["query"] == "\ufffd"
        assert [server.answer(number)["error"]["code"] for number in (97, 98, 99)] == [-32600] * 3
        assert server.end() == 0
    assert b"Traceback" not in server.stderr
    answered = [message.get("id") for message in server.said]
    assert {type(number) for number in answered} == {int, str}
    assert {100, 101, 102, 104}.isdisjoint(answered)


NOISY = """
import os, sys, warnings
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.serving import run

make = HashEmbedder.embed_query

def embed_query(self, text):
    print("a print")
    print("a flushed print", flush=True)
    sys.stdout.write("half a line")
    os.write(1, b"native noise\\n")
    os.system("echo a child")
    warnings.warn("a warning")
    return make(self, text)

HashEmbedder.embed_query = embed_query
run({})
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_whatever_prints_stdout_carries_nothing_but_the_protocol(home: Path, unbuffered: str) -> None:
    more = {"PYTHONUNBUFFERED": unbuffered, "PYTHONWARNINGS": "always"}
    with serving(home, "-c", NOISY, **settings(home), **more) as server:
        server.shake_hands()
        works(server, 2)
        assert server.end() == 0
    assert {message.get("id") for message in server.said} == {1, 2}
    assert b"native noise" in server.stderr and b"a child" in server.stderr


def test_the_sdk_still_has_what_is_used_of_its_inside() -> None:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.tools import Tool

    app: MCPServer[object] = MCPServer("x")
    assert callable(app._lowlevel_server.run) and callable(app._lowlevel_server.create_initialization_options)
    tool = Tool.from_function(json.dumps, name="dumps")
    assert tool.fn_metadata.arg_model and tool.parameters
