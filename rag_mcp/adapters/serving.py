"""`rag-mcp serve`, `rag-mcp`, `python -m rag_mcp`, `python run_server.py`: settings, then the server.

Whoever starts it by name is told at once what is missing; `run_server.py` starts all the same and tells each call.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click
from returns.result import Failure, Result

from rag_mcp.adapters.settings import SERVING, Settings, is_folder, named, resolve
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.profiles import DEFAULT, parse_profiles

HINT = (
    "rag-mcp: this is the server; it waits for an MCP client on standard input (Ctrl-C ends it)."
    " The commands: rag-mcp --help"
)


def server_settings(environ: Mapping[str, str], options: Mapping[str, Any]) -> Result[Settings, ConfigError]:
    """The settings of a server: the corpus, which bounds what may be shown, must be named."""
    corpus = options.get("corpus") or named(environ, "RAG_MCP_CORPUS_ROOT")
    if not corpus:
        return Failure(
            ConfigError(
                "RAG_MCP_CORPUS_ROOT is not set: it names the folder whose files may be served (or --corpus ROOT)"
            )
        )
    return resolve(
        environ,
        corpus=corpus,
        store=options.get("db"),
        collection=options.get("collection"),
        embedder=options.get("embedder"),
        engine=options.get("engine") or environ.get("RAG_MCP_ENGINE") or SERVING,
    )


def profiles(environ: Mapping[str, str], options: Mapping[str, Any]) -> Result[tuple[str, ...], ConfigError]:
    """Which tools the server shows."""
    return parse_profiles(options.get("tools") or environ.get("RAG_MCP_TOOLS"))


def run(options: Mapping[str, Any]) -> NoReturn:
    """Serve by name; exit code 1 where a setting is missing or means nothing."""
    settings = server_settings(os.environ, options)
    if isinstance(settings, Failure):
        _refuse(settings.failure())
    shown = profiles(os.environ, options)
    if isinstance(shown, Failure):
        _refuse(shown.failure())
    corpus = settings.unwrap().corpus
    if corpus is not None and not is_folder(corpus):
        click.echo(f"rag-mcp: the corpus {corpus} cannot be seen; every search will say so until it can", err=True)
    if options.get("transport") == "http":
        _http(settings, options, shown.unwrap())
    if sys.stdin.isatty():
        click.echo(HINT, err=True)
    stdio(settings, shown)


def stdio(settings: Result[Settings, ConfigError], shown: Result[tuple[str, ...], ConfigError]) -> NoReturn:
    """Serve standard input and output, whatever the settings are."""
    if isinstance(shown, Failure):
        settings = Failure(shown.failure())
    _prepare()
    from rag_mcp.adapters.server.engine import Engine
    from rag_mcp.adapters.server.stdio import serve

    serve(Engine(settings), shown.value_or(DEFAULT))


def _http(settings: Result[Settings, ConfigError], options: Mapping[str, Any], shown: Sequence[str]) -> NoReturn:
    _prepare()
    from rag_mcp.adapters.server import http
    from rag_mcp.adapters.server.engine import Engine

    where = http.place(options["host"], options["port"], options["allow_host"], os.environ)
    if isinstance(where, Failure):
        _refuse(where.failure())
    place = where.unwrap()
    told = f"rag-mcp: serving {place.url} (Ctrl-C ends it)"
    http.serve(Engine(settings), place, lambda: click.echo(told, err=True), shown)


def _prepare() -> None:
    """Before the SDK is imported: it looks for logging that is set up, and its messages must not carry links."""
    from rag_mcp.adapters.server import logs

    os.environ["PYDANTIC_ERRORS_INCLUDE_URL"] = "0"
    logs.begin()


def _refuse(failure: ConfigError) -> NoReturn:
    click.echo(f"rag-mcp: {failure.message}", err=True)
    if sys.stdin.isatty():
        click.echo("rag-mcp: without a command this is the MCP server; the commands: rag-mcp --help", err=True)
    raise SystemExit(1)
