"""What the verbs doctor, cite and manifest do."""

from collections.abc import Callable, Mapping

import click
from attrs import asdict

from rag_mcp.adapters.cli_options import Options
from rag_mcp.adapters.verbs import echo, opened, print_json
from rag_mcp.pure import exits


def doctor(options: Options) -> int:
    """Look, show, 1 where there is an error; with --quiet what is as it should be is left out."""
    from rag_mcp.doctor import Severity, examine
    from rag_mcp.pure import check_render as render

    named = {name: options.get(name) for name in ("corpus", "collection", "embedder")}
    seen = examine(store=options.get("db"), **named)
    if options["as_json"]:
        counts = {f"{level.value}s": seen.count(level) for level in (Severity.ERROR, Severity.WARNING, Severity.NOTE)}
        findings = [{**asdict(finding), "severity": finding.severity.value} for finding in seen.findings]
        settings = [asdict(setting) for setting in seen.settings]
        print_json({"ok": seen.ok, **counts, "settings": settings, "findings": findings})
    else:
        shown = [f for f in seen.findings if f.severity is not Severity.OK or not options["quiet"]]
        echo(render.diagnosis_lines(shown))
        click.echo(", ".join(f"{seen.count(level)} {level.value}" for level in Severity))
    return exits.DONE if seen.ok else exits.REFUSED


def cite(options: Options) -> int:
    """Lines as they are now, and what became of what they held; 1 unless it stands there."""
    from rag_mcp.pure import check_render as render

    with opened(options, corpus=options["corpus"]) as index:
        cited = index.cite(options["citation"], options["content_hash"])
    if options["as_json"]:
        print_json({"ok": True, "holds": cited.holds, **asdict(cited), "verdict": cited.verdict.value})
    else:
        echo(render.cited_lines(cited))
    return exits.DONE if cited.holds else exits.REFUSED


def manifest(options: Options) -> int:
    """All entries, as a table or as JSON."""
    from rag_mcp.pure import check_render as render
    from rag_mcp.pure.wire import manifest_shape

    with opened(options, corpus=options["corpus"]) as index:
        listed = index.manifest()
    if options["as_json"]:
        print_json({"ok": True, **manifest_shape(listed)})
    else:
        echo(render.manifest_lines(listed))
    return exits.DONE


ACTS: Mapping[str, Callable[[Options], int]] = {"doctor": doctor, "cite": cite, "manifest": manifest}
