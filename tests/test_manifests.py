"""What others read about the server before they start it: one version, and each file by the rules of its reader."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import rag_mcp
from rag_mcp.adapters.settings import EMBEDDERS

ROOT = Path(__file__).parents[1]
VARIABLES = set(re.findall(r"RAG_MCP_\w+", (ROOT / "rag_mcp/adapters/settings.py").read_text("utf-8")))
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"


def need(name: str) -> str:
    """The text of a file of the project; skip where only the package was unpacked."""
    if not (ROOT / name).is_file():
        pytest.skip(f"{name} is not here")
    return (ROOT / name).read_text("utf-8")


@pytest.fixture
def server() -> dict[str, Any]:
    return json.loads(need("server.json"))


@pytest.fixture
def bundle() -> dict[str, Any]:
    return json.loads(need("packaging/mcpb/manifest.json"))


def test_there_is_one_version(server: dict[str, Any], bundle: dict[str, Any]) -> None:
    named = [server["version"], *(package["version"] for package in server["packages"]), bundle["version"]]
    assert named == [rag_mcp.__version__] * 3


def test_the_registry_s_rules_are_kept(server: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 3 <= len(server["name"]) <= 200
    assert 1 <= len(server["description"]) <= 100
    assert set(server) <= {"$schema", "name", "title", "description", "version", "packages"}
    [package] = server["packages"]
    assert (package["registryType"], package["identifier"]) == ("pypi", "rag-mcp")
    assert package["transport"] == {"type": "stdio"}
    variables = {one["name"]: one for one in package["environmentVariables"]}
    assert set(variables) <= VARIABLES
    assert [name for name, one in variables.items() if one.get("isRequired")] == ["RAG_MCP_CORPUS_ROOT"]
    assert {one.get("format", "string") for one in variables.values()} <= {"string", "number", "boolean", "filepath"}
    named = variables["RAG_MCP_EMBEDDER"]["description"].partition(", or ")[0].split(", ")
    assert set(named) <= set(EMBEDDERS)


def test_the_readme_proves_whose_the_name_is(server: dict[str, Any]) -> None:
    assert f"\n<!-- mcp-name: {server['name']} -->\n" in need("README.md")


def test_the_project_s_name_is_the_package_s(server: dict[str, Any]) -> None:
    assert f'\nname = "{server["packages"][0]["identifier"]}"\n' in need("pyproject.toml")


def test_the_bundle_starts_what_is_in_it_with_settings_that_exist(bundle: dict[str, Any]) -> None:
    required = {"manifest_version", "name", "version", "description", "author", "server"}
    assert set(bundle) >= required
    assert bundle["author"]["name"]
    assert (bundle["manifest_version"], bundle["server"]["type"]) == ("0.4", "uv")
    assert (ROOT / bundle["server"]["entry_point"]).is_file()
    env = bundle["server"]["mcp_config"]["env"]
    assert set(env) <= VARIABLES
    asked = {re.fullmatch(r"\$\{user_config\.(\w+)\}", value)[1] for value in env.values()}  # type: ignore[index]
    assert asked == set(bundle["user_config"])
    assert all({"type", "title", "description"} <= set(one) for one in bundle["user_config"].values())


def test_what_a_bundle_s_user_may_leave_empty_has_a_default(bundle: dict[str, Any]) -> None:
    """Hosts leave the placeholder of a setting that has neither a value nor a default as it stands."""
    asked = bundle["user_config"]
    assert [name for name, one in asked.items() if not one.get("required")] == ["index"]
    assert asked["index"]["default"] == ""


def test_the_hub_s_manifest_keeps_the_rules_of_its_loader() -> None:
    manifest = yaml.safe_load(need("mcp.yaml"))
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", manifest["name"])
    assert isinstance(manifest["description"], str)
    runtime = manifest["runtime"]
    assert set(runtime) <= {"command", "type", "style", "script", "output"}
    assert isinstance(runtime["command"], str)
    assert runtime.get("type", "python") in ("python", "node", "binary")
    assert runtime.get("style", "raw") in ("raw", "fastmcp")
    assert runtime["script"] == "run_server.py" or (ROOT / runtime["script"]).is_file()
    assert isinstance(manifest["env_required"], list)
    assert all(re.fullmatch(IDENTIFIER, name) and name in VARIABLES for name in manifest["env_required"])
    assert isinstance(manifest.get("env", {}), dict)
    assert isinstance(manifest.get("tags", []), list)
    assert manifest.get("priority", "medium") in ("high", "medium", "low")


def test_the_hub_s_manifest_lists_its_tools_by_the_rules_of_its_loader() -> None:
    tools = yaml.safe_load(need("mcp.yaml"))["tools"]
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names) > 0
    for tool in tools:
        assert re.fullmatch(IDENTIFIER, tool["name"])
        assert isinstance(tool["description"], str)
        assert isinstance(tool.get("args", []), list)
        for argument in tool.get("args", []):
            assert set(argument) <= {"name", "type", "required", "description"}
            assert re.fullmatch(IDENTIFIER, argument["name"])
            assert argument.get("type", "string") in ("string", "number", "boolean", "object", "array")
            assert isinstance(argument.get("required", True), bool)


def test_bundle_and_hub_name_the_same_tools(bundle: dict[str, Any]) -> None:
    hub = {tool["name"]: tool["description"] for tool in yaml.safe_load(need("mcp.yaml"))["tools"]}
    assert {tool["name"]: tool["description"] for tool in bundle["tools"]} == hub


def test_the_manifest_lists_what_the_live_server_lists() -> None:
    import asyncio

    from mcp.client import Client
    from returns.result import Failure

    from rag_mcp.adapters.server.app import make_app
    from rag_mcp.adapters.server.engine import Engine
    from rag_mcp.pure.errors import ConfigError

    def shape(schema: dict[str, Any]) -> dict[str, tuple[str, bool]]:
        kinds = {name: part["type"].replace("integer", "number") for name, part in schema["properties"].items()}
        return {name: (kind, name in schema["required"]) for name, kind in kinds.items()}

    async def live() -> dict[str, Any]:
        async with Client(make_app(Engine(Failure(ConfigError("none"))))) as client:
            return {tool.name: shape(tool.input_schema) for tool in (await client.list_tools()).tools}

    tools = yaml.safe_load(need("mcp.yaml"))["tools"]
    told = {
        tool["name"]: {one["name"]: (one.get("type", "string"), one.get("required", True)) for one in tool["args"]}
        for tool in tools
    }
    assert asyncio.run(live()) == told
