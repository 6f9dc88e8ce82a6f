"""The verbs `golden init`, `run`, `record` and `compare`."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import asdict
from returns.result import Failure

from rag_mcp import golden
from rag_mcp.adapters import golden_files
from rag_mcp.adapters.cli_options import Options
from rag_mcp.adapters.settings import ALIASES, named
from rag_mcp.adapters.terminal import progress_for
from rag_mcp.adapters.verbs import echo, opened, print_json
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import exits
from rag_mcp.pure import golden_render as render
from rag_mcp.pure.comparing import Tolerance, tolerance
from rag_mcp.pure.errors import BadGolden
from rag_mcp.pure.golden import Case
from rag_mcp.pure.judging import Run


def init(options: Options) -> int:
    """Write a file of cases to begin with."""
    path = Path(options["file"])
    cases: tuple[Case, ...] = ()
    if path.suffix.lower() == ".jsonl":
        raise click.UsageError("the template has comments, so it is TOML; name a file that ends in .toml")
    if options["corpus"] or options.get("db") or any(named(os.environ, each) for each in ALIASES):
        with opened(options, corpus=options["corpus"]) as index:
            cases = golden.propose(index, options["propose"])
    golden_files.create(path, "\n".join(render.template_lines(path.name, cases)) + "\n")
    if options["as_json"]:
        print_json({"ok": True, "file": str(path), "proposed": len(cases)})
    else:
        click.echo(f"{path} was written" + (f", with {len(cases)} proposed cases; word them anew" if cases else ""))
    return exits.DONE


def run(options: Options) -> int:
    """Run and show."""
    cases = golden.load(options["file"])
    result = answered(options, cases, options["k"] or golden.DEFAULT_DEPTH)
    show(options, result)
    return exits.DONE


def record(options: Options) -> int:
    """Run, show, and keep as the baseline."""
    cases = golden.load(options["file"])
    result = answered(options, cases, options["k"] or golden.DEFAULT_DEPTH)
    place = golden.record(options["file"], result)
    show(options, result, baseline=place)
    return exits.DONE


def compare(options: Options) -> int:
    """Run, compare, show; 1 when it is worse."""
    allowed = _tolerance(options["tolerance"])
    path = Path(options["file"])
    cases = golden.load(path)
    before, against = reference(options, path, cases)
    after = answered(options, cases, before.k)
    comparison = golden.compare(before, after, allowed)
    if not comparison.common:
        raise Refused(BadGolden(str(path), f"it has no case in common with {against}, so nothing can be compared"))
    if options["as_json"]:
        shape = {name: getattr(comparison, name) for name in ("worse", "common", "changes", "deltas", "moves")}
        print_json({"ok": True, "against": against, **shape})
    elif options["quiet"]:
        click.echo(render.verdict_line(comparison))
    else:
        echo(render.comparison_lines(path.name, against, comparison))
    return exits.REFUSED if comparison.worse else exits.DONE


def reference(options: Options, path: Path, cases: tuple[Case, ...]) -> tuple[Run, str]:
    """What the answers are compared with, and its name: the baseline, or the answers of another store."""
    store, collection = options["against"], options["against_collection"]
    mode = options["against_mode"]
    if store or collection or mode:
        other = {
            **options,
            "db": store or options.get("db"),
            "collection": collection or options.get("collection"),
            "embedder": None if store or collection else options.get("embedder"),
            "mode": mode or options["mode"],
        }
        named = " ".join(filter(None, (store, collection, mode and f"mode {mode}")))
        return answered(other, cases, options["k"] or golden.DEFAULT_DEPTH), named
    before = golden.baseline(path)
    if options["k"] not in (None, before.k):
        raise click.UsageError(f"the baseline was recorded with -k {before.k}; record it anew to compare with another")
    return before, golden_files.baseline_path(path).name


def answered(options: Options, cases: tuple[Case, ...], k: int) -> Run:
    """The cases, asked of the store that the options name."""
    progress = progress_for(hidden=bool(options.get("quiet") or options.get("as_json")))
    with opened(options, corpus=options["corpus"]) as index:
        return golden.run(index, cases, k, mode=options["mode"], progress=progress)


def show(options: Options, result: Run, baseline: Path | None = None) -> None:
    """Print a run, and where it was kept."""
    if options["as_json"]:
        shape: dict[str, Any] = {"ok": True, "k": result.k, "setup": result.setup, "means": result.means}
        cases = [{**asdict(case), "rank": case.rank} for case in result.cases]
        print_json({**shape, "cases": cases} | ({"baseline": str(baseline)} if baseline else {}))
        return
    if options["quiet"]:
        click.echo(render.means_line(result.means))
    else:
        echo(render.run_lines(Path(options["file"]).name, result))
    if baseline and not options["quiet"]:
        click.echo(f"kept as the baseline, {baseline}")


def _tolerance(given: tuple[str, ...]) -> Tolerance:
    made = tolerance(given)
    if isinstance(made, Failure):
        raise click.UsageError(f"--tolerance: {made.failure()}")
    return made.unwrap()


ACTS: Mapping[str, Callable[[Options], int]] = {"init": init, "run": run, "record": record, "compare": compare}
