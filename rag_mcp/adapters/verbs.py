"""What verbs of the command line have in common: options in, an open index, lines or JSON out, an exit code."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_mcp.adapters.cli_options import Options
from rag_mcp.adapters.terminal import progress_for
from rag_mcp.effects.boundary import Refused
from rag_mcp.index import ALL, Index
from rag_mcp.pure import exits
from rag_mcp.pure.config_error import ConfigError

if TYPE_CHECKING:  # a question is answered without what an ingest is made of
    from rag_mcp.pure.errors import Failure
    from rag_mcp.pure.plans import Plan
    from rag_mcp.pure.stages import SearchPolicy
    from rag_mcp.pure.summary import Report


def opened(
    options: Options,
    *,
    corpus: str | None,
    patience: float = 0.0,
    policy: "SearchPolicy | None" = None,
    ahead: str | None = None,
) -> Index:
    """The index that the options name; of what takes less than `patience` seconds no progress is shown."""
    return Index.open(
        corpus,
        store=options.get("db"),
        collection=options.get("collection"),
        embedder=options.get("embedder"),
        engine=options.get("engine"),
        exclude=tuple(options.get("exclude") or ()),
        dedupe_snapshots=not options.get("no_snapshot_dedupe"),
        policy=policy,
        ahead=ahead,
        progress=progress_for(hidden=bool(options.get("quiet") or options.get("as_json")), after=patience),
        handoff_mirror_dir=options.get("handoff_mirror_dir"),
        handoff_mirror_basenames=options.get("handoff_mirror_basename") or None,
        chunking=options.get("chunking"),
    )


def opened_to_write(options: Options, *, corpus: str | None) -> Index:
    """The same, for what may write a store of any size."""
    from rag_mcp.adapters import heap

    heap.give_back()
    return opened(options, corpus=corpus)


def warn(index: Index) -> None:
    """Say it when texts are about to leave this machine."""
    if index.warning:
        click.echo(f"rag-mcp: warning: {index.warning}", err=True)


def show_plan(index: Index, plan: "Plan", options: Options, allow: int | None, corpus: str) -> int:
    """Print, and save where asked; 1 when applying it would be refused."""
    from rag_mcp.pure import render
    from rag_mcp.pure.codec import plan_to_json

    if options["out"]:
        _save(Path(options["out"]), plan_to_json(index.save(plan, allow_prune=allow)) + "\n")
    if options["as_json"]:
        print_json(index.save(plan, allow_prune=allow))
    else:
        echo(render.plan_lines(plan, name=corpus))
        if options["out"]:
            click.echo(f"saved; carry it out with: rag-mcp apply {options['out']}")
    return exits.REFUSED if plan.refusal else exits.DONE


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="ascii")
    except OSError as error:
        raise Refused(ConfigError(f"the plan could not be saved as {path}: {error.strerror}")) from error


def report_text(report: "Report", options: Options) -> str:
    """What was done."""
    from rag_mcp.pure import render

    if options["as_json"]:
        return json_text(report)
    return render.report_line(report) if options["quiet"] else "\n".join(render.report_lines(report))


def allowance(given: str | None) -> int | None:
    """What --allow-prune says."""
    if given is None or given == "all":
        return ALL if given else None
    if given.isdecimal():
        return int(given)
    raise click.UsageError("--allow-prune takes a number of files, or all")


def code_of(failure: "Failure") -> int:
    """The exit code of a refusal: 3 for a busy store, 2 for a setting, else 1."""
    from rag_mcp.pure import errors

    match failure:
        case errors.WriterBusy():
            return exits.BUSY
        case errors.ConfigError() | errors.BadGolden() | errors.InvalidCitation():
            return exits.USAGE
        case _:
            return exits.REFUSED


def echoed_k(failure: "Failure", options: Options) -> int | None:
    """The k that a refused question would have had; None where nothing was asked, or where the question is at fault."""
    from rag_mcp.pure.errors import InvalidDocClass, InvalidQuery

    if "doc_class" not in options or isinstance(failure, InvalidQuery | InvalidDocClass):
        return None
    from rag_mcp.pure.query import clamp_k

    return clamp_k(options["k"])


def print_json(value: Any) -> None:
    """A value on standard output, as indented ASCII JSON."""
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    """A value as indented ASCII JSON."""
    return json.dumps(value, indent=2, default=_plain)


def _plain(value: Any) -> Any:
    """What is no plain data yet, made so by a library that is loaded for that alone."""
    from rag_mcp.pure.codec import converter

    return converter().unstructure(value)


def echo(lines: Iterable[str]) -> None:
    """Lines on standard output."""
    for line in lines:
        click.echo(line)
