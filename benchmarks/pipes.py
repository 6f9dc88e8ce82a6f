"""A server over raw pipes: what is timed is the server, not a client's library.

A request goes out as one line, and the answer to it is the line that carries its id.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.accounting import PYTHON, ROOT, SETTINGS

Message = dict[str, Any]
NEWEST = "2026-07-28"
CLIENT = {"name": "benchmark", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}
LEGACY: Message = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}
MODERN: Message = {"method": "tools/list", "params": {"_meta": ENVELOPE}}
PROBE: Message = {"method": "server/discover", "params": {"_meta": ENVELOPE}}
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SERVER = (PYTHON, str(ROOT / "run_server.py"))


class Piped:
    """A server process and the client's end of its pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._number = 0

    def send(self, *messages: Message) -> None:
        """Write them all at once."""
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def numbered(self, message: Message) -> Message:
        """The message as a request with the next id."""
        self._number += 1
        return {"jsonrpc": "2.0", "id": self._number, **message}

    def receive(self) -> Message:
        """The next message. Raises EOFError where the server is gone."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the server is gone")
        received: Message = json.loads(line)
        return received

    def ask(self, message: Message) -> Message:
        """The answer to one request, when nothing else is under way."""
        request = self.numbered(message)
        self.send(request)
        while (answer := self.receive()).get("id") != request["id"]:
            continue
        return answer

    def cpu(self) -> float:
        """Processor seconds of the process so far, of all its threads. Linux; 0 elsewhere."""
        return time.clock_gettime(~self.process.pid << 3 | 2) if sys.platform == "linux" else 0.0


def search(text: str, k: int = 5) -> Message:
    """A call of the tool."""
    return {"method": "tools/call", "params": {"name": "search_knowledge", "arguments": {"query": text, "k": k}}}


@contextmanager
def started(*command: str, settings: Mapping[str, str] | None = None) -> Iterator[Piped]:
    """The server of a command, killed at the end; `settings` are all the RAG_MCP_* that it sees."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environ, **(settings or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield Piped(process)
        finally:
            process.kill()


def of_store(corpus: Path, store: Path) -> dict[str, str]:
    """The settings of a server of one store."""
    return {"RAG_MCP_CORPUS_ROOT": str(corpus), "RAG_MCP_DB_PATH": str(store)}
