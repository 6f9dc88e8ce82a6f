"""The verbs over an index: settings, one call of the library, and what the user sees of it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_mcp.adapters.cli_options import Options, corpus_of
from rag_mcp.adapters.verbs import (
    allowance,
    echo,
    opened,
    opened_to_write,
    print_json,
    report_text,
    show_plan,
    warn,
)
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import exits

if TYPE_CHECKING:  # a question is answered without what an ingest is made of
    from rag_mcp.adapters.unchanged import Note

PATIENCE = 1.0
"""Seconds. What is mostly done by then shows no progress."""


def ingest(options: Options, note: "Note | None") -> int:
    """Plan, and apply unless only the plan was asked for. `note` keeps what is said where there was no work."""
    from rag_mcp.adapters.beginning import AFRESH
    from rag_mcp.adapters.ingesting import ingested, ordered

    corpus = corpus_of(options, "ingest")
    allow = allowance(options["allow_prune"])
    if options["out"] and not options["plan_only"]:
        raise click.UsageError("--out goes with --plan")
    if options["full"] and options["clean"]:
        raise click.UsageError("give --full or --clean, not both")
    with opened_to_write(options, corpus=corpus) as index:
        if options["plan_only"]:
            if options["clean"]:
                raise click.UsageError("--plan shows an ingest into the store as it is; --clean would remove it first")
            return show_plan(index, index.plan(full=options["full"], allow_prune=allow), options, allow, corpus)
        warn(index)
        order = ordered(full=options["full"], allow_prune=allow)
        report = ingested(index, order, clean=options["clean"], start=note.start if note else AFRESH)
    if note:
        note.keep(lambda rest: report_text(rest, options))
    click.echo(report_text(report, options))
    return report.exit_code


def apply(options: Options) -> int:
    """Carry out a saved plan with the settings it was made with."""
    from returns.result import Failure, Success

    from rag_mcp.pure.codec import plan_from_json
    from rag_mcp.pure.errors import BadPlan

    try:
        text = Path(options["plan"]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(BadPlan(str(error))) from error
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
            with opened_to_write({**options, **named}, corpus=saved.plan.root) as index:
                warn(index)
                report = index.apply(saved.plan, allow_prune=saved.allow_prune)
                click.echo(report_text(report, options))
                return report.exit_code
        case Failure(bad):
            raise Refused(bad)
        case _ as never:
            raise AssertionError(never)


def query(options: Options) -> int:
    """Ask."""
    from rag_mcp.pure.stages import ONE_QUESTION

    ahead = None if options["mode"] == "keyword" else options["text"]
    with opened(options, corpus=options["corpus"], policy=ONE_QUESTION, ahead=ahead) as index:
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


ACTS: Mapping[str, Callable[[Options], int]] = {"apply": apply, "query": query, "verify": verify, "stats": stats}
