"""The newest protocol revision is reached, by the SDK that is pinned: a dependency that goes back fails here.

What each path says and does once it is reached stands in test_server_protocol.py.
"""

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import LATEST_PROTOCOL_VERSION
from wires import ROOT, discover, initialize, serving, world

TARGET, HANDSHAKE = "2026-07-28", "2025-11-25"
LOCKS = ("requirements.lock", "requirements-dev.lock")


def pinned(lock: str) -> str:
    (found,) = re.findall(r"^mcp==(\S+)", (ROOT / lock).read_text("utf-8"), re.MULTILINE)
    return str(found)


def test_the_installed_sdk_is_the_one_that_every_lock_pins_and_knows_the_newest_revision() -> None:
    assert {pinned(lock) for lock in LOCKS} == {version("mcp")}
    assert tuple(map(int, version("mcp").split(".")[:2])) >= (2, 3)
    assert LATEST_PROTOCOL_VERSION == TARGET
    (bounds,) = re.findall(r'^ *"mcp(>=[^"]*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert bounds == ">=2.3,<3"


def test_discovery_advertises_the_newest_revision_and_the_handshake_stops_at_its_own(tmp_path: Path) -> None:
    with serving(tmp_path, str(ROOT / "run_server.py")) as server:
        assert TARGET in server.ask(discover(1))["result"]["supportedVersions"]
    with serving(tmp_path, str(ROOT / "run_server.py")) as server:
        assert server.ask(initialize(TARGET))["result"]["protocolVersion"] == HANDSHAKE


def test_left_to_itself_the_sdk_client_lands_on_the_newest_revision_and_lists_the_tool(tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "run_server.py")], env=world(tmp_path), cwd=tmp_path
    )

    async def session() -> tuple[str, list[str]]:
        async with Client(stdio_client(command), mode="auto") as client:
            return str(client.protocol_version), [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(session()) == (TARGET, ["search_knowledge"])
