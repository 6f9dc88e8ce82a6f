"""The verbs that keep a store fresh: options and help. What they do stands in `upkeep`."""

import click

from rag_mcp.adapters.cli_options import excluding, hand_over_options, pruning, verb


@click.command(short_help="Keep the store up to date while files change.")
@click.argument("corpus", required=False)
@excluding
@pruning
@hand_over_options
@click.option(
    "--debounce",
    type=click.FloatRange(0.05, 3600),
    default=1.0,
    metavar="SECONDS",
    help="How long the folder must be quiet after a change.",
    show_default=True,
)
@verb
def watch() -> None:
    """Ingest CORPUS now, and again after every change, once it has been quiet for a moment.

    One line for each run that did something, or that was refused, and why; with --json one line for every run. A busy
    store is tried again, a corpus that went away is waited for, and every five minutes all is looked at in any case.
    Ctrl-C or SIGTERM ends it; the store is whole at any moment.
    """


VERBS = (watch,)
