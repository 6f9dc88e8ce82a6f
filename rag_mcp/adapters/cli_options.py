"""What the verbs share: options accepted before and after them, options of every verb that ingests, and their ends."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import click

Options = Mapping[str, Any]


def corpus_of(options: Options, verb: str) -> str:
    """The corpus that was named."""
    from rag_mcp.adapters.settings import named

    corpus = options["corpus"] or named(os.environ, "RAG_MCP_CORPUS_ROOT")
    if not corpus:
        raise click.UsageError(f"name the corpus: rag-mcp {verb} CORPUS, or set RAG_MCP_CORPUS_ROOT")
    return str(corpus)


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that are accepted before and after a verb."""
    options = (
        click.option(
            "--db", metavar="STORE", help="The store folder. [default: one for each corpus; env RAG_MCP_DB_PATH]"
        ),
        click.option("--collection", metavar="NAME", help="A store within the store. [env RAG_MCP_COLLECTION]"),
        click.option(
            "--embedder",
            metavar="NAME",
            help="default, bge, hash, or SERVICE:MODEL. [default: the store's own, else default; env RAG_MCP_EMBEDDER]",
        ),
        click.option(
            "--engine",
            metavar="NAME",
            help="What runs the model: onnxruntime or openvino. [default: the quicker one that is installed, for"
            " questions onnxruntime; env RAG_MCP_ENGINE]",
        ),
        click.option("--json", "as_json", is_flag=True, default=None, help="Print JSON on standard output."),
        click.option("--quiet", is_flag=True, default=None, help="No progress; a summary on one line."),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), function)


def verb(function: Callable[..., Any]) -> Callable[..., Any]:
    """A verb: shared options merged with those given before it; expected failures become a sentence and a code."""

    @shared_options
    @click.pass_context
    @functools.wraps(function)
    def run(context: click.Context, /, **given: Any) -> None:
        options = merged(context, given)
        from rag_mcp.adapters import commands

        context.exit(commands.guarded(function.__name__, options))

    return run


def merged(context: click.Context, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a verb, with those given before it where it was given none."""
    before: dict[str, Any] = context.obj or {}
    return {name: value if value is not None else before.get(name) for name, value in given.items()}


excluding = click.option(
    "--exclude", "exclude", multiple=True, metavar="GLOB", help="Leave out paths (gitignore syntax). Repeatable."
)
pruning = click.option("--allow-prune", metavar="N|all", help="Let so many files vanish from the store in one run.")

series = click.option(
    "--no-snapshot-dedupe", is_flag=True, help="Show what repeats the day before in a dated series, too."
)


def hand_over_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where hand-over notes are, and their names; kept in the store."""
    options = (
        click.option(
            "--handoff-mirror-dir",
            metavar="DIR",
            help="Folder of the corpus with hand-over notes. [default: the store's own, else context/]",
        ),
        click.option(
            "--handoff-mirror-basename",
            multiple=True,
            metavar="NAME",
            help="A hand-over note's name there; repeatable. [default: the store's own, else handoff.md, active.md,"
            " resume.md]",
        ),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), function)


MODES = click.Choice(["hybrid", "semantic", "keyword"])


def searched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option --mode of a verb that searches."""
    text = "By meaning and words, by meaning, or by words (which needs no model)."
    return click.option("--mode", type=MODES, default="hybrid", help=text, show_default=True)(function)
