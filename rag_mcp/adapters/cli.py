"""The command line: options, verbs, exit codes. What a verb does stands in `commands`, loaded when it runs.

0 done   1 findings or refusal   2 usage   3 another writer   4 done, and some files were held
"""

import gc
import os
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

import rag_mcp
from rag_mcp.adapters.cli_options import (
    excluding,
    hand_over_options,
    merged,
    pruning,
    searched,
    series,
    shared_options,
    verb,
)

LATER = {
    **dict.fromkeys(("golden",), "cli_golden"),
    **dict.fromkeys(("watch", "tick", "schedule", "cutover", "model"), "cli_upkeep"),
    **dict.fromkeys(("doctor", "cite", "manifest"), "cli_checks"),
}
"""Verbs, and the modules that they stand in: read when one of them is asked for, or all are listed."""


class Verbs(click.Group):
    """The verbs that stand here, and those of LATER."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All their names."""
        return sorted((*super().list_commands(ctx), *LATER))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name; None where there is none."""
        if cmd_name not in LATER:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(f"rag_mcp.adapters.{LATER[cmd_name]}"), cmd_name)
        return found


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(rag_mcp.__version__, prog_name="rag-mcp")
@shared_options
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """Turns a folder of Markdown into cited passages, wholly on this machine.

    \b
    rag-mcp demo                          see it work on a bundled corpus
    rag-mcp ingest notes --plan           what would be done, and why
    rag-mcp ingest notes
    rag-mcp query "how do I ...?" --corpus notes
    rag-mcp install claude-code --corpus notes    let an agent ask

    Without a command it is the MCP server, as with serve: RAG_MCP_CORPUS_ROOT names the corpus.
    """
    context.obj = options
    if context.invoked_subcommand is None:
        served(options)


def served(options: dict[str, Any]) -> NoReturn:
    """Become the server, without what only the commands need: a client is waiting for the handshake."""
    from rag_mcp.adapters import serving

    serving.run(options)


profiled = click.option(
    "--tools",
    metavar="PROFILES",
    help="knowledge, corpus, or both with a comma. [default: knowledge; env RAG_MCP_TOOLS]",
)


@cli.command(short_help="Bring the store up to date with a folder.")
@click.argument("corpus", required=False)
@click.option("--plan", "plan_only", is_flag=True, help="Show what would be done, and stop. Writes nothing.")
@click.option("--out", type=click.Path(dir_okay=False), help="With --plan: save the plan, for rag-mcp apply.")
@click.option("--full", is_flag=True, help="Ignore the manifest and embed everything again, in place.")
@click.option("--clean", is_flag=True, help="Remove the store first.")
@excluding
@pruning
@series
@hand_over_options
@verb
def ingest() -> None:
    """Bring the store up to date with the folder CORPUS: embed what is new, forget what is gone.

    Only texts that were never seen are embedded. Files that cannot be read keep what is stored of them. A run
    that would forget more than 50 files and a tenth of all stops and says so. Exit code 4: done, but some
    files could not be read.
    """


@cli.command(short_help="Carry out a saved plan.")
@click.argument("plan", type=click.Path(exists=True, dir_okay=False))
@verb
def apply() -> None:
    """Carry out PLAN, made with: rag-mcp ingest CORPUS --plan --out PLAN. Refused when the world has moved."""


@cli.command(short_help="Ask; passages with citations come back.")
@click.argument("text")
@click.option(
    "--corpus", metavar="ROOT", help="The corpus folder, which bounds what is shown. [env RAG_MCP_CORPUS_ROOT]"
)
@click.option("-k", "k", default="5", metavar="N", help="Number of passages, 1 to 20.", show_default=True)
@click.option("--doc-class", metavar="CLASS", help="Only note, or only handoff.")
@searched
@click.option("--explain", is_flag=True, help="Say why each passage ranks where it does.")
@click.option("--timing", is_flag=True, help="Say how long each part of the search took, and what it brought.")
@click.option("--as-of", metavar="DATE", help="Of each dated series, ask its newest snapshot of that day or before.")
@click.option("--retired", is_flag=True, help="Ask superseded documents, too; what stands in one says so.")
@click.option("--changes", is_flag=True, help="Show when what was found changed over its dated series, and how.")
@verb
def query() -> None:
    """Find the passages that answer TEXT. With --json: a stable shape for programs, also for refusals.

    A dated series is three or more files of one folder named alike up to their dates, as in report-2026-01-31.md. What
    repeats the snapshot before it is found once, with the dates on which it stood.
    """


@cli.command(short_help="Check record, index and corpus against each other.")
@click.option("--corpus", metavar="ROOT", help="The corpus folder. [default: the one the store was made from]")
@click.option("--repair", is_flag=True, help="Rebuild index and keywords from the record, without embedding.")
@verb
def verify() -> None:
    """Check that the store holds what it says, the index what the record names, the corpus what was ingested."""


@cli.command(short_help="What a store holds.")
@click.option("--corpus", metavar="ROOT", help="The corpus whose store is meant.")
@click.option("--coverage", is_flag=True, help="List every path that is not wholly searchable, and why.")
@verb
def stats() -> None:
    """Count files, passages, vectors and bytes, as the last ingest left them."""


@cli.command(short_help="Be the MCP server.")
@click.option("--corpus", metavar="ROOT", help="The folder whose files may be shown. [env RAG_MCP_CORPUS_ROOT]")
@profiled
@click.option("--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="With http: where to listen.", show_default=True)
@click.option("--port", default=8765, type=click.IntRange(1, 65535), help="With http.", show_default=True)
@click.option(
    "--allow-host", multiple=True, metavar="NAME", help="With http: a host name that clients use. Repeatable."
)
@shared_options
@click.pass_context
def serve(context: click.Context, /, **given: Any) -> None:
    """Serve search_knowledge to an MCP client: over standard input and output, or over HTTP on this machine.

    The profile corpus shows search_corpus and get_file, which reads a whole document.
    Reads only: neither corpus nor store is changed by a byte. Another address than this machine's own needs a
    token in RAG_MCP_HTTP_TOKEN (sent by clients as a bearer token) and --allow-host.
    """
    served(merged(context, given))


@cli.command(short_help="Register the server with a client.")
@click.argument(
    "client", metavar="CLIENT", type=click.Choice(["claude-code", "claude-desktop", "cursor", "vscode", "codex"])
)
@click.option("--corpus", metavar="ROOT", help="The folder to be served. [env RAG_MCP_CORPUS_ROOT]")
@profiled
@click.option("--name", default="rag", metavar="NAME", help="What the client calls it.", show_default=True)
@click.option("--file", type=click.Path(), help="The client's file, where it is not at its usual place.")
@click.option("--print", "print_only", is_flag=True, help="Show what would be written, and stop.")
@verb
def install() -> None:
    """Put this server into the file in which CLIENT lists its servers.

    claude-code and vscode: of the current folder; claude-desktop, cursor and codex: of the user. Whatever else
    the file holds stays as it is, and a copy of it is kept beside it. A file that is not plain JSON, or TOML for
    codex, is left alone, and the entry is shown.
    """


@cli.command(short_help="Show it all on a bundled corpus.")
@verb
def demo() -> None:
    """Ingest a small bundled corpus in a temporary folder: a plan, an edit, a second plan, three cited answers."""


def main() -> NoReturn:
    """Run the command line. SIGTERM ends it as an exception does, so that locks and transactions are let go."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its idle threads spin, and the model is loaded beside
    gc.set_threshold(50_000, 20, 100)  # nearly all that a command makes it keeps; looking for garbage often is waste
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code: int | str | None = 0
    try:
        cli.main(prog_name="rag-mcp", standalone_mode=True)
    except SystemExit as leave:
        code = leave.code
    _leave(code)


def _leave(code: int | str | None) -> NoReturn:
    """End at once: threads that a library left running must not keep a finished command alive."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
