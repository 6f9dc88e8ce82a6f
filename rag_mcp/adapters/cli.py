"""The command line: options, verbs, exit codes. What a verb does stands in `commands`, loaded when it runs.

0 done   1 findings or refusal   2 usage   3 another writer   4 done, and some files were held
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

import rag_mcp
from rag_mcp.adapters import cli_checks, cli_upkeep
from rag_mcp.adapters.cli_options import excluding, hand_over_options, merged, pruning, series, shared_options, verb

MODES = click.Choice(["hybrid", "semantic", "keyword"])


@click.group(
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


def searched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option --mode of a verb that searches."""
    text = "By meaning and words, by meaning, or by words (which needs no model)."
    return click.option("--mode", type=MODES, default="hybrid", help=text, show_default=True)(function)


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


@cli.group(short_help="Questions with known answers: has an answer got worse?")
def golden() -> None:
    """Measure the answers to questions of your own, and see what a change does to them.

    \b
    rag-mcp golden init --corpus notes    write golden.toml, to be filled in
    rag-mcp golden run --corpus notes     a table: at which rank each answer came
    rag-mcp golden record --corpus notes  keep that as the baseline, golden.baseline.json
    rag-mcp golden compare --corpus notes what moved since; exit code 1 when something got worse
    """


def golden_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the verbs of `golden` share: the file of cases, and whose answers are meant."""
    corpus = click.option("--corpus", metavar="ROOT", help="The corpus whose store is asked. [env RAG_MCP_CORPUS_ROOT]")
    return click.argument("file", type=click.Path(dir_okay=False), default="golden.toml")(corpus(function))


def passages_looked_at(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option -k of a verb of `golden`."""
    text = "Passages looked at for each question. [default: 10; compare: as many as the baseline]"
    return click.option("-k", "k", type=click.IntRange(1, 20), metavar="N", help=text)(function)


@golden.command("init", short_help="Write a file of cases to fill in.")
@golden_options
@click.option("--propose", default=20, type=click.IntRange(0), help="With --corpus or --db: cases.", show_default=True)
@verb
def golden_init() -> None:
    """Write FILE, a template with its own explanation; one that is there is left alone.

    Where a store is named it proposes cases, each from a heading of another document, marked as to be worded anew.
    """


@golden.command("run", short_help="Ask every question; show at which rank its answer came.")
@golden_options
@passages_looked_at
@searched
@verb
def golden_run() -> None:
    """Ask the questions of FILE (TOML, or JSONL with one case a line) and measure the answers. Keeps nothing.

    hit@k, MRR and nDCG count the rank at which what is expected first came; recall, precision and IoU the expected
    characters that the passages hold.
    """


@golden.command("record", short_help="Run, and keep the result as the baseline.")
@golden_options
@passages_looked_at
@searched
@verb
def golden_record() -> None:
    """Run FILE and put the result in place of its baseline, a JSON file beside it, fit for version control."""


@golden.command("compare", short_help="Run, and show what moved; exit code 1 when worse.")
@golden_options
@passages_looked_at
@searched
@click.option("--tolerance", multiple=True, metavar="[MEASURE=]T", help="How far a mean may fall. Repeatable. [0]")
@click.option("--against", metavar="STORE", help="Compare with the answers of another store, not with the baseline.")
@click.option("--against-mode", type=MODES, help="Compare with the answers of another mode of searching.")
@click.option("--against-collection", metavar="NAME", help="Compare with those of another store within the store.")
@verb
def golden_compare() -> None:
    """Run FILE and compare with its baseline, or with the answers of another store.

    \b
    As before a cutover:
    rag-mcp ingest notes --db new --embedder bge
    rag-mcp golden compare --db new --against old

    Exit code 1: the mean of a measure fell by more than the tolerance or, where no general tolerance is given, a
    single case got worse. Exit code 2: there is no baseline, or no case that it knows.
    """


@cli.command(short_help="Show it all on a bundled corpus.")
@verb
def demo() -> None:
    """Ingest a small bundled corpus in a temporary folder: a plan, an edit, a second plan, three cited answers."""


for upkeep_verb in cli_upkeep.VERBS:
    cli.add_command(upkeep_verb)
cli_checks.add_to(cli, verb)


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
