"""The verb `tick`: one ingest as a scheduler wants it: silent, a line in a log that does not grow, a code that counts.

a busy store is no failure (another run is doing the work): exit code 0; every other code is passed on
the log goes to `<log>.1` when it is near 5 MB, and a new one is begun
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from rag_mcp.adapters.settings import log_folder
from rag_mcp.adapters.verbs import Options, allowance, code_of, corpus_of, opened
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import exits, render
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
        with opened({**options, "quiet": True}, corpus=corpus) as index:
            log = log or usual_log(index.store)
            report = index.ingest(
                full=options["full"], clean=options["clean"], allow_prune=allowance(options["allow_prune"])
            )
            away = f"; {index.warning}" if index.warning else ""
        code, said = report.exit_code, render.report_line(report) + away
    except Refused as refused:
        code, said = code_of(refused.failure), refused.failure.message
        if code != exits.BUSY:
            click.echo(f"rag-mcp: {said}", err=True)
    except BaseException as error:
        said = f"ended by {type(error).__name__}: {error}"
        raise
    finally:
        note(log or usual_log(Path(corpus)), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} exit {code} {printable(said)}\n")
    return exits.DONE if code == exits.BUSY else code


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
