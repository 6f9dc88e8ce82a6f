"""The demonstration: the bundled corpus in a temporary folder, from first plan to checked citations."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rag_mcp.adapters.terminal import progress_for
from rag_mcp.index import Index
from rag_mcp.pure import answer_render, render
from rag_mcp.pure.citations import Answer
from rag_mcp.pure.wire import answer_shape

QUESTIONS = (
    "who gets paged in a most severe incident?",
    "how do I replace a signing key without logging everybody out?",
    "how many minutes of bookings can be lost?",
)
EDITED = "runbooks/backups.md"
EDIT = ("about forty minutes", "about twenty-five minutes")


def sample() -> Path:
    """The sample corpus: in the installed package, or beside it where it runs from its sources."""
    package = Path(__file__).parents[1]
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent / "sample-corpus"


def run(options: Mapping[str, Any]) -> int:
    """Show it; 0. With --json the three answers alone are printed."""
    silent = bool(options.get("as_json"))
    say = (lambda _: None) if silent else click.echo
    with tempfile.TemporaryDirectory(prefix="rag-mcp-demo-") as folder:
        notes = Path(folder) / "notes"
        shutil.copytree(sample(), notes)
        hidden = silent or bool(options.get("quiet"))
        store, embedder = Path(folder) / "store", options.get("embedder")
        with Index.open(
            notes, store=store, embedder=embedder, environ={}, progress=progress_for(hidden=hidden)
        ) as index:
            say("$ rag-mcp ingest notes --plan")
            say("\n".join(render.plan_lines(index.plan(), name="notes")))
            say("\n$ rag-mcp ingest notes")
            say("\n".join(render.report_lines(index.ingest())))
            page = notes / EDITED
            page.write_text(page.read_text(encoding="utf-8").replace(*EDIT), encoding="utf-8")
            say(f"\none line of notes/{EDITED} is edited, then:\n\n$ rag-mcp ingest notes --plan")
            say("\n".join(render.plan_lines(index.plan(), name="notes")))
            say("\n$ rag-mcp ingest notes")
            say("\n".join(render.report_lines(index.ingest())))
            answers = [index.search(question, 1) for question in QUESTIONS]
    for question, answer in zip(QUESTIONS, answers, strict=True):
        say(f'\n$ rag-mcp query "{question}" --corpus notes -k 1')
        say("\n".join(answer_render.answer_lines(answer)))
    if silent:
        print_answers(answers)
    else:
        say("that was a temporary folder; now try: rag-mcp ingest YOUR-NOTES")
    return 0


def print_answers(answers: list[Answer]) -> None:
    """The answers as JSON."""
    from rag_mcp.pure.codec import dumps

    click.echo(dumps({"ok": True, "answers": [answer_shape(answer) for answer in answers]}, indent=2))
