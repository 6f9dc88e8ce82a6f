"""The server over HTTP: who may ask, from where, how much, and what it tells."""

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from storecheck import ingest, write_corpus
from wires import MODERN, ROOT, call, initialize, world

SECRET = "s" * 40
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    ingest(write_corpus(home / "my notes", pages=4, sections=3), home / "store")
    return home


def command(home: Path, *options: str) -> list[str]:
    place = ["--corpus", str(home / "my notes"), "--db", str(home / "store")]
    return [sys.executable, "-m", "rag_mcp", "serve", "--transport", "http", *place, *options]


@contextmanager
def listening(home: Path, *options: str, **settings: str) -> Iterator[int]:
    """A server; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        command(home, "--port", str(port), *options), env=world(home, **settings), cwd=ROOT, stderr=subprocess.PIPE
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.1)
        yield port
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) in (0, 143, -signal.SIGTERM)
    finally:
        process.kill()
        _, said = process.communicate()
    assert b"Traceback" not in said


def post(port: int, body: bytes | dict[str, Any], **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/mcp", sent, {**JSON, **named})
    answer = connection.getresponse()
    said = answer.status, answer.read()
    connection.close()
    return said


@pytest.mark.parametrize(("mode", "negotiated"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
def test_the_sdk_client_searches_in_both_eras(home: Path, mode: str, negotiated: str) -> None:
    async def session(port: int) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:  # type: ignore[arg-type]
            assert client.protocol_version == negotiated
            good = await client.call_tool("search_knowledge", {"query": "which pump feeds valve 3", "k": 2})
            assert not good.is_error and good.structured_content["count"] == 2
            bad = await client.call_tool("search_knowledge", {"query": "x", "doc_class": "other"})
            assert bad.is_error and bad.structured_content["error"]["type"] == "invalid_doc_class"

    with listening(home) as port:
        asyncio.run(session(port))


def test_foreign_hosts_foreign_pages_and_large_bodies_are_turned_away(home: Path) -> None:
    with listening(home) as port:
        assert post(port, initialize())[0] == 200
        assert post(port, initialize(), Host=f"localhost:{port}")[0] == 200
        assert post(port, initialize(), Host="evil.example")[0] == 421
        assert post(port, initialize(), Host=f"127.0.0.1.evil.example:{port}")[0] == 421
        assert post(port, initialize(), Origin="http://evil.example")[0] == 403
        assert post(port, initialize(), Origin="null")[0] == 403
        assert post(port, initialize(), Origin=f"http://localhost:{port}")[0] == 200
        assert post(port, b"x" * (4 * 1024 * 1024 + 1))[0] == 413
        assert post(port, b"{")[0] == 400
        assert post(port, initialize())[0] == 200


def test_where_a_token_is_set_it_is_asked_for(home: Path) -> None:
    with listening(home, RAG_MCP_HTTP_TOKEN=SECRET) as port:
        assert post(port, initialize())[0] == 401
        assert post(port, initialize(), Authorization="Bearer " + "t" * 40)[0] == 401
        assert post(port, initialize(), Authorization="Bearer \u00e9")[0] == 401
        assert post(port, initialize(), Authorization=f"Bearer {SECRET}")[0] == 200
        assert post(port, initialize(), Authorization=f"Bearer {SECRET}", Host="evil.example")[0] in (401, 421)


def test_another_address_needs_a_token_and_a_host_name_and_checks_both(home: Path) -> None:
    with listening(home, "--host", "0.0.0.0", "--allow-host", "kb.example.org", RAG_MCP_HTTP_TOKEN=SECRET) as port:
        known = {"Authorization": f"Bearer {SECRET}"}
        assert post(port, initialize(), Host="kb.example.org", **known)[0] == 200
        assert post(port, initialize(), Host="kb.example.org:9000", **known)[0] == 200
        assert post(port, initialize(), Host="evil.example", **known)[0] == 421
        assert post(port, initialize(), Host="kb.example.org", Origin="https://evil.example", **known)[0] == 403
        assert post(port, initialize(), Host="kb.example.org")[0] == 401


@pytest.mark.parametrize(
    ("options", "settings", "named"),
    [
        (["--host", "0.0.0.0"], {}, "RAG_MCP_HTTP_TOKEN"),
        (["--host", "::"], {}, "RAG_MCP_HTTP_TOKEN"),
        (["--host", "192.0.2.1"], {}, "RAG_MCP_HTTP_TOKEN"),
        (["--host", "0.0.0.0"], {"RAG_MCP_HTTP_TOKEN": SECRET}, "--allow-host"),
        (["--host", "0.0.0.0", "--allow-host", "x"], {"RAG_MCP_HTTP_TOKEN": "short"}, "shorter than 32"),
        ([], {"RAG_MCP_HTTP_TOKEN": "short"}, "shorter than 32"),
    ],
)
def test_an_unsafe_address_is_refused_before_anything_listens(
    home: Path, options: list[str], settings: dict[str, str], named: str
) -> None:
    done = subprocess.run(
        command(home, *options), env=world(home, **settings), cwd=ROOT, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1 and named in done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said_in_one_line(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            command(home, "--port", str(port)), env=world(home), cwd=ROOT, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
    assert done.returncode == 1 and "address already in use" in done.stderr
    assert "Traceback" not in done.stderr and "serving" not in done.stderr


def test_a_network_is_told_no_path_of_this_machine(home: Path) -> None:
    record = home / "store" / "record.sqlite3"
    moved = record.rename(home / "aside")
    try:
        with listening(home) as port:
            answer = json.loads(post(port, initialize(), Host=f"127.0.0.1:{port}")[1])
            assert answer["result"]["serverInfo"]["name"] == "rag-mcp"
            sent = call(2, query="valve")
            said = post(port, sent, Mcp_Protocol_Version="2025-11-25")[1].decode()
            reply = json.loads(said)["result"]["structuredContent"]
            assert reply["error"]["type"] == "store_missing"
            assert str(home) not in said and "STORE" in reply["error"]["next_step"]
    finally:
        moved.rename(record)


def test_blanks_behind_a_header_are_no_part_of_it(home: Path) -> None:
    sent = call(2, MODERN, query="valve")
    named = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "search_knowledge  "}
    with listening(home) as port:
        status, said = post(port, sent, **named)
        assert (status, json.loads(said)["result"]["structuredContent"]["ok"]) == (200, True)
