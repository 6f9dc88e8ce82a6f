"""What the verbs that keep a store fresh do."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

import click

from rag_mcp.adapters.cli_options import Options, corpus_of
from rag_mcp.adapters.verbs import allowance, opened_to_write, print_json, warn
from rag_mcp.pure import exits
from rag_mcp.pure.paths import printable

T = TypeVar("T")


def watch(options: Options) -> int:
    """Watch until told to end."""
    from rag_mcp.pure.watching import Looked, Timing, line, shape

    corpus = corpus_of(options, "watch")

    def tell(looked: Looked) -> None:
        now = datetime.now(UTC)
        if options["as_json"]:
            click.echo(json.dumps(shape(looked, now.isoformat(timespec="seconds"))))
        elif looked.news:
            click.echo(f"{now.astimezone():%H:%M:%S}  {line(looked)}")

    def say(sentence: str) -> None:
        click.echo(f"rag-mcp: {sentence}", err=True)

    with opened_to_write(options, corpus=corpus) as index:
        warn(index)
        if not (options["quiet"] or options["as_json"]):
            say(f"watching {printable(corpus)} for {printable(str(index.store))} (Ctrl-C ends it)")
        try:
            index.watch(
                tell,
                timing=Timing(debounce=options["debounce"]),
                allow_prune=allowance(options["allow_prune"]),
                say=say,
            )
        except KeyboardInterrupt:
            if not options["quiet"]:
                say("ended; what was finished stands")
    return exits.DONE


def schedule(options: Options) -> int:
    """An ingest every so often."""
    from rag_mcp.adapters.scheduling import schedule

    return schedule(options)


def cutover(options: Options) -> int:
    """Move to another embedder."""
    from rag_mcp.adapters.cutover_commands import run

    return run(options)


def model_fetch(options: Options) -> int:
    """Fetch a model."""
    from rag_mcp.adapters.wiring import fetch_model

    found = fetch_model(options["name"])
    if options["as_json"]:
        print_json({"ok": True, "files": [{"path": str(path), "sha256": digest} for path, digest in found]})
    else:
        for path, digest in found:
            click.echo(f"{printable(str(path))}\n  SHA-256 {digest}")
    return exits.DONE


ACTS: Mapping[str, Callable[[Options], int]] = {
    "watch": watch,
    "schedule": schedule,
    "cutover": cutover,
    "model_fetch": model_fetch,
}
