"""The shapes that programs read: an answer, a refusal, a verdict. Plain dictionaries, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import asdict

from rag_mcp.pure.values import CURRENT

if TYPE_CHECKING:  # each shape is made of values of its own, and one question needs but its own
    from rag_mcp.pure.changes import Version
    from rag_mcp.pure.citations import Answer, Citation, Hit, Place
    from rag_mcp.pure.coverage import Uncovered
    from rag_mcp.pure.errors import Failure
    from rag_mcp.pure.findings import Finding
    from rag_mcp.pure.manifest import Entry, Manifest
    from rag_mcp.pure.statistics import Stats

SERIES_KEYS = frozenset({"snapshot_date", "also_unchanged_on", "snapshots_covered", "unchanged_until"})


def answer_shape(
    answer: Answer, *, explain: bool = False, timing: bool = False, changes: Sequence[Sequence[Version]] = ()
) -> dict[str, Any]:
    """A successful search.

    With `explain` each hit says why it ranks where it does, with `timing` the answer what took how long; `changes` are
    those of each hit.
    """
    shape: dict[str, Any] = {
        "ok": True,
        "query": answer.query,
        "k": answer.k,
        "count": answer.count,
        "dropped_out_of_scope": answer.dropped_out_of_scope,
        "confidence": answer.confidence,
        "nothing_close": answer.nothing_close,
        "results": [hit_shape(hit, explain=explain) for hit in answer.results],
    }
    if answer.uncovered:
        shape["coverage"] = {**asdict(answer.uncovered), "examples": list(answer.uncovered.examples)}
    if answer.degraded:
        shape["degraded"] = answer.degraded
    if timing:
        shape["timing"] = [{**asdict(each), "milliseconds": round(each.milliseconds, 3)} for each in answer.lookups]
    for hit, versions in zip(shape["results"], changes, strict=False):
        hit["changes"] = [asdict(version) for version in versions]
    return shape


def hit_shape(hit: Hit, *, explain: bool = False) -> dict[str, Any]:
    """One passage."""
    citation = _present(hit.citation)
    citation["heading_path"] = list(hit.citation.heading_path)
    citation["also_in"] = [_present(place) for place in hit.citation.also_in]
    shape: dict[str, Any] = {"text": hit.text, "citation": citation, "score": hit.score, "similarity": hit.similarity}
    if hit.lifecycle != CURRENT:
        shape["lifecycle"] = hit.lifecycle
    if hit.signals:
        shape["signals"] = list(hit.signals)
    if explain and hit.trace:
        shape["explain"] = asdict(hit.trace)
    return shape


def _present(cited: Citation | Place) -> dict[str, Any]:
    """A citation, or another place, without the keys of dated series where it stands in none."""
    return {key: value for key, value in asdict(cited).items() if value is not None or key not in SERIES_KEYS}


def refusal_shape(failure: Failure, k: int | None = None) -> dict[str, Any]:
    """A refused search; store errors echo the effective k."""
    shape: dict[str, Any] = {"ok": False, "error": {"type": failure.type, "message": failure.message}, "results": []}
    return shape if k is None else {**shape, "k": k}


def stats_shape(stats: Stats, uncovered: Sequence[Uncovered] | None) -> dict[str, Any]:
    """What a store holds; what is not wholly searchable, where that was asked."""
    shape = asdict(stats)
    if uncovered is None:
        return shape
    return {**shape, "coverage": [{**asdict(each), "lack": each.lack.value} for each in uncovered]}


def manifest_shape(manifest: Manifest) -> dict[str, Any]:
    """The manifest: by what it was made, and each file with its bytes' hash and what came of them."""
    run = manifest.run
    return {
        "store": manifest.store,
        "collection": manifest.collection,
        "corpus": manifest.root,
        "generation": manifest.generation,
        "finished": manifest.finished,
        "embedder": {**asdict(manifest.embedder), "fingerprint": manifest.embedder.fingerprint},
        "settings": {
            "chunking": asdict(run.chunking),
            "labelling": {**asdict(run.labelling), "mirror_basenames": list(run.labelling.mirror_basenames)},
            "reader_version": run.reader_version,
            "chunker_version": run.chunker_version,
            "metadata_version": run.metadata_version,
            "recipe": run.recipe,
            "labels": run.labels,
        },
        "entries": [_entry_shape(entry) for entry in manifest.entries],
    }


def _entry_shape(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "sha256": entry.digest,
        "size": entry.size,
        "passages": entry.rows.count,
        "doc_class": entry.doc_class,
        "lifecycle": entry.lifecycle,
        "title": entry.title,
        "warnings": list(entry.warnings),
        "recipe": entry.recipe,
        "labels": entry.labels,
    }


def verdict_shape(
    findings: Sequence[Finding], files: int, passages: int, vectors: int, repaired: bool | None
) -> dict[str, Any]:
    """What a check found."""
    shape: dict[str, Any] = {
        "ok": not findings,
        "files": files,
        "passages": passages,
        "vectors": vectors,
        "findings": [{**asdict(finding), "severity": finding.severity.value} for finding in findings],
    }
    return shape if repaired is None else {**shape, "repaired": repaired}
