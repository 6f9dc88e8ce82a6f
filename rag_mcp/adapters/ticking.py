"""The verb `tick`: one ingest as a scheduler wants it: silent, a line in a log that does not grow, a code that counts.

a busy store is no failure (another run is doing the work): exit code 0; every other code is passed on
the log goes to `<log>.1` when it is near 5 MB, and a new one is begun
"""

import os
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import click

from rag_mcp.adapters import unchanged
from rag_mcp.adapters.cli_options import Options, corpus_of
from rag_mcp.adapters.settings import log_folder
from rag_mcp.adapters.unchanged import Note
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import exits
from rag_mcp.pure.paths import printable

LARGEST = 5_000_000
"""Bytes of a log, the one set aside not counted."""


def tick(options: Options) -> int:
    """One ingest, one line."""
    if options["full"] and options["clean"]:
        raise click.UsageError("give --full or --clean, not both")
    corpus = corpus_of(options, "tick")
    if options["model_dir"]:
        os.environ["RAG_MCP_MODEL_DIR"] = options["model_dir"]
    code, said = exits.REFUSED, "it did not end"
    log = Path(options["log"]).expanduser() if options["log"] else None
    try:
        with unchanged.note("tick", options, os.environ) or nullcontext() as kept:
            log = log or usual_log(kept.settings.folder if kept else Path(corpus))
            said, code = (kept and kept.told()) or _ingested(options, corpus, kept)
    except Refused as refused:
        from rag_mcp.adapters.verbs import code_of

        code, said = code_of(refused.failure), refused.failure.message
        if code != exits.BUSY:
            click.echo(f"rag-mcp: {said}", err=True)
    except BaseException as error:
        said = f"ended by {type(error).__name__}: {error}"
        raise
    finally:
        note(log or usual_log(Path(corpus)), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} exit {code} {printable(said)}\n")
    return exits.DONE if code == exits.BUSY else code


def _ingested(options: Options, corpus: str, kept: Note | None) -> tuple[str, int]:
    """What a run says that is planned, and its exit code. Raises Refused."""
    from rag_mcp.adapters.beginning import AFRESH
    from rag_mcp.adapters.ingesting import ingested, ordered
    from rag_mcp.adapters.verbs import allowance, opened_to_write
    from rag_mcp.pure import render

    with opened_to_write({**options, "quiet": True}, corpus=corpus) as index:
        order = ordered(full=options["full"], allow_prune=allowance(options["allow_prune"]))
        report = ingested(index, order, clean=options["clean"], start=kept.start if kept else AFRESH)
        away = f"; {index.warning}" if index.warning else ""
    if kept:
        kept.keep(lambda rest: render.report_line(rest) + away)
    return render.report_line(report) + away, report.exit_code


def usual_log(store: Path) -> Path:
    """The log of a store, in the user's log folder."""
    return log_folder() / f"tick-{store.name}.log"


def note(log: Path, line: str) -> None:
    """Add a line; a log that is full is set aside first. What cannot be written is said on standard error."""
    data = line.encode("utf-8", "backslashreplace")
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size + len(data) > LARGEST:
            log.replace(log.with_name(f"{log.name}.1"))
        with log.open("ab", buffering=0) as file:
            file.write(data)
    except OSError as error:
        click.echo(f"rag-mcp: {log}: the log could not be written ({error.strerror})", err=True)
