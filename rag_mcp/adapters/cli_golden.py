"""The options of the group `golden`: questions with known answers."""

from collections.abc import Callable
from typing import Any

import click

from rag_mcp.adapters.cli_options import MODES, searched, verb


@click.group(short_help="Questions with known answers: has an answer got worse?")
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
