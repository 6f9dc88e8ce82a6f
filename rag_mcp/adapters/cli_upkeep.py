"""The verbs that keep a store fresh: options and help. What they do stands in `upkeep`."""

import click

from rag_mcp.adapters.cli_options import excluding, hand_over_options, pruning, series, verb


@click.command(short_help="Keep the store up to date while files change.")
@click.argument("corpus", required=False)
@excluding
@pruning
@series
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


log_option = click.option(
    "--log", type=click.Path(dir_okay=False), help="The log. [default: one for each store in your log folder]"
)


@click.command(short_help="One ingest as a scheduler wants it.")
@click.argument("corpus", required=False)
@log_option
@click.option("--full", is_flag=True, help="Embed everything again, in place.")
@click.option("--clean", is_flag=True, help="Remove the store first.")
@click.option("--model-dir", type=click.Path(file_okay=False), help="As RAG_MCP_MODEL_DIR.")
@excluding
@pruning
@series
@hand_over_options
@verb
def tick() -> None:
    """Ingest CORPUS once; add one line to a log, which is set aside as LOG.1 when it is near 5 MB.

    A store that another run is writing counts as success; every other exit code is that of an ingest.
    """


@click.command(short_help="Have the store kept up to date by the system's scheduler.")
@click.argument("corpus", required=False)
@click.option("--every", metavar="TIME", help="15m, 1h, 1d, 1w. [default: 15m; with --full: 1w]")
@click.option(
    "--kind",
    type=click.Choice(["systemd", "cron", "windows"]),
    help="systemd user timer, crontab, or Task Scheduler. [default: what this system has]",
)
@click.option("--print", "act", flag_value="print", default=True, help="Show what would be set up. The default.")
@click.option("--install", "act", flag_value="install", help="Set it up for this user; an earlier one is replaced.")
@click.option("--remove", "act", flag_value="remove", help="Take it out again.")
@click.option("--full", is_flag=True, help="A second job that embeds everything again, in place, as a safety net.")
@log_option
@excluding
@pruning
@series
@hand_over_options
@verb
def schedule() -> None:
    """Run rag-mcp tick CORPUS every 15 minutes, by a systemd user timer, a crontab line or Task Scheduler.

    Every path and setting is written down, so that the job needs nothing of this terminal.
    """


@click.command(short_help="Move to another embedder, and back.")
@click.option("--corpus", metavar="ROOT", help="The corpus whose store is meant. [env RAG_MCP_CORPUS_ROOT]")
@click.option("--golden", type=click.Path(dir_okay=False), help="Cases to compare by. [default: golden.toml, if here]")
@click.option("--tolerance", multiple=True, metavar="[MEASURE=]T", help="How far a mean may fall. Repeatable. [0.01]")
@click.option("--plan", "act", flag_value="plan", help="Show what building the new store would do, and stop.")
@click.option("--switch", "act", flag_value="switch", help="Put the new store in the place of the old one.")
@click.option("--rollback", "act", flag_value="rollback", help="Put the old store back.")
@click.option(
    "--discard", "act", flag_value="discard", help="Remove what is beside: an unused new store, else the old."
)
@click.option("--anyway", is_flag=True, help="With --switch: also where the new store answers worse.")
@excluding
@pruning
@series
@hand_over_options
@verb
def cutover() -> None:
    """Build a store by --embedder NAME beside the one that is in use, and compare the two by golden cases.

    It may be interrupted and run again. The store in use answers meanwhile, and is exchanged only by --switch, in a
    moment; nothing is embedded for that, nor for going back. Exit code 1: built, and worse.
    """


@click.group(short_help="The models that turn text into vectors.")
def model() -> None:
    """Models are read from RAG_MCP_MODEL_DIR, the installed packages, or the model hub's cache on this machine."""


@model.command("fetch", short_help="Download a model, once.")
@click.argument("name")
@verb
def model_fetch() -> None:
    """Download model NAME (bge: 1.3 GB) from the model hub into its cache on this machine.

    This is the only command that uses the network. What was fetched is used without it ever after.
    """
