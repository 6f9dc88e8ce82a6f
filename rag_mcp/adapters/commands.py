"""The verbs by name, and what becomes of their failures."""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from rag_mcp.adapters.cli_options import Options
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure import exits
from rag_mcp.pure.paths import printable

if TYPE_CHECKING:  # most runs fail in no way
    from rag_mcp.pure.errors import Failure


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


def refuse(failure: "Failure", options: Options) -> int:
    """Say why not; 3 for a busy store, 2 for a setting, else 1."""
    from rag_mcp.adapters.verbs import code_of, echoed_k, print_json

    if options.get("as_json"):
        from rag_mcp.pure.wire import refusal_shape

        print_json(refusal_shape(failure, echoed_k(failure, options)))
    else:
        click.echo(f"rag-mcp: {failure.message}", err=True)
    return code_of(failure)


def ingest(options: Options) -> int:
    """Bring the store up to date; what an ingest without work needs is loaded, and no more, where nothing changed."""
    from rag_mcp.adapters import unchanged

    note = unchanged.note("ingest", options, os.environ)
    with note or nullcontext():
        if note and (told := note.told()):
            said, code = told
            click.echo(said)
            return code
        from rag_mcp.adapters import index_commands

        return index_commands.ingest(options, note)


def tick(options: Options) -> int:
    """The same, for a scheduler."""
    from rag_mcp.adapters.ticking import tick

    return tick(options)


def over_index(act: str) -> Callable[[Options], int]:
    """Another verb over an index."""

    def run(options: Options) -> int:
        from rag_mcp.adapters import index_commands

        return index_commands.ACTS[act](options)

    return run


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
    **{act: over_index(act) for act in ("apply", "query", "verify", "stats")},
    "tick": tick,
    "install": install,
    "demo": demo,
    **{act: check(act) for act in ("doctor", "cite", "manifest")},
    **{f"golden_{act}": golden(act) for act in ("init", "run", "record", "compare")},
    **{act: upkeep(act) for act in ("watch", "schedule", "cutover", "model_fetch")},
}
