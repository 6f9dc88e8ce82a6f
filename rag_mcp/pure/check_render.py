"""Text for people from the verbs that look and change nothing: findings, a citation, the manifest, what a store holds.

Everything that stems from a file goes through `printable` or `shown`, so no escape sequence reaches a terminal.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rag_mcp.pure.citing import Cited, Lines, Verdict
from rag_mcp.pure.coverage import Uncovered
from rag_mcp.pure.doctor import Diagnosis
from rag_mcp.pure.findings import Finding
from rag_mcp.pure.manifest import Manifest
from rag_mcp.pure.paths import place, printable, shown
from rag_mcp.pure.statistics import Stats


def diagnosis_lines(found: Sequence[Diagnosis]) -> Iterator[str]:
    """What the doctor found, each with what mends it."""
    for each in found:
        yield f"{each.severity.value:<9}{printable(each.where)}: {printable(each.what)}"
        if each.mend:
            yield f"         mend: {printable(each.mend)}"


def cited_lines(cited: Cited) -> Iterator[str]:
    """The lines cited as they are now, each with its number, and what became of what they held."""
    asked = cited.cited
    if cited.text:
        body = shown(cited.text.removesuffix("\n").removesuffix("\r"))
        width = len(str(asked.first + len(body) - 1))
        yield from (f"{number:>{width}}  {line}" for number, line in enumerate(body, start=asked.first))
    yield f"{_placed(asked)}: {_became(cited)}"


def _became(cited: Cited) -> str:
    match cited.verdict:
        case Verdict.HOLDS:
            return "holds; it is what was quoted"
        case Verdict.MOVED:
            return f"moved; what was quoted now stands at {_placed(cited.now or cited.cited)}"
        case Verdict.CHANGED:
            return "changed; what was quoted stands nowhere in the index or in this file now"
        case Verdict.GONE:
            return "gone; the file is not there, or cannot be read now"
        case Verdict.UNCHECKED if cited.text:
            return "as it is now; with --hash HASH it is compared with what was quoted"
        case Verdict.UNCHECKED:
            return "the file has no such lines"
        case _ as never:
            raise AssertionError(never)


def _placed(lines: Lines) -> str:
    return place(lines.source, lines.first, lines.last)


def manifest_lines(manifest: Manifest) -> Iterator[str]:
    """A line for each file, its warnings below it."""
    yield f"generation {manifest.generation} of {manifest.finished}, by {printable(manifest.embedder.name)}"
    yield f"{'sha256':<12}  {'bytes':>9}  {'passages':>8}  {'class':<8}  path and title"
    for entry in manifest.entries:
        title = f"   {printable(entry.title)}" if entry.title else ""
        counts = f"{entry.size:>9}  {entry.rows.count:>8}"
        yield f"{entry.digest[:12]}  {counts}  {printable(entry.doc_class):<8}  {printable(entry.path)}{title}"
        yield from (f"{'':45}warning: {printable(warning)}" for warning in entry.warnings)
    passages = sum(entry.rows.count for entry in manifest.entries)
    yield f"{len(manifest.entries)} files, {passages} passages"


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """What a check found, each with what mends it."""
    for finding in findings:
        yield f"{finding.severity.value:<6}{printable(finding.where)}: {printable(finding.what)}"
        yield f"      mend: {printable(finding.mend)}"


def stats_lines(stats: Stats) -> Iterator[str]:
    """What a store holds."""
    yield f"store       {printable(stats.store)} ({stats.bytes_on_disk / 1e6:.1f} MB)"
    yield f"corpus      {printable(stats.corpus or 'none yet')}"
    yield f"            {printable(stats.revision.label if stats.revision else 'its commit was not noted')}"
    yield f"generation  {stats.generation}" + (f", {printable(stats.finished)}" if stats.finished else "")
    yield f"embedder    {printable(stats.embedder or 'none yet')}" + (f" ({stats.dim})" if stats.dim else "")
    classes = ", ".join(f"{count} {printable(name)}" for name, count in sorted(stats.classes.items()))
    yield f"holds       {stats.files} files, {stats.passages} passages ({classes or 'none'})"
    if stats.repeats:
        yield f"            {stats.repeats} more passages repeat one of these in a dated series, and are not shown"
    if stats.retired:
        yield f"            {stats.retired} of the passages are superseded, and shown when asked for"
    vectors = f"{stats.vectors} distinct vectors, {stats.cached_vectors} cached"
    yield f"            {stats.distinct_texts} distinct texts, {vectors}"


def coverage_lines(uncovered: Sequence[Uncovered]) -> Iterator[str]:
    """What is not wholly searchable, a line for each path, those that lack the same together."""
    if not uncovered:
        yield "coverage    every file is wholly searchable"
    for lack, alike in groupby(uncovered, lambda each: each.lack):
        paths = list(alike)
        yield f"coverage    {len(paths)} {lack.value}"
        for each in paths:
            yield f"            {printable(each.path) or 'the corpus'} ({printable(each.why)})"
