"""The verb `cutover`: a new store beside the old one, compared, exchanged, exchanged back, discarded."""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import asdict
from returns.result import Failure, Result

from rag_mcp import golden
from rag_mcp.adapters import exchange
from rag_mcp.adapters.cli_options import Options
from rag_mcp.adapters.settings import Settings, resolve
from rag_mcp.adapters.terminal import progress_for
from rag_mcp.adapters.verbs import allowance, echo, print_json, show_plan, warn
from rag_mcp.adapters.wiring import stored_choices, stored_pointer
from rag_mcp.effects.boundary import Refused, value
from rag_mcp.index import Index
from rag_mcp.pure import cutover, exits, golden_render, render
from rag_mcp.pure.codec import structured
from rag_mcp.pure.comparing import Comparison, tolerance
from rag_mcp.pure.cutover import NEXT, Verdict
from rag_mcp.pure.errors import ConfigError, StoreMissing

VERDICT = "cutover.json"
MEANS_DECIDE = ("0.01",)
"""Another model moves nearly every case, some of them down; what counts is whether a mean fell."""
UNKNOWN = Verdict("", 0, worse=True)
"""A verdict that cannot be read: of no commit, so that another is asked for."""


def run(options: Options) -> int:
    """Do the act that was asked for."""
    settings: Settings = value(
        resolve(os.environ, corpus=options["corpus"], store=options.get("db"), collection=options.get("collection"))
    )
    store = settings.folder
    if (store / "collections").is_dir():
        raise Refused(
            ConfigError(f"{store} holds other collections, which would go with it; give each a store of its own")
        )
    if exchange.mend(store):
        click.echo("an exchange that was interrupted has been finished", err=True)
    return ACTS[options["act"] or "build"](options, settings, store)


def build(options: Options, settings: Settings, store: Path) -> int:
    """Build the new store, or go on building it; then compare."""
    pointer = stored_pointer(store)
    if pointer is None:
        raise Refused(StoreMissing(str(store)))
    corpus = str(settings.corpus or pointer.root)
    with _opened(options, store, corpus) as old, _new(options, store, corpus) as new:
        allow = allowance(options["allow_prune"])
        if options["act"] == "plan":
            return show_plan(new, new.plan(allow_prune=allow), {**options, "out": None}, allow, corpus)
        warn(new)
        report = new.ingest(allow_prune=allow)
        compared = _compared(options, old, new)
        _keep(exchange.member(store, NEXT), compared[1] if compared else None)
    worse = compared is not None and compared[0].worse
    if options["as_json"]:
        print_json(
            {
                "ok": True,
                "store": str(exchange.member(store, NEXT)),
                "report": report,
                "worse": worse if compared else None,
            }
        )
    else:
        click.echo(render.report_line(report))
        if compared:
            echo(golden_render.comparison_lines(Path(compared[1].golden).name, "the store as it is", compared[0]))
        else:
            click.echo(
                "not compared: there is no golden.toml here; rag-mcp golden init begins one, --golden FILE names one"
            )
        _next(options, corpus, "--switch --anyway" if worse else "--switch", "which exchanges the two stores")
    return exits.REFUSED if worse else exits.DONE


def switch(options: Options, settings: Settings, store: Path) -> int:
    """Put the new store in the old one's place."""
    new = exchange.member(store, NEXT)
    pointer = stored_pointer(new)
    moves = cutover.switch(
        exchange.there(store), _verdict(new), pointer.generation if pointer else 0, anyway=options["anyway"]
    )
    exchange.exchange(store, value(moves))
    assert pointer is not None
    corpus = str(settings.corpus or pointer.root)
    _say(
        options,
        "switched",
        f"{store} is now the store made by {pointer.embedder.name}; servers that run follow by themselves",
    )
    if not options["as_json"]:
        click.echo(
            f"where RAG_MCP_EMBEDDER or --embedder names another, let it name {pointer.embedder.name} now, or nothing"
        )
        _next(options, corpus, "--rollback", "goes back; --discard removes the old store")
        click.echo(
            f"what changed since it was built: {shlex.join(['rag-mcp', 'ingest', corpus, '--db', str(settings.store)])}"
        )
    return exits.DONE


