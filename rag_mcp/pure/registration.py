"""One server's entry in the file in which a client lists its servers.

    {"mcpServers": {…, "rag": {"command": …, "args": […], "env": {…}}}}        VS Code: "servers", and "type": "stdio"

The entry is put into the text itself: every character outside it stays as it was, so nothing that stands beside it
is lost, reordered or written differently. Strict JSON only; text that is anything else is refused, never mended.
Codex keeps the same entry in TOML.
"""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NoReturn

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.shown import Shown

NAME = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = " \t\r\n"
_INDENTED = re.compile(r"^([ \t]+)[^ \t\r\n]", re.MULTILINE)
_DECODER = json.JSONDecoder()


@frozen(repr=False)
class Client(Shown):
    """A program that starts servers. `section` is the key under which it lists them; `restart` is what to do next."""

    name: str
    title: str
    section: str
    restart: str
    typed: bool = False
    toml: bool = False


CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", "mcpServers", "start claude in this folder and approve the server"),
        Client("claude-desktop", "Claude Desktop", "mcpServers", "restart Claude Desktop"),
        Client("cursor", "Cursor", "mcpServers", "restart Cursor"),
        Client("vscode", "VS Code", "servers", "open this folder in VS Code and start the server", typed=True),
        Client("codex", "Codex", "mcp_servers", "start a new Codex session", toml=True),
    )
}


@frozen(repr=False)
class Registration(Shown):
    """What a client starts, and under which name; `env` is all that the server will know of its settings."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


class Action(StrEnum):
    """What putting an entry into a text does to it."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@frozen(repr=False)
class Merged(Shown):
    """A text with the entry in it."""

    action: Action
    text: str


@frozen(repr=False)
class _Member(Shown):
    """One key and its value in an object: where the key begins, where the value begins and ends."""

    key: str
    start: int
    value: int
    end: int


def flaw(registration: Registration) -> str | None:
    """Why no client could hold this, or None."""
    if not NAME.fullmatch(registration.name):
        return f"the name {registration.name!r} will not do: use letters, digits, '_' and '-' (--name)"
    for text in (registration.command, *(value for _, value in registration.env)):
        if any("\ud800" <= char <= "\udfff" for char in text):
            return f"{text!a} is not valid Unicode, which is all that a client's file can hold; rename it"
    return None


def entry(client: Client, registration: Registration) -> dict[str, Any]:
    """The entry as the client reads it."""
    kind = {"type": "stdio"} if client.typed else {}
    return {
        **kind,
        "command": registration.command,
        "args": list(registration.args),
        "env": dict(registration.env),
    }


def snippet(client: Client, registration: Registration) -> str:
    """A whole JSON file that holds nothing but this entry."""
    only = {client.section: {registration.name: entry(client, registration)}}
    return json.dumps(only, indent=2, ensure_ascii=False) + "\n"


def merged(text: str, client: Client, registration: Registration) -> Result[Merged, str]:
    """The JSON text with the entry in it, or a clause that says why the text cannot be touched.

    Blank text becomes a new file. An entry of that name is replaced as a whole; one that says the same already
    leaves the text as it is. Of a key that stands twice the last one counts, as it does for whoever reads the file.
    """
    if not text.strip(_BLANK):
        return Success(Merged(Action.ADDED, snippet(client, registration)))
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Failure(f"it is not plain JSON: {error}")
    if not isinstance(document, dict):
        return Failure("what it holds is not a JSON object")
    servers = document.get(client.section, {})
    if not isinstance(servers, dict):
        return Failure(f'its "{client.section}" is not a JSON object')
    wanted = entry(client, registration)
    if servers.get(registration.name) == wanted:
        return Success(Merged(Action.UNCHANGED, text))
    return Success(_spliced(text, client.section, registration.name, wanted))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _spliced(text: str, section: str, name: str, wanted: dict[str, Any]) -> Merged:
    """The entry put in, or exchanged. The text is strict JSON, an object at its top and one at `section`, if any."""
    top = _skip(text, 0)
    listed = _last(text, top, section)
    if listed is None:
        return Merged(Action.ADDED, _appended(text, top, section, {name: wanted}))
    old = _last(text, listed.value, name)
    if old is None:
        return Merged(Action.ADDED, _appended(text, listed.value, name, wanted))
    shown = _laid_out(wanted, text, _lead(text, old.start))
    return Merged(Action.REPLACED, text[: old.value] + shown + text[old.end :])


def _appended(text: str, at: int, key: str, value: dict[str, Any]) -> str:
    """One more member in the object that begins at `at`, behind its last and laid out as that is."""
    members = list(_members(text, at))
    if members:
        end = members[-1].end
        lead = _lead(text, members[-1].start)
        return text[:end] + "," + lead + f'"{key}": ' + _laid_out(value, text, lead) + text[end:]
    end = text.index("}", at)
    if "\n" not in text.strip(_BLANK):
        return text[: at + 1] + f'"{key}": ' + _laid_out(value, text, "") + text[end:]
    line = text[text.rfind("\n", 0, at) + 1 : at]
    closing = _newline(text) + line[: len(line) - len(line.lstrip(" \t"))]
    lead = closing + _unit(text)
    return text[: at + 1] + lead + f'"{key}": ' + _laid_out(value, text, lead) + closing + text[end:]


def _laid_out(value: dict[str, Any], text: str, lead: str) -> str:
    """The value behind a key that `lead` stands in front of: on one line where the key does not begin a line."""
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False)
    shown = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return shown.replace("\n", _newline(text) + lead.rpartition("\n")[2])


def _members(text: str, at: int) -> Iterator[_Member]:
    """The members of the object that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(key, at, value, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _last(text: str, at: int, key: str) -> _Member | None:
    """The last member of that key."""
    return next((one for one in reversed(list(_members(text, at))) if one.key == key), None)


def _skip(text: str, at: int) -> int:
    """The first place from `at` on that is not blank."""
    while text[at] in _BLANK:
        at += 1
    return at


def _lead(text: str, at: int) -> str:
    """The blank in front of a place."""
    return text[len(text[:at].rstrip(_BLANK)) : at]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation, as the first indented line has it."""
    found = _INDENTED.search(text)
    return found[1] if found else "  "
