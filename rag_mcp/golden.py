"""Golden cases as a library: tells whether answers are still as good as they were.

    from rag_mcp import Index, golden

    cases = golden.load("golden.toml")
    with Index.open("notes") as index:
        before = golden.run(index, cases)
        index.ingest()
        after = golden.run(index, cases)
    print(golden.compare(before, after).worse)

Cases may as well be made in Python: `Case("how often?", (Expectation("ops/pumps.md", quote="every 400 hours"),))`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from attrs import evolve

from rag_mcp.adapters import golden_files
from rag_mcp.effects.boundary import Refused
from rag_mcp.effects.evaluate import evaluate
from rag_mcp.effects.ports import Progress
from rag_mcp.index import Index
from rag_mcp.pure.comparing import Comparison, Tolerance, compared
from rag_mcp.pure.errors import BadGolden, SourceUnavailable
from rag_mcp.pure.golden import Case, Expectation, flaw, proposed, twins
from rag_mcp.pure.judging import Judged, Run
from rag_mcp.pure.query import clamp_k

__all__ = [
    "Case", "Comparison", "Expectation", "Judged", "Run", "Tolerance",
    "baseline", "compare", "load", "propose", "record", "run",
]  # fmt: skip

DEFAULT_DEPTH = 10


def load(path: str | Path) -> tuple[Case, ...]:
    """The cases of a TOML or JSONL file. Raises Refused(BadGolden), which names case and fault."""
    return golden_files.load(Path(path))


def run(
    index: Index,
    cases: Sequence[Case],
    k: int = DEFAULT_DEPTH,
    *,
    mode: str = "hybrid",
    progress: Progress | None = None,
) -> Run:
    """Ask every question, look at `k` passages (or as many as a case says), and judge them.

    `mode` is that of `Index.search`; the run names it. Raises Refused: BadGolden for cases that mean nothing, and what
    a search may raise.
    """
    _check(cases)
    k = clamp_k(k)
    setup = evolve(index.setup(), search={"mode": mode})
    return Run(k, setup, evaluate(cases, partial(index.search, mode=mode), partial(_text, index), k, progress))


def compare(before: Run, after: Run, tolerance: float | Tolerance = 0.0) -> Comparison:
    """What moved from one run to the other; `worse` is the verdict. `tolerance`: how far the means may fall."""
    allowed = tolerance if isinstance(tolerance, Tolerance) else Tolerance(tolerance)
    return compared(before, after, allowed)


def record(path: str | Path, result: Run) -> Path:
    """Make a run the baseline of the file of cases at `path`; -> the baseline's path. Raises Refused(BadGolden)."""
    return golden_files.write_baseline(Path(path), result)


def baseline(path: str | Path) -> Run:
    """The baseline of the file of cases at `path`. Raises Refused(BadGolden), also where there is none."""
    return golden_files.read_baseline(Path(path))


def propose(index: Index, limit: int = 20) -> tuple[Case, ...]:
    """Up to `limit` cases, each from a heading of another document, for a person to word anew. Raises Refused."""
    paths = index.documents()
    step = max(1, len(paths) / limit) if limit else len(paths)
    chosen = [paths[int(n * step)] for n in range(min(limit, len(paths)))]
    made = [proposed(path, text) for path in chosen if (text := _text(index, path)) is not None]
    distinct = {case.name: case for case in made if case is not None and flaw(case) is None}
    return tuple(distinct.values())


def _text(index: Index, source: str) -> str | None:
    try:
        return index.read(source)
    except Refused as refused:
        if isinstance(refused.failure, SourceUnavailable):
            return None
        raise


def _check(cases: Sequence[Case]) -> None:
    """Cases made in Python are held to what a file is held to."""
    flaws = ((case, flaw(case)) for case in cases)
    for case, why in flaws:
        if why:
            raise Refused(BadGolden(f"case {case.name!r}", why))
    if pair := twins(cases):
        raise Refused(BadGolden(f"case {cases[pair[1]].name!r}", "another case has that id"))
    if not cases:
        raise Refused(BadGolden("golden cases", "there is none"))
