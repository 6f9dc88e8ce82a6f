"""An entry put into a client's file: nothing beside it changes, and what is put in is what was asked for."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from rag_mcp.pure.registration import CLIENTS, Action, Registration, entry, flaw, merged

OURS = Registration("rag", "/a venv/bin/rag-mcp", (), (("RAG_MCP_CORPUS_ROOT", '/ü/"notes"'),))
JSON_CLIENTS = [client for client in CLIENTS.values() if not client.toml]
DESKTOP = CLIENTS["claude-desktop"]
TWICE = '{"mcpServers": {"a": 1, "a": 2}, "x": 1.10, "mcpServers": {"rag": 0, "b": 1e400, "rag": 1}}'

clients = st.sampled_from(JSON_CLIENTS)
keys = st.text(st.characters(), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def files(draw: st.DrawFn, section: str) -> str:
    """A client's file as somebody else wrote it: other keys, other servers, perhaps ours, in any layout."""
    document = list(draw(st.dictionaries(keys, values, max_size=3)).items())
    if draw(st.booleans()):
        servers = list(draw(st.dictionaries(keys, values, max_size=2)).items())
        if draw(st.booleans()):
            ours = draw(values | st.just(entry(DESKTOP, OURS)))
            servers.insert(draw(st.integers(0, len(servers))), (OURS.name, ours))
        document.insert(draw(st.integers(0, len(document))), (section, dict(servers)))
    text = json.dumps(
        dict(document),
        indent=draw(st.sampled_from([None, 0, 1, 2, 3, 4, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :  ")])),
        ensure_ascii=draw(st.booleans()),
    )
    blank = st.sampled_from(["", "\n", " \n\t"])
    text = draw(blank) + text + draw(blank)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


cases = clients.flatmap(lambda client: st.tuples(st.just(client), files(client.section)))


def exact(text: str) -> Any:
    """What a text says, with the order of keys and the spelling of numbers."""
    return json.loads(text, object_pairs_hook=lambda pairs: ["object", *pairs], parse_float=str, parse_int=str)


def without(said: Any, section: str, name: str) -> Any:
    """The same with our entry taken out, and the section too where nothing else is in it."""
    kept = []
    for member in said[1:]:
        if member[0] == section:
            rest = [one for one in member[1][1:] if one[0] != name]
            kept += [(section, rest)] if rest else []
        else:
            kept.append(member)
    return kept


@given(cases)
@example((DESKTOP, TWICE))
@example((DESKTOP, '{"mcpServers": {"rag": {"command": "\\ud800"}}}'))
@example((DESKTOP, "{\n\n}\n"))
def test_every_other_key_keeps_its_place_and_its_value(case: tuple[Any, str]) -> None:
    client, text = case
    new = merged(text, client, OURS).unwrap().text
    assert without(exact(new), client.section, "rag") == without(exact(text), client.section, "rag")


@given(cases)
@example((DESKTOP, TWICE))
def test_the_entry_is_exactly_ours(case: tuple[Any, str]) -> None:
    client, text = case
    said = json.loads(merged(text, client, OURS).unwrap().text)[client.section]["rag"]
    assert said == entry(client, OURS)
    assert said["command"] == OURS.command
    assert (said["args"], said["env"]) == ([], dict(OURS.env))
    assert said.get("type") == ("stdio" if client.name == "vscode" else None)


@given(cases)
@example((DESKTOP, TWICE))
def test_putting_it_in_twice_is_putting_it_in_once(case: tuple[Any, str]) -> None:
    client, text = case
    once = merged(text, client, OURS).unwrap()
    again = merged(once.text, client, OURS).unwrap()
    assert (again.action, again.text) == (Action.UNCHANGED, once.text)


@given(cases)
def test_the_text_changes_in_one_place_and_says_what_was_done(case: tuple[Any, str]) -> None:
    client, text = case
    servers = json.loads(text).get(client.section, {})
    done = merged(text, client, OURS).unwrap()
    if "rag" not in servers:
        assert done.action is Action.ADDED
        grown = len(done.text) - len(text)
        assert any(done.text[:at] + done.text[at + grown :] == text for at in range(len(text)))
    elif servers["rag"] == entry(client, OURS):
        assert (done.action, done.text) == (Action.UNCHANGED, text)
    else:
        assert done.action is Action.REPLACED


@given(st.sampled_from(["", " ", "\n\n", "\r\n\t"]), clients)
def test_a_blank_file_becomes_one_that_holds_the_entry_alone(text: str, client: Any) -> None:
    done = merged(text, client, OURS).unwrap()
    assert done.action is Action.ADDED
    assert json.loads(done.text) == {client.section: {"rag": entry(client, OURS)}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('// mine\n{"mcpServers": {}}', "not plain JSON"),
        ('{"mcpServers": {},}', "not plain JSON"),
        ('{"x": NaN}', "NaN is no number"),
        ("[" * 200_000, "not plain JSON"),
        ("{} {}", "not plain JSON"),
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', '"mcpServers" is not a JSON object'),
        ('{"mcpServers": null}', '"mcpServers" is not a JSON object'),
    ],
    ids=range(8),
)
def test_what_is_not_strict_json_of_the_right_shape_is_refused(text: str, why: str) -> None:
    refused = merged(text, DESKTOP, OURS)
    assert not is_successful(refused)
    assert why in refused.failure()


def test_the_entry_is_laid_out_as_its_neighbours_are() -> None:
    small = Registration("rag", "r", (), (("K", "v"),))

    def put(text: str) -> str:
        return merged(text, DESKTOP, small).unwrap().text

    assert put('{"a":[1,2]}') == '{"a":[1,2],"mcpServers": {"rag": {"command": "r", "args": [], "env": {"K": "v"}}}}'
    tabs = '{\n\t"mcpServers": {\n\t\t"b": {"c": 1},\r\n\t\t"d": {}\n\t}\n}'.replace("\r", "")
    ours = '"rag": {\n\t\t\t"command": "r",\n\t\t\t"args": [],\n\t\t\t"env": {\n\t\t\t\t"K": "v"\n\t\t\t}\n\t\t}'
    assert put(tabs) == tabs.replace('"d": {}', '"d": {},\n\t\t' + ours)
    assert put(tabs.replace('"d": {}', '"rag":  7')) == tabs.replace('"d": {}', ours.replace('"rag": ', '"rag":  '))
    empty = '{\r\n   "mcpServers": {}\r\n}\r\n'
    lines = ['{', '   "mcpServers": {', '      "rag": {', '         "command": "r",', '         "args": [],',
             '         "env": {', '            "K": "v"', '         }', '      }', '   }', '}', '']  # fmt: skip
    assert put(empty) == "\r\n".join(lines)


@given(st.text(max_size=8))
@example("rag\n")
def test_a_name_is_letters_digits_and_two_signs(name: str) -> None:
    plain = name != "" and all(char.isascii() and (char.isalnum() or char in "_-") for char in name)
    assert (flaw(Registration(name, "c", (), ())) is None) == plain


def test_a_path_that_no_json_file_can_hold_is_said_so() -> None:
    assert "not valid Unicode" in (flaw(Registration("rag", "c", (), (("K", "/a/\udcff"),))) or "")
