"""The verb `install`: this server, with settings that need nothing else, into a client's file.

A client starts the server in a folder of its own and passes on next to nothing of the environment. So every path
is absolute, every setting is named, and the program is the one that runs now.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from returns.result import Failure, Success

from rag_mcp.adapters import clients
from rag_mcp.adapters.serving import profiles
from rag_mcp.adapters.settings import DEFAULT_COLLECTION, Settings, is_folder, resolve
from rag_mcp.adapters.verbs import print_json
from rag_mcp.effects.boundary import Refused, value
from rag_mcp.pure import exits
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.paths import printable
from rag_mcp.pure.profiles import DEFAULT
from rag_mcp.pure.registration import CLIENTS, Action, Client, Registration, flaw
from rag_mcp.pure.services import SECRETS, is_service, service


def run(options: Mapping[str, Any]) -> int:
    """Register, or show what would be written; 0. Raises Refused(ConfigError)."""
    client = CLIENTS[options["client"]]
    settings, corpus = _settings(options)
    entry = _registration(options["name"], settings, corpus, value(profiles(os.environ, options)))
    if why := flaw(entry):
        raise Refused(ConfigError(why))
    draft = clients.draft(_file(client, options), client, entry)
    backup = None if options["print_only"] else clients.write(draft)
    if options["as_json"]:
        shape = {
            "ok": True,
            "client": client.name,
            "file": str(draft.path),
            "action": draft.action.value,
            "backup": str(backup) if backup else None,
        }
        print_json({**shape, "content": draft.after.decode("utf-8")} if options["print_only"] else shape)
    elif options["print_only"]:
        _show(draft, client, entry)
    else:
        _tell(draft, backup, client, entry.name)
        if not options["quiet"]:
            _next(draft, client, settings, corpus)
    return exits.DONE


def _settings(options: Mapping[str, Any]) -> tuple[Settings, Path]:
    """The settings that the server is to run with, and its corpus, which must be there."""
    asked: dict[str, Any] = {name: options.get(name) for name in ("corpus", "collection", "embedder", "engine")}
    match resolve(os.environ, store=options.get("db"), **asked):
        case Success(settings):
            if settings.corpus is None:
                raise Refused(ConfigError("no folder was named: give --corpus ROOT, or set RAG_MCP_CORPUS_ROOT"))
            corpus = absolute(settings.corpus)
            if not is_folder(corpus):
                raise Refused(ConfigError(f"the corpus {corpus} is not a folder; nothing was registered"))
            return settings, corpus
        case Failure(wrong):
            raise Refused(wrong)
        case _ as never:
            raise AssertionError(never)


def _registration(name: str, settings: Settings, corpus: Path, shown: Sequence[str]) -> Registration:
    """What the client is told. The store is always named: a client may not see the user's data directory."""
    env = {"RAG_MCP_CORPUS_ROOT": str(corpus), "RAG_MCP_DB_PATH": str(absolute(settings.store))}
    if settings.collection != DEFAULT_COLLECTION:
        env["RAG_MCP_COLLECTION"] = settings.collection
    if settings.embedder is not None:
        env["RAG_MCP_EMBEDDER"] = settings.embedder
    if shown != DEFAULT:
        env["RAG_MCP_TOOLS"] = ",".join(shown)
    if settings.engine is not None:
        env["RAG_MCP_ENGINE"] = settings.engine
    if settings.model_dir is not None:
        env["RAG_MCP_MODEL_DIR"] = str(absolute(settings.model_dir))
    if is_service(settings.embedder or ""):  # keys stay where they are: a client's file is no place for them
        env |= {name: value for name, value in settings.services.items() if name not in SECRETS}
    command, *arguments = this_command()
    return Registration(name, command, tuple(arguments), tuple(env.items()))


def this_command() -> list[str]:
    """How this very installation is started; a virtual environment's links must stay, they are what makes it one."""
    python = Path(sys.executable).absolute()
    script = python.with_name("rag-mcp.exe" if sys.platform == "win32" else "rag-mcp")
    return [str(script)] if script.is_file() else [str(python), "-m", "rag_mcp"]


def _file(client: Client, options: Mapping[str, Any]) -> Path:
    """The client's file, or the one that was named."""
    try:
        if options["file"]:
            return absolute(Path(options["file"]).expanduser())
        home = Path.home()
    except RuntimeError as error:
        raise Refused(ConfigError("there is no home directory; name the client's file with --file PATH")) from error
    return clients.place(client, environ=os.environ, home=home, folder=Path.cwd(), platform=sys.platform)


def absolute(path: Path) -> Path:
    """The path from the root; links in it stay, except where '..' would otherwise mean something else."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _show(draft: clients.Draft, client: Client, entry: Registration) -> None:
    """The file as it would be, and for Claude Code the command that does the same for every folder."""
    click.echo(f"{printable(str(draft.path))} would be:\n")
    click.echo(draft.after.decode("utf-8").removeprefix("\ufeff"), nl=not draft.after.endswith(b"\n"))
    if client.name == "claude-code":
        given = [word for name, value in entry.env for word in ("--env", f"{name}={value}")]
        words = ["claude", "mcp", "add", *given, "--transport", "stdio", "--scope", "user", entry.name]
        click.echo(f"\nor, for every folder:\n\n{shlex.join([*words, '--', entry.command, *entry.args])}")
    click.echo("\nnothing has been written; run without --print to write it")


def _tell(draft: clients.Draft, backup: Path | None, client: Client, name: str) -> None:
    """What was done, in a line."""
    path = printable(str(draft.path))
    if draft.action is Action.UNCHANGED:
        click.echo(f"{client.title}: {name!r} stands in {path} already; nothing was written")
        return
    kept = f"; what it said before is in {printable(str(backup))}" if backup else ""
    verb = "added to" if draft.action is Action.ADDED else "replaced in"
    click.echo(f"{client.title}: {name!r} was {verb} {path}{kept}")


def _next(draft: clients.Draft, client: Client, settings: Settings, corpus: Path) -> None:
    """What is left to do."""
    if not is_folder(settings.folder):
        words = ["rag-mcp", "ingest", str(corpus), "--db", str(absolute(settings.store))]
        if settings.collection != DEFAULT_COLLECTION:
            words += ["--collection", settings.collection]
        if settings.embedder is not None:
            words += ["--embedder", settings.embedder]
        click.echo(f"there is no store yet; make it with:\n  {printable(shlex.join(words))}")
    if is_service(settings.embedder or "") and service(settings.embedder or "", settings.services).unwrap().key:
        click.echo(
            "the embedder's key was not written there: set its variable where the client takes its environment from"
        )
    if draft.action is not Action.UNCHANGED:
        click.echo(f"next: {client.restart}")