def rollback(options: Options, _: Settings, store: Path) -> int:
    """Put the old store back."""
    exchange.exchange(store, value(cutover.rollback(exchange.there(store))))
    pointer = stored_pointer(store)
    _say(options, "rolled back", f"{store} is the store made by {pointer.embedder.name if pointer else 'nobody'} again")
    return exits.DONE


def discard(options: Options, _: Settings, store: Path) -> int:
    """Remove what lies beside the store."""
    which = value(cutover.discard(exchange.there(store)))
    exchange.remove(store, which)
    _say(options, "discarded", f"{exchange.member(store, which)} was removed")
    return exits.DONE


def _new(options: Options, store: Path, corpus: str) -> Index:
    """The new store: by the embedder that was named, or the one it was begun with; its choices are the old one's."""
    begun = stored_pointer(exchange.member(store, NEXT))
    name = options.get("embedder") or (begun.embedder.name if begun else None)
    if name is None:
        raise click.UsageError("name the embedder of the new store: rag-mcp cutover --embedder bge")
    own = stored_choices(store)
    folder, names = options["handoff_mirror_dir"], options["handoff_mirror_basename"]
    return Index.open(
        corpus,
        store=exchange.member(store, NEXT),
        embedder=name,
        exclude=tuple(options["exclude"]),
        environ=_environ(),
        progress=progress_for(hidden=bool(options.get("quiet") or options.get("as_json"))),
        handoff_mirror_dir=own.labelling.mirror_dir if folder is None else folder,
        handoff_mirror_basenames=names or own.labelling.mirror_basenames,
        chunking=own.chunking,
        dedupe_snapshots=not options["no_snapshot_dedupe"],
    )


def _opened(options: Options, store: Path, corpus: str) -> Index:
    return Index.open(corpus, store=store, environ=_environ(), exclude=tuple(options["exclude"]))


def _environ() -> dict[str, str]:
    """The environment for two folders that are each a store by its own embedder."""
    return {name: text for name, text in os.environ.items() if name not in ("RAG_MCP_EMBEDDER", "RAG_MCP_COLLECTION")}


def _compared(options: Options, old: Index, new: Index) -> tuple[Comparison, Verdict] | None:
    """How the new store answers the golden cases, against the old one; None where there are no cases."""
    path = Path(options["golden"] or "golden.toml")
    if not options["golden"] and not path.is_file():
        return None
    cases = golden.load(path)
    allowed = tolerance(options["tolerance"] or MEANS_DECIDE)
    if isinstance(allowed, Failure):
        raise click.UsageError(f"--tolerance: {allowed.failure()}")
    comparison = golden.compare(golden.run(old, cases), golden.run(new, cases), allowed.unwrap())
    return comparison, Verdict(str(path.absolute()), new.stats().generation, comparison.worse)


def _keep(new: Path, verdict: Verdict | None) -> None:
    if verdict is None:
        (new / VERDICT).unlink(missing_ok=True)
    else:
        (new / VERDICT).write_text(json.dumps(asdict(verdict)) + "\n", encoding="utf-8")


def _verdict(new: Path) -> Verdict | None:
    """What comparing said; None where nothing was compared."""
    try:
        kept: Result[Verdict, str] = structured(json.loads((new / VERDICT).read_text(encoding="utf-8")), Verdict)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return UNKNOWN
    return kept.value_or(UNKNOWN)


def _say(options: Options, act: str, sentence: str) -> None:
    if options["as_json"]:
        print_json({"ok": True, "act": act})
    else:
        click.echo(sentence)


def _next(options: Options, corpus: str, flags: str, why: str) -> None:
    words = ["rag-mcp", "cutover", "--corpus", corpus]
    for flag, name in (("--db", "db"), ("--collection", "collection")):
        words += [flag, options[name]] if options.get(name) else []
    click.echo(f"next: {shlex.join(words)} {flags}   {why}")


ACTS: Mapping[str, Callable[[Any, Settings, Path], int]] = {
    "build": build,
    "plan": build,
    "switch": switch,
    "rollback": rollback,
    "discard": discard,
}
