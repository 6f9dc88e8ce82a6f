"""The options of the verbs that look and change nothing: doctor, cite, manifest."""

import click

from rag_mcp.adapters.cli_options import verb

corpus = click.option("--corpus", metavar="ROOT", help="The corpus whose store is meant. [env RAG_MCP_CORPUS_ROOT]")


@click.command(short_help="Look at everything that an answer depends on.")
@corpus
@verb
def doctor() -> None:
    """Look at environment, model, store, index, corpus and the clients' files; say what mends what is amiss.

    Changes nothing, and needs neither a store nor a corpus. Exit code 1: a search or an ingest would fail.
    """


@click.command(short_help="Say whether a citation still holds.")
@click.argument("citation", metavar="SOURCE:START-END")
@click.option("--hash", "content_hash", metavar="HASH", help="The content_hash of the hit that was quoted.")
@corpus
@verb
def cite() -> None:
    """Print the lines cited as they are now. With --hash, say whether they still hold what was quoted.

    Exit code 0: they hold it. 1: it moved (to where is said), was changed, or the file is gone.
    """


@click.command(short_help="What was stored of each file.")
@corpus
@verb
def manifest() -> None:
    """List every file that the store was made from: hash, size, passages, class, title, warnings.

    With --json also by which embedder and settings it was made.
    """
