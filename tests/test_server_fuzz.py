"""Made-up arguments and frames over a real pipe: nothing but structured errors, and the next call is answered."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storecheck import ingest, write_corpus
from wires import MODERN, Server, call, request, serving

NUMBERS = itertools.count(1_000)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
names = st.sampled_from(["query", "k", "doc_class", "name", "arguments", "uri", "_meta", "cursor", "protocolVersion"])
objects = st.dictionaries(names | st.text(max_size=8), values, max_size=5)
methods = st.sampled_from(
    [
        "tools/call", "tools/list", "initialize", "ping", "resources/read", "resources/list",
        "resources/templates/list", "prompts/get", "prompts/list", "server/discover", "completion/complete",
        "logging/setLevel", "notifications/initialized", "notifications/cancelled", "no/such", "",
    ]
)  # fmt: skip
OUTCOMES = {"invalid_query", "invalid_doc_class"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    ingest(write_corpus(home / "notes", pages=3, sections=2), home / "store")
    place = {"RAG_MCP_CORPUS_ROOT": str(home / "notes"), "RAG_MCP_DB_PATH": str(home / "store")}
    with serving(home, **place) as server:
        server.shake_hands()
        yield server
        assert server.end() == 0
        assert b"Traceback" not in server.stderr


def lives(server: Server) -> None:
    number = next(NUMBERS)
    assert "result" in server.ask(request("ping", {}, number))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(arguments=st.fixed_dictionaries({}, optional={"query": values, "k": values, "doc_class": values}))
def test_any_arguments_give_passages_or_a_reason_in_the_same_shape(server: Server, arguments: dict[str, Any]) -> None:
    reply = server.found(next(NUMBERS), **arguments)
    assert reply["ok"] or reply["error"]["type"] in OUTCOMES
    assert 1 <= reply["k"] <= 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(arguments=objects, unknown=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9))
def test_unknown_arguments_are_refused_by_name(server: Server, arguments: dict[str, Any], unknown: str) -> None:
    sent = {"query": "valve", **arguments, unknown: 1}
    strangers = set(sent) - {"query", "k", "doc_class"}
    result = server.ask({**call(next(NUMBERS)), "params": {"name": "search_knowledge", "arguments": sent}})["result"]
    if strangers:
        assert result["isError"] and result["structuredContent"]["error"]["type"] == "invalid_argument"
        assert repr(min(strangers)[:40]) in result["structuredContent"]["error"]["message"]
    else:
        assert "ok" in result["structuredContent"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(method=methods, params=objects | st.lists(values, max_size=3) | st.none(), enveloped=st.booleans())
def test_any_request_gets_a_result_or_an_error(server: Server, method: str, params: Any, enveloped: bool) -> None:
    if enveloped and isinstance(params, dict):
        params = {**params, "_meta": MODERN}
    number = next(NUMBERS)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        message["params"] = params
    server.send(json.dumps(message).encode())
    assert ("result" in server.answer(number)) != ("error" in server.answer(number))
    lives(server)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=200).map(lambda raw: raw.replace(b"\n", b" ")), max_size=5))
def test_any_bytes_are_survived(server: Server, lines: list[bytes]) -> None:
    server.send(*lines)
    lives(server)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(values)
def test_any_json_is_survived(server: Server, value: Any) -> None:
    server.send(json.dumps(value).encode(), json.dumps({"jsonrpc": "2.0", "id": value, "method": "ping"}).encode())
    lives(server)
