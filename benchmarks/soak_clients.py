"""The two kinds of client that soak a server: the SDK's, which can only do right, and raw pipes, which can do wrong.

Either cancels a call on the wire when its task is cancelled.
"""

import asyncio
import json
import random
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.accounting import ROOT
from benchmarks.pipes import INITIALIZE, INITIALIZED, SERVER, Message

BROKEN = (
    b"{no json\n",
    b"[]\n",
    b"\xff\xfe\n",
    b'{"jsonrpc":"2.0"}\n',
    b'{"jsonrpc":"2.0","id":[1],"method":"ping"}\n',
)


class Refusal(Exception):
    """A protocol error; the code of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class SdkClient:
    """The SDK's client, of one era."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def search(self, name: str, arguments: Message) -> Message:
        """The result as it was on the wire. Raises Refusal."""
        result = await self._asked(self._client.call_tool(name, arguments))
        return {
            "isError": result.is_error,
            "structuredContent": result.structured_content,
            "text": result.content[0].text,
        }

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises Refusal."""
        result = await self._asked(self._client.read_resource(uri))
        return str(result.contents[0].text)

    async def disturb(self, chance: random.Random) -> None:
        """Nothing: this client can only do what is right."""

    async def _asked(self, call: Any) -> Any:
        from mcp.shared.exceptions import MCPError

        try:
            return await call
        except MCPError as error:
            raise Refusal(error.error.code, error.error.message) from error


class RawClient:
    """Lines of JSON over pipes, of which every one that comes back must be a message."""

    def __init__(self, process: asyncio.subprocess.Process, wrong: list[str]) -> None:
        self._process, self._wrong = process, wrong
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._number = 0

    async def listen(self) -> None:
        """Hand every answer to whoever waits for it, until the server is gone."""
        assert self._process.stdout
        while line := await self._process.stdout.readline():
            try:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
            except (ValueError, KeyError, AssertionError):
                self._wrong.append(f"no message: {line[:200]!r}")
                continue
            waiting = self._waiting.pop(message.get("id"), None) if isinstance(message.get("id"), int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        for waiting in self._waiting.values():
            waiting.cancel()

    async def search(self, name: str, arguments: Message) -> Message:
        """The result. Raises Refusal."""
        result = await self._asked("tools/call", {"name": name, "arguments": arguments})
        return {**result, "text": result["content"][0]["text"]}

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises Refusal."""
        return str((await self._asked("resources/read", {"uri": uri}))["contents"][0]["text"])

    async def disturb(self, chance: random.Random) -> None:
        """Send what no client should."""
        await self._send(chance.choice(BROKEN))

    async def begin(self) -> None:
        """Shake hands."""
        await self._asked(INITIALIZE["method"], INITIALIZE["params"])
        await self._send(json.dumps(INITIALIZED).encode() + b"\n")

    async def _asked(self, method: str, params: Message) -> Message:
        self._number = number = self._number + 1
        self._waiting[number] = waiting = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await self._send(json.dumps(request).encode() + b"\n")
        try:
            answer = await waiting
        except asyncio.CancelledError:
            notice = {"method": "notifications/cancelled", "params": {"requestId": number}}
            await self._send(json.dumps({"jsonrpc": "2.0", **notice}).encode() + b"\n")
            raise
        if "error" in answer:
            raise Refusal(answer["error"]["code"], answer["error"]["message"])
        result: Message = answer["result"]
        return result

    async def _send(self, line: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(line)
        await self._process.stdin.drain()


@asynccontextmanager
async def sdk_client(mode: str, environ: dict[str, str], work: Path) -> Any:
    """The SDK's client over stdio_client, and the server's process id, told by the shell that becomes it."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    told = work / f"{mode}.pid"
    shell = ["-c", 'echo $$ >"$0"; exec "$@"', str(told), *SERVER]
    with (work / f"{mode}.stderr").open("w") as errors:
        server = StdioServerParameters(command="/bin/sh", args=shell, env=environ, cwd=ROOT)
        async with Client(stdio_client(server, errors), mode=mode, message_handler=_surprise) as client:
            yield SdkClient(client), int(told.read_text())


async def _surprise(message: Any) -> None:
    """What comes unasked: a line that is no message is an exception here."""
    if isinstance(message, Exception):
        raise message


@asynccontextmanager
async def raw_client(environ: dict[str, str], work: Path, wrong: list[str]) -> Any:
    """A client of raw pipes, which has shaken hands, and the server's process id."""
    with (work / "raw.stderr").open("w") as errors:
        process = await asyncio.create_subprocess_exec(
            *SERVER, cwd=ROOT, env=environ, stderr=errors, limit=1 << 24,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        client = RawClient(process, wrong)
        listening = asyncio.create_task(client.listen())
        await client.begin()
        yield client, process.pid
        assert process.stdin
        process.stdin.close()
        if code := await process.wait():
            wrong.append(f"the server of raw pipes ended with {code}")
        await listening
