"""The files in which clients list their servers: where each is, and how one is changed.

    read -> merge -> backup beside it -> temporary file beside it, synced -> renamed over it

Until the rename the file is what it was; after it the file is whole. A link is followed, so that a file kept
elsewhere is changed there. A file that cannot be merged into is left alone, and the entry is shown instead.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.effects.boundary import Refused
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.registration import Action, Client, Merged, Registration, entry, merged, snippet
from rag_mcp.pure.shown import Shown

_BOM = b"\xef\xbb\xbf"


@frozen(repr=False)
class Draft(Shown):
    """A client's file as it is, and as it would be. `before` None: there is no file."""

    path: Path
    before: bytes | None
    after: bytes
    action: Action


def place(client: Client, *, environ: Mapping[str, str], home: Path, folder: Path, platform: str) -> Path:
    """Where the client looks: in the current `folder` for a project's clients, else below `home`."""
    match client.name:
        case "claude-code":
            return folder / ".mcp.json"
        case "vscode":
            return folder / ".vscode" / "mcp.json"
        case "cursor":
            return home / ".cursor" / "mcp.json"
        case "codex":
            return folder / (environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
        case _:
            return _desktop(environ, home, platform) / "Claude" / "claude_desktop_config.json"


def _desktop(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """The folder in which desktop programs keep their settings."""
    match platform:
        case "darwin":
            return home / "Library" / "Application Support"
        case "win32":
            return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        case _:
            return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def draft(path: Path, client: Client, registration: Registration) -> Draft:
    """What registering would make of the file; nothing is written. Raises Refused(ConfigError)."""
    try:
        real = path.resolve()
        before = _contents(real)
    except (OSError, RuntimeError) as error:  # the latter: links that lead in a circle
        raise _refusal(path, client, registration, f"could not be read ({_why(error)})") from error
    raw = before or b""
    bom = _BOM if raw.startswith(_BOM) else b""
    try:
        text = raw.removeprefix(bom).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(path, client, registration, f"is not UTF-8 text (byte {error.start})") from error
    merge = _merged_toml if client.toml else merged
    match merge(text, client, registration):
        case Success(Merged(action=action, text=new)):
            return Draft(real, before, bom + new.encode("utf-8"), action)
        case Failure(why):
            raise _refusal(path, client, registration, f"cannot be merged into: {why}")
        case _ as never:
            raise AssertionError(never)


def write(change: Draft) -> Path | None:
    """Carry it out; -> the backup of what the file held, if it held anything. Raises Refused(ConfigError).

    Refused too where the file has changed since it was read.
    """
    if change.action is Action.UNCHANGED:
        return None
    path = change.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _contents(path) != change.before:
            raise Refused(ConfigError(f"{path}: changed while it was being merged into; it was left alone; run again"))
        mode = None if change.before is None else stat.S_IMODE(path.stat().st_mode)
        backup = _backed_up(path, change.before, mode) if change.before else None
        _replace(path, change.after, mode)
    except OSError as error:
        raise Refused(ConfigError(f"{path}: could not be written ({_why(error)}); it was left as it is")) from error
    return backup


def _contents(path: Path) -> bytes | None:
    """The bytes of a regular file, None where there is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a regular file")
    except FileNotFoundError:
        return None
    return path.read_bytes()


def _backed_up(path: Path, data: bytes, mode: int | None) -> Path:
    """The bytes under the first free name beside the file: NAME.bak, NAME.bak1, NAME.bak2, and so on."""
    for suffix in chain([".bak"], (f".bak{number}" for number in count(1))):
        backup = path.with_name(path.name + suffix)
        try:
            _create(backup, data, mode)
        except FileExistsError:
            continue
        return backup
    raise AssertionError("numbers end")


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """The file anew, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _create(temporary, data, mode)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _create(path: Path, data: bytes, mode: int | None) -> None:
    """A file that was not there, on the disk when this returns, or not there. `mode` None: as new files are made."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if mode is not None:
            path.chmod(mode)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _merged_toml(text: str, client: Client, registration: Registration) -> Result[Merged, str]:
    """As `registration.merged`, for TOML. What comes out is read again: it must say what it said, and the entry."""
    from tomlkit.exceptions import TOMLKitError

    try:
        said = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return Failure(f"it is not TOML: {error}")
    servers = said.get(client.section, {})
    if not isinstance(servers, dict):
        return Failure(f"its {client.section} is not a table")
    wanted = entry(client, registration)
    if servers.get(registration.name) == wanted:
        return Success(Merged(Action.UNCHANGED, text))
    action = Action.REPLACED if registration.name in servers else Action.ADDED
    only = {client.section: {registration.name: wanted}}
    for attempt in (_appended_toml, _updated_toml):
        try:
            new = attempt(text, only)
            if tomllib.loads(new) == {**said, client.section: {**servers, registration.name: wanted}}:
                return Success(Merged(action, new))
        except (TOMLKitError, ValueError, TypeError, LookupError, AttributeError):  # not for this layout
            continue
    return Failure(f"its {client.section} is laid out in a way that cannot be changed safely")


def _appended_toml(text: str, only: dict[str, Any]) -> str:
    """The text, and tables of their own behind it: nothing in it moves, so comments stay where they belong."""
    import tomlkit

    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text if text.endswith("\n") or not text else text + newline
    return ended + (newline if ended else "") + tomlkit.dumps(only).replace("\n", newline)


def _updated_toml(text: str, only: dict[str, Any]) -> str:
    """The text with an entry that is there already, or that an inline table must take, changed key by key."""
    import tomlkit

    document = tomlkit.parse(text)
    for section, servers in only.items():
        for name, wanted in servers.items():
            if name in document[section]:
                _update(document[section][name], wanted)
            else:
                document[section][name] = wanted
    return tomlkit.dumps(document)


def _update(table: Any, wanted: dict[str, Any]) -> None:
    """Make a table say exactly what is wanted; what stays stays where it is, with the comments around it."""
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(table.get(key), dict):
            _update(table[key], value)
        elif table.get(key) != value:
            table[key] = value
    for key in [key for key in table if key not in wanted]:
        del table[key]


def _refusal(path: Path, client: Client, registration: Registration, what: str) -> Refused:
    """What is wrong with the file, and the entry to be put in by hand."""
    new = _merged_toml("", client, registration).unwrap().text if client.toml else snippet(client, registration)
    return Refused(ConfigError(f"{path}: {what}; it was left as it is; put this in by hand:\n\n{new}"))


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
