"""What clients' files register of this program, and whether it is there. Files are read, nothing is started."""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_mcp.adapters import clients
from rag_mcp.adapters.record.place import FILE_NAME
from rag_mcp.adapters.settings import ALIASES, is_folder, named, resolve
from rag_mcp.pure.health import ClientFile, Registered
from rag_mcp.pure.registration import CLIENTS, Client

MODULES = ("rag_mcp", "rag_mcp.cli", "rag_mcp.server")
OPTIONS = {"--corpus": "RAG_MCP_CORPUS_ROOT", "--db": "RAG_MCP_DB_PATH", "--collection": "RAG_MCP_COLLECTION"}


def client_files(environ: Mapping[str, str], home: Path | None, folder: Path) -> tuple[ClientFile, ...]:
    """The files of the known clients that are there, in `folder` and in the user's `home`."""
    if home is None:
        return ()
    found = []
    for client in CLIENTS.values():
        path = clients.place(client, environ=environ, home=home, folder=folder, platform=sys.platform)
        if os.path.lexists(path):
            found.append(_looked_into(client, path))
    return tuple(found)


def _looked_into(client: Client, path: Path) -> ClientFile:
    if not path.is_file():  # a pipe would be waited for
        return ClientFile(client.title, str(path), fault="it is no regular file, or a link to nothing")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        said = tomllib.loads(text) if client.toml else json.loads(text) if text.strip() else {}
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return ClientFile(client.title, str(path), fault=why)
    servers = said.get(client.section, {}) if isinstance(said, dict) else None
    if not isinstance(servers, dict):
        return ClientFile(client.title, str(path), fault=f"its {client.section!r} lists no servers by name")
    ours = (_registered(str(name), entry) for name, entry in servers.items() if isinstance(entry, dict))
    return ClientFile(client.title, str(path), tuple(server for server in ours if server))


def _registered(name: str, entry: Mapping[str, Any]) -> Registered | None:
    """The entry as facts; None where it starts something else."""
    command, arguments = entry.get("command"), _texts(entry.get("args"))
    given = entry.get("env") if isinstance(entry.get("env"), dict) else {}
    env = {str(key): value for key, value in (given or {}).items() if isinstance(value, str)}
    if not isinstance(command, str) or not _is_ours(command, arguments, env):
        return None
    env |= dict(_from_arguments(arguments))
    corpus, store = named(env, "RAG_MCP_CORPUS_ROOT"), named(env, "RAG_MCP_DB_PATH")
    return Registered(
        name=name,
        command=command,
        command_found=_unsure(command) or shutil.which(Path(command).expanduser()) is not None,
        corpus=corpus,
        corpus_found=corpus is not None and (_unsure(corpus) or is_folder(Path(corpus).expanduser())),
        store=store,
        store_found=store is not None and (_unsure(store) or _has_record(env)),
    )


def _is_ours(command: str, arguments: Sequence[str], env: Mapping[str, str]) -> bool:
    told = any(key.startswith("RAG_MCP_") or key in ALIASES.values() for key in env)
    return (
        told
        or Path(command).name.startswith("rag-mcp")
        or any(word in MODULES or Path(word).name in ("run_server.py", "rag-mcp") for word in arguments)
        or any(Path(word).name == "server.py" and is_folder(Path(word).with_name("rag_mcp")) for word in arguments)
    )


def _from_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options as the variables that they stand for: `--db STORE` and `--db=STORE`."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        if option in OPTIONS and (value if equals else following):
            yield OPTIONS[option], value if equals else following


def _has_record(env: Mapping[str, str]) -> bool:
    folder = resolve({**env, "RAG_MCP_EMBEDDER": ""}).map(lambda settings: settings.folder).value_or(None)
    try:
        return folder is not None and (folder / FILE_NAME).is_file()
    except OSError:
        return False


def _unsure(text: str) -> bool:
    """A placeholder that only the client can fill in."""
    return "${" in text


def _texts(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()
