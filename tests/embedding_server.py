"""An embedding service on loopback: Ollama's dialect and OpenAI's, over the hash embedder, with faults on command.

    python tests/embedding_server.py         prints its port, serves until its standard input ends

    POST /api/embed   GET /api/tags          as Ollama
    POST /v1/embeddings                      as OpenAI
    POST /control {name: value}              sets STATE;   GET /control shows it, and what was asked

`faults` is a list of names, one for each request that embeds, in order; "ok" is none. `lasting` is one for all others.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DIM = 64
WINDOW = 2000
FRESH: dict[str, Any] = {
    "faults": [],
    "lasting": "ok",
    "models": {"embeddinggemma:latest": "a" * 64, "nomic-embed-text:latest": "b" * 64, "plain:latest": "c" * 64},
    "window": WINDOW,
    "key": "",
    "elsewhere": "",
    "repeat_key": False,
    "seen": [],
}
"""`window`: words; a longer text is refused. `key`: what a client must send. `seen`: (path, texts, headers) of each."""


class Service(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    state: dict[str, Any]
    lock = threading.Lock()

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        if self.path == "/control":
            return self.reply(200, self.state)
        if self.path == "/api/tags":
            models = self.state["models"].items()
            return self.reply(200, {"models": [{"name": name, "digest": digest} for name, digest in models]})
        return self.reply(404, {"error": "no such page"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/control":
            self.state.update(body)
            return self.reply(200, {})
        with self.lock:
            self.state["seen"].append([self.path, body, dict(self.headers)])
            fault = self.state["faults"].pop(0) if self.state["faults"] else self.state["lasting"]
        if self.path not in ("/api/embed", "/v1/embeddings"):
            return self.reply(404, {"error": {"message": "no such page"}})
        given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("api-key", "")
        if self.state["key"] and given != self.state["key"]:
            return self.reply(401, {"error": {"message": f"Incorrect API key provided: {given}"}})
        return self.embed(body, fault)

    def embed(self, body: dict[str, Any], fault: str) -> None:
        ollama, texts, model = self.path == "/api/embed", body["input"], body["model"]
        if ollama and not {model, f"{model}:latest"} & self.state["models"].keys():
            return self.reply(404, {"error": f'model "{model}" not found, try pulling it first'})
        if any(len(text.split()) > self.state["window"] for text in texts):
            if ollama and body.get("truncate") is False:
                return self.reply(500, {"error": "the input length exceeds the context length"})
            return self.reply(400, {"error": {"message": "maximum context length is 2000 tokens"}})
        vectors = embedded(texts, body.get("dimensions", DIM))
        if fault in AMISS:
            vectors = AMISS[fault](vectors)
        if ollama:
            answer: dict[str, Any] = {"model": model, "embeddings": vectors}
        else:
            items = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
            answer = {"object": "list", "data": items[::-1], "model": model}  # the order is the client's to make
        return self.sent(fault, answer)

    def sent(self, fault: str, answer: dict[str, Any]) -> None:
        match fault:
            case "slow":
                time.sleep(3)
                self.reply(200, answer)
            case "429":
                self.reply(429, {"error": {"message": "slow down"}}, **{"Retry-After": "1"})
            case "429 for long":
                self.reply(429, {"error": {"message": "come back tomorrow"}}, **{"Retry-After": "86400"})
            case "500":
                self.reply(500, {"error": "out of memory"})
            case "400":
                self.reply(400, {"error": {"message": "no\n\x1b[31mred\x1b[0m words"}})
            case "truncated":
                text = json.dumps(answer).encode()
                self.raw(200, text[: len(text) // 2])
            case "closes":
                self.raw(200, json.dumps(answer).encode()[:100], claimed=5000)
                self.close_connection = True
            case "redirect":
                self.raw(307, b"", Location=self.state["elsewhere"])
            case "huge":
                self.raw(200, b" " * 4_000_000 + json.dumps(answer).encode())
            case "no json":
                self.raw(200, b"<html>a proxy's log-in page</html>")
            case "deep":
                self.raw(200, b"[" * 200_000)
            case "other json":
                self.reply(200, ["neither", {"of": "the two"}])
            case _:
                self.reply(200, answer)

    def reply(self, status: int, value: Any, **headers: str) -> None:
        self.raw(status, json.dumps(value).encode(), **headers)

    def raw(self, status: int, data: bytes, claimed: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(claimed or len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()


def embedded(texts: list[str], dim: int) -> list[list[float]]:
    """Of norm 3: a client has to see to it itself."""
    from rag_mcp.adapters.embedders.hashing import HashEmbedder
    from rag_mcp.pure.vectors import numbers

    return [[3 * value for value in numbers(vector)] for vector in HashEmbedder(dim).embed(texts)]


AMISS: dict[str, Any] = {
    "another model": lambda vectors: [vector[::-1] for vector in vectors],
    "one too few": lambda vectors: vectors[:-1],
    "one too many": lambda vectors: [*vectors, vectors[0]],
    "wrong dimension": lambda vectors: [*vectors[:-1], vectors[-1][:-1]],
    "not a number": lambda vectors: [*vectors[:-1], [float("nan"), *vectors[-1][1:]]],
    "infinite": lambda vectors: [*vectors[:-1], [float("inf"), *vectors[-1][1:]]],
    "null": lambda vectors: [*vectors[:-1], [None, *vectors[-1][1:]]],
    "words": lambda vectors: [*vectors[:-1], ["0.5", *vectors[-1][1:]]],
    "too great": lambda vectors: [*vectors[:-1], [1e300, *vectors[-1][1:]]],
    "zeros": lambda vectors: [*vectors[:-1], [0.0] * len(vectors[-1])],
    "no list": lambda vectors: [*vectors[:-1], 7],
}
"""Faults of what is returned, in the last vector of a request."""


class Running:
    """A running service, as a test sees it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.root = f"http://127.0.0.1:{port}"

    def control(self, **state: Any) -> None:
        """Set the state; what is not named is as new."""
        self.tell(FRESH | state)

    def tell(self, state: dict[str, Any]) -> None:
        """Set some of the state, and leave the rest."""
        url, data = f"{self.root}/control", json.dumps(state).encode()
        urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})).close()

    @property
    def seen(self) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
        """What was asked: paths, bodies and headers."""
        with urllib.request.urlopen(f"{self.root}/control") as answer:
            return [tuple(one) for one in json.load(answer)["seen"]]

    @property
    def texts(self) -> list[str]:
        """All texts that were to be embedded, in order."""
        return [text for _, body, _ in self.seen for text in body["input"]]

    def variables(self, name: str) -> dict[str, str]:
        """The environment that leads an embedder of this name here."""
        base = self.root if name.startswith("ollama:") else f"{self.root}/v1"
        return {"RAG_MCP_EMBED_URL": base}


@contextmanager
def running() -> Iterator[Running]:
    """A service in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with process:
        try:
            assert process.stdout is not None
            yield Running(int(process.stdout.readline()))
        finally:
            process.communicate()


def main() -> None:
    """Serve until standard input ends."""
    sys.path.insert(0, str(ROOT))
    Service.state = dict(FRESH)
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
