"""What each verb does: settings, one call of the library, and what the user sees of it."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_mcp.adapters.settings import for_asking, named
from rag_mcp.adapters.terminal import progress_for
from rag_mcp.effects.boundary import Refused
from rag_mcp.index import ALL, Index
from rag_mcp.pure import errors, exits

if TYPE_CHECKING:  # a question is answered without what an ingest is made of
    from rag_mcp.pure.plans import Plan
    from rag_mcp.pure.summary import Report

Options = Mapping[str, Any]
PATIENCE = 1.0
"""Seconds. What is mostly done by then shows no progress."""


def guarded(name: str, options: Options) -> int:
    """Run a verb; its exit code. Failures become one sentence; expected ones the JSON of R13, where asked."""
    try:
        return VERBS[name](options)
    except Refused as refused:
        return refuse(refused.failure, options)
    except KeyboardInterrupt:
        click.echo("interrupted; what was finished stands, run again to go on", err=True)
        return 130
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except Exception as error:
        from rag_mcp.adapters.unforeseen import sentence

        click.echo(f"rag-mcp: {sentence(error)}", err=True)
        return exits.REFUSED


def refuse(failure: errors.Failure, options: Options) -> int:
    """Say why not; 3 for a busy store, 2 for a setting, else 1."""
    if options.get("as_json"):
        from rag_mcp.pure.wire import refusal_shape

        print_json(refusal_shape(failure, echoed_k(failure, options)))
    else:
        click.echo(f"rag-mcp: {failure.message}", err=True)
    return code_of(failure)


def code_of(failure: errors.Failure) -> int:
    """The exit code of a refusal: 3 for a busy store, 2 for a setting, else 1."""
    match failure:
        case errors.WriterBusy():
            return exits.BUSY
        case errors.ConfigError() | errors.BadGolden() | errors.InvalidCitation():
            return exits.USAGE
        case _:
            return exits.REFUSED


def echoed_k(failure: errors.Failure, options: Options) -> int | None:
    """The k that a refused question would have had; None where nothing was asked, or where the question is at fault."""
    if "doc_class" not in options or isinstance(failure, errors.InvalidQuery | errors.InvalidDocClass):
        return None
    from rag_mcp.pure.query import clamp_k

    return clamp_k(options["k"])


def print_json(value: Any) -> None:
    """A value on standard output, as indented ASCII JSON."""
    click.echo(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    """What is no plain data yet, made so by a library that is loaded for that alone."""
    from rag_mcp.pure.codec import converter

    return converter().unstructure(value)


def echo(lines: Iterable[str]) -> None:
    """Lines on standard output."""
    for line in lines:
        click.echo(line)


def opened(options: Options, *, corpus: str | None, patience: float = 0.0) -> Index:
    """The index that the options name; of what takes less than `patience` seconds no progress is shown."""
    return Index.open(
        corpus,
        store=options.get("db"),
        collection=options.get("collection"),
        embedder=options.get("embedder"),
        engine=options.get("engine"),
        exclude=tuple(options.get("exclude") or ()),
        dedupe_snapshots=not options.get("no_snapshot_dedupe"),
        progress=progress_for(hidden=bool(options.get("quiet") or options.get("as_json")), after=patience),
        handoff_mirror_dir=options.get("handoff_mirror_dir"),
        handoff_mirror_basenames=options.get("handoff_mirror_basename") or None,
        chunking=options.get("chunking"),
    )


def warn(index: Index) -> None:
    """Say it when texts are about to leave this machine."""
    if index.warning:
        click.echo(f"rag-mcp: warning: {index.warning}", err=True)


def ingest(options: Options) -> int:
    """Plan, and apply unless only the plan was asked for."""
    corpus = options["corpus"] or named(os.environ, "RAG_MCP_CORPUS_ROOT")
    if not corpus:
        raise click.UsageError("name the corpus: rag-mcp ingest CORPUS, or set RAG_MCP_CORPUS_ROOT")
    allow = allowance(options["allow_prune"])
    if options["out"] and not options["plan_only"]:
        raise click.UsageError("--out goes with --plan")
    if options["full"] and options["clean"]:
        raise click.UsageError("give --full or --clean, not both")
    with opened(options, corpus=corpus) as index:
        if options["plan_only"]:
            if options["clean"]:
                raise click.UsageError("--plan shows an ingest into the store as it is; --clean would remove it first")
            return show_plan(index, index.plan(full=options["full"], allow_prune=allow), options, allow, corpus)
        warn(index)
        return show_report(index.ingest(full=options["full"], clean=options["clean"], allow_prune=allow), options)


def show_plan(index: Index, plan: "Plan", options: Options, allow: int | None, corpus: str) -> int:
    """Print, and save where asked; 1 when applying it would be refused."""
    from rag_mcp.pure import render
    from rag_mcp.pure.codec import plan_to_json

    if options["out"]:
        Path(options["out"]).write_text(plan_to_json(index.save(plan, allow_prune=allow)) + "\n", encoding="ascii")
    if options["as_json"]:
        print_json(index.save(plan, allow_prune=allow))
    else:
        echo(render.plan_lines(plan, name=corpus))
        if options["out"]:
            click.echo(f"saved; carry it out with: rag-mcp apply {options['out']}")
    return exits.REFUSED if plan.refusal else exits.DONE


def show_report(report: "Report", options: Options) -> int:
    """Print what was done."""
    from rag_mcp.pure import render

    if options["as_json"]:
        print_json(report)
    elif options["quiet"]:
        click.echo(render.report_line(report))
    else:
        echo(render.report_lines(report))
    return report.exit_code


def apply(options: Options) -> int:
    """Carry out a saved plan with the settings it was made with."""
    from returns.result import Failure, Success

    from rag_mcp.pure.codec import plan_from_json

    try:
        text = Path(options["plan"]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(errors.BadPlan(str(error))) from error
    match plan_from_json(text):
        case Success(saved):
            named = {
                "db": saved.store,
                "collection": saved.collection,
                "embedder": saved.plan.embedder,
                "exclude": saved.excludes,
                "no_snapshot_dedupe": not saved.dedupe_snapshots,
                "handoff_mirror_dir": saved.choices.labelling.mirror_dir,
                "handoff_mirror_basename": saved.choices.labelling.mirror_basenames,
                "chunking": saved.choices.chunking,
            }
            with opened({**options, **named}, corpus=saved.plan.root) as index:
                warn(index)
                return show_report(index.apply(saved.plan, allow_prune=saved.allow_prune), options)
        case Failure(bad):
            raise Refused(bad)
        case _ as never:
            raise AssertionError(never)


def query(options: Options) -> int:
    """Ask."""
    engine = for_asking(options.get("engine"), os.environ, once=True)
    with opened({**options, "engine": engine}, corpus=options["corpus"]) as index:
        as_of = options["as_of"]
        asked = {name: options[name] for name in ("k", "doc_class", "mode", "as_of", "retired")}
        answer = index.search(options["text"], **asked)
        cited = [hit.citation for hit in answer.results if options["changes"]]
        changes = [index.changes(each.source, each.chunk_index, as_of=as_of) for each in cited]
    if options["as_json"]:
        from rag_mcp.pure.wire import answer_shape

        print_json(answer_shape(answer, explain=options["explain"], timing=options["timing"], changes=changes))
    else:
        from rag_mcp.pure.answer_render import answer_lines

        echo(answer_lines(answer, explain=options["explain"], timing=options["timing"], changes=changes))
    return exits.DONE


def verify(options: Options) -> int:
    """Check, and repair where asked; 1 when something was found."""
    from rag_mcp.pure.check_render import finding_lines

    with opened(options, corpus=options["corpus"], patience=PATIENCE) as index:
        repaired = index.repair() if options["repair"] else None
        verdict = index.verify()
    if options["as_json"]:
        from rag_mcp.pure.wire import verdict_shape

        print_json(verdict_shape(verdict.findings, verdict.files, verdict.passages, verdict.vectors, repaired))
    else:
        if repaired is not None:
            click.echo(
                "index and keywords were rebuilt" if repaired else "vectors are missing: an ingest must make them"
            )
        echo(finding_lines(verdict.findings))
        click.echo(
            f"{verdict.files} files, {verdict.passages} passages, {verdict.vectors} vectors:"
            f" {len(verdict.findings) or 'no'} findings"
        )
    return exits.DONE if verdict.ok else exits.REFUSED


def stats(options: Options) -> int:
    """Count, and list what is not wholly searchable where asked."""
    from rag_mcp.pure.check_render import coverage_lines, stats_lines
    from rag_mcp.pure.wire import stats_shape

    with opened(options, corpus=options["corpus"], patience=PATIENCE) as index:
        counted = index.stats()
        uncovered = index.coverage() if options["coverage"] else None
    if options["as_json"]:
        print_json(stats_shape(counted, uncovered))
    else:
        echo(stats_lines(counted))
        if uncovered is not None:
            echo(coverage_lines(uncovered))
    return exits.DONE


def install(options: Options) -> int:
    """Register with a client."""
    from rag_mcp.adapters.registering import run

    return run(options)


def demo(options: Options) -> int:
    """Show it all."""
    from rag_mcp.adapters.demo import run

    return run(options)


def allowance(given: str | None) -> int | None:
    """What --allow-prune says."""
    if given is None or given == "all":
        return ALL if given else None
    if given.isdecimal():
        return int(given)
    raise click.UsageError("--allow-prune takes a number of files, or all")


def golden(act: str) -> Callable[[Options], int]:
    """A verb of the group `golden`."""

    def run(options: Options) -> int:
        from rag_mcp.adapters import golden_commands

        return golden_commands.ACTS[act](options)

    return run


def upkeep(act: str) -> Callable[[Options], int]:
    """A verb that keeps a store fresh."""

    def run(options: Options) -> int:
        from rag_mcp.adapters import upkeep

        return upkeep.ACTS[act](options)

    return run


def check(act: str) -> Callable[[Options], int]:
    """A verb that looks and changes nothing."""

    def run(options: Options) -> int:
        from rag_mcp.adapters import checks

        return checks.ACTS[act](options)

    return run


VERBS: Mapping[str, Callable[[Options], int]] = {
    "ingest": ingest,
    "apply": apply,
    "query": query,
    "verify": verify,
    "stats": stats,
    "install": install,
    "demo": demo,
    **{act: check(act) for act in ("doctor", "cite", "manifest")},
    **{f"golden_{act}": golden(act) for act in ("init", "run", "record", "compare")},
    **{act: upkeep(act) for act in ("watch", "tick", "schedule", "cutover", "model_fetch")},
}
