"""A server process and its client's end of the pipes. Every line that comes out must parse as JSON-RPC."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rag_mcp.adapters.server import schemas

ROOT = Path(__file__).parent.parent
PATIENCE = 60
OTHER = 65534
"""A user that may write nothing."""
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
Message = dict[str, Any]


def world(home: Path, **more: str) -> dict[str, str]:
    """An environment without any setting but `more`, and with folders of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_MCP_", "XDG_", "PYTHON"))}
    return {**kept, "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(ROOT), **more}


def initialize(version: str = "2025-11-25", number: int = 1) -> Message:
    client = {"name": "test", "version": "1"}
    return request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}, number)


def discover(number: int, version: str = "2026-07-28") -> Message:
    meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": version}
    return request("server/discover", {"_meta": meta}, number)


def call(number: int, meta: Message | None = None, /, **arguments: Any) -> Message:
    params: Message = {"name": "search_knowledge", "arguments": arguments}
    return request("tools/call", params if meta is None else {**params, "_meta": meta}, number)


def request(method: str, params: Message, number: int) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Server:
    """A running server. `said` holds every message it sent."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.said: list[Message] = []
        self.stderr = b""
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._out = threading.Thread(target=self._listen, daemon=True)
        self._err = threading.Thread(target=self._overhear, daemon=True)
        self._out.start()
        self._err.start()

    def send(self, *messages: Message | bytes) -> None:
        """All of them in one write."""
        lines = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in messages]
        assert self.process.stdin
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def answer(self, number: int) -> Message:
        """The reply to request `number`; others that come first are kept."""
        while not (found := [message for message in self.said if message.get("id") == number]):
            message = self._arrived.get(timeout=PATIENCE)
            assert message is not None, f"the server ended before it answered {number}: {self.stderr!r}"
            self.said.append(message)
        return found[0]

    def ask(self, message: Message) -> Message:
        self.send(message)
        return self.answer(message["id"])

    def found(self, number: int, **arguments: Any) -> Message:
        """The structure of a search's reply, which its text must equal, and its published schema allow."""
        result = self.ask(call(number, **arguments))["result"]
        structure: Message = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == structure
        jsonschema.validate(structure, schemas.SEARCH_GIVES)
        assert result["isError"] is (not structure["ok"])
        return structure

    def shake_hands(self) -> Message:
        answer = self.ask(initialize())
        self.send(INITIALIZED)
        return answer

    def end(self) -> int:
        """Close its standard input; its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.gone()

    def gone(self) -> int:
        code = self.process.wait(timeout=PATIENCE)
        self._out.join(PATIENCE)
        self._err.join(PATIENCE)
        while (message := self._arrived.get(timeout=PATIENCE)) is not None:
            self.said.append(message)
        return code

    def _listen(self) -> None:
        assert self.process.stdout
        try:
            for line in self.process.stdout:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
                self._arrived.put(message)
        except ValueError as error:
            if not self.process.stdout.closed:
                self._arrived.put({"id": None, "not a message": str(error)})
        finally:
            self._arrived.put(None)

    def _overhear(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.stderr += line


def another_user() -> int | None:
    """A user for whom read-only means what it says; None where this one is such a user already."""
    if os.geteuid() != 0:
        return None
    try:
        subprocess.run(
            [sys.executable, "-c", "import numpy, mcp"], user=OTHER, group=OTHER, extra_groups=[], check=True,
            capture_output=True, cwd="/",
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("another user may not run this Python")
    return OTHER


@contextmanager
def serving(home: Path, *command: str, user: int | None = None, **settings: str) -> Iterator[Server]:
    """A server, `python -m rag_mcp` unless another command is given, with these settings, as this user."""
    process = subprocess.Popen(
        [sys.executable, *(command or ("-m", "rag_mcp"))],
        env=world(home, **settings),
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    server = Server(process)
    try:
        yield server
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
    assert not [message for message in server.said if "not a message" in message]
