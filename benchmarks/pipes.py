"""A server over raw pipes: what is timed is the server, not a client's library.

A request goes out as one line; the answer to it is the line that carries its id.
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
SERVER = (PYTHON, str(ROOT / "run_server.py"))
CLIENT = {"name": "benchmark", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}
INITIALIZE: Message = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
DISCOVER: Message = {"method": "server/discover", "params": {"_meta": ENVELOPE}}
LIST: Message = {"method": "tools/list", "params": {"_meta": ENVELOPE}}


class Piped:
    """A process and the other end of its pipes; a message is a line of JSON."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._number = 0

    def send(self, *messages: Message) -> None:
        """Write them all at once."""
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next message. Raises EOFError where the process is gone."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"{self.process.args!r} is gone")
        return json.loads(line)

    def request(self, message: Message) -> int:
        """Send a request: the id it was given."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, **message})
        return self._number

    def ask(self, message: Message) -> Message:
        """The result of a request, while no other is under way. Raises RuntimeError on a protocol error."""
        number = self.request(message)
        while (answer := self.receive()).get("id") != number:
            continue
        if "result" not in answer:
            raise RuntimeError(f"{message['method']} was answered with {answer}")
        result: Message = answer["result"]
        return result

    def cpu(self) -> float:
        """Processor seconds of the process so far, of all its threads. Linux; 0 elsewhere."""
        return time.clock_gettime(~self.process.pid << 3 | 2) if sys.platform == "linux" else 0.0


def call(question: str, k: int) -> Message:
    """A search, as a request of the first era."""
    arguments = {"query": question, "k": k}
    return {"method": "tools/call", "params": {"name": "search_knowledge", "arguments": arguments}}


@contextmanager
def started(*command: str, settings: Mapping[str, str] | None = None) -> Iterator[Piped]:
    """The process of a command, killed at the end; `settings` are all the RAG_MCP_* that it sees."""
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


def settings_of(corpus: Path, store: Path) -> dict[str, str]:
    """The settings of a server of one store."""
    return {"RAG_MCP_CORPUS_ROOT": str(corpus), "RAG_MCP_DB_PATH": str(store)}
