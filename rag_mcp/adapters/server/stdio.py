"""The server over standard input and output, for as long as its client is there.

leading server/discover probes   answered by a connection of their own: the era stays open, so that a client
                                 that probes and then sends `initialize` after all is served
the first other request          decides the era of the connection, as the SDK has it
stdin ends, the client's end of stdout closes, SIGINT, SIGTERM      the process is gone, at once
"""

import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from rag_mcp.adapters.server.app import make_app
from rag_mcp.adapters.server.engine import Engine
from rag_mcp.adapters.server.frames import read_again
from rag_mcp.pure.profiles import DEFAULT

Incoming = SessionMessage | Exception
DRAIN = 1.5
"""Seconds."""

log = logging.getLogger(__name__)


def serve(engine: Engine, profiles: Sequence[str] = DEFAULT) -> NoReturn:
    """Serve the tools of these profiles until the client is gone, and end the process."""

    def leave(code: int) -> NoReturn:
        engine.close()
        os._exit(code)  # threads may be at work for a client that is gone; nothing of theirs is worth waiting for

    signal.signal(signal.SIGINT, lambda *_: leave(130))
    signal.signal(signal.SIGTERM, lambda *_: leave(143))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    _watch(os.dup(sys.stdout.fileno()), lambda: leave(0))
    try:
        anyio.run(run, make_app(engine, profiles=profiles))
    except BaseException as error:
        log.warning("the connection ended: %s", _first(error))
        leave(1)
    leave(0)


async def run(app: MCPServer[Any]) -> None:
    """Serve one connection over the process's stdin and stdout."""
    async with stdio_server() as (wire_in, wire_out):
        await Connection(app, wire_in, wire_out).run()


class Connection:
    """One client: what it sends goes to the SDK's server, what that answers goes back, and both are watched."""

    def __init__(
        self, app: MCPServer[Any], wire_in: ReadStream[Incoming], wire_out: WriteStream[SessionMessage]
    ) -> None:
        self._core = app._lowlevel_server
        self._options = self._core.create_initialization_options()
        self._wire_in, self._wire_out = wire_in, wire_out
        self._pending: set[RequestId] = set()

    async def run(self) -> None:
        """Serve until the client has said its last and been answered."""
        to_core, core_in = anyio.create_memory_object_stream[Incoming](0)
        core_out, from_core = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask, to_core)
            group.start_soon(self._answer, from_core)
            await self._core.run(core_in, core_out, self._options)
            group.cancel_scope.cancel()

    async def _ask(self, to_core: WriteStream[Incoming]) -> None:
        probing = True
        async with self._wire_in, to_core:
            async for item in self._wire_in:
                if isinstance(item, Exception):
                    item = await self._read_again(item)
                message = None if isinstance(item, Exception) else item.message
                if isinstance(message, JSONRPCRequest):
                    probing = probing and message.method == "server/discover"
                    if probing:
                        await self._answer_probe(item)
                        continue
                    self._pending.add(message.id)
                elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._pending.discard((message.params or {}).get("requestId", ""))
                await to_core.send(item)
            with anyio.move_on_after(DRAIN):
                while self._pending:
                    await anyio.sleep(0.01)

    async def _read_again(self, unread: Exception) -> Incoming:
        """What the SDK could not read, where it can be mended; a request that cannot is answered."""
        again = read_again(unread)
        if isinstance(again, JSONRPCError):
            await self._wire_out.send(SessionMessage(again))
        return SessionMessage(again) if isinstance(again, JSONRPCRequest | JSONRPCNotification) else unread

    async def _answer(self, from_core: ReadStream[SessionMessage]) -> None:
        async with self._wire_out:
            async for item in from_core:
                if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
                    self._pending.discard(item.message.id)
                await self._wire_out.send(item)

    async def _answer_probe(self, probe: Incoming) -> None:
        """Let a connection that lives for this one request answer, so that it settles nothing for the real one."""
        ask, probe_in = anyio.create_memory_object_stream[Incoming](1)
        probe_out, answer = anyio.create_memory_object_stream[SessionMessage](1)
        async with anyio.create_task_group() as group:
            group.start_soon(self._core.run, probe_in, probe_out, self._options)
            async with ask, answer:
                await ask.send(probe)
                await self._wire_out.send(await answer.receive())


def _watch(wire: int, gone: Callable[[], NoReturn]) -> None:
    """Call `gone` when nobody can read from the wire any more; a server that says nothing would not notice."""
    if not hasattr(select, "poll"):
        return

    def wait() -> None:
        poller = select.poll()
        poller.register(wire, 0)  # errors and hang-ups are reported unasked
        poller.poll()
        gone()

    threading.Thread(target=wait, name="client-watch", daemon=True).start()


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
