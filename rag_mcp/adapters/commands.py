"""What each verb does: settings, one call of the library, and what the user sees of it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from rag_mcp.adapters.settings import for_asking
from rag_mcp.adapters.verbs import (
    Options,
    allowance,
    code_of,
    corpus_of,
    echo,
    echoed_k,
    opened,
    print_json,
    show_plan,
    show_report,
    warn,
)
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import errors, exits
from rag_mcp.pure.paths import printable

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
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"rag-mcp: {printable(place)}the system said: {error.strerror or error}", err=True)
        return exits.REFUSED
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


def ingest(options: Options) -> int:
    """Plan, and apply unless only the plan was asked for."""
    corpus = corpus_of(options, "ingest")
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
    from rag_mcp.pure.stages import ONE_QUESTION

    engine = for_asking(options.get("engine"), os.environ, once=True)
    with opened({**options, "engine": engine}, corpus=options["corpus"], policy=ONE_QUESTION) as index:
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
