"""How cost grows with a store: `python -m benchmarks.scale DATA WORK PASSAGES...`, one column for each number.

    python -m benchmarks.scale DATA WORK 50000 250000 1000000

Stores are those of `many_passages`, made below WORK where they are not there yet, and kept. Rows: the first build,
a quiet run, a plan and an ingest of one edited file, a question, a filtered one, one by words alone, a check of
everything; seconds, and peak memory in MB; bytes on disk for each passage; recall of the index.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accounting import LIBRARY, PYTHON, Cost, answer, run

QUESTION = "which of the results were confirmed?"
GROWN = "\n\n## One more\n\nA paragraph that nobody has seen before.\n"


@dataclass(frozen=True)
class Cell:
    """A number, and how it is shown."""

    name: str
    shown: str


def column(data: Path, work: Path, passages: int) -> Iterator[Cell]:
    """All that is measured of one store."""
    corpus, store, note = (work / f"{kind}-{passages}" for kind in ("corpus", "store", "built"))
    if not note.exists():
        shutil.rmtree(store, ignore_errors=True)
        cost, texts = run(PYTHON, "-m", "benchmarks.many_passages", str(data), str(corpus), str(store), str(passages))
        note.write_text(json.dumps({"wall": cost.wall, "peak": cost.peak, "texts": int(texts)}))
    built = json.loads(note.read_text())
    yield Cell("first build, embedding not counted", f"{built['wall']:.0f} s {built['peak'] / 1e6:.0f} MB")
    held = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    yield Cell("on disk", f"{held / built['texts']:.0f} bytes/passage")
    kept = ("--db", str(store))
    ingest = (*LIBRARY, "ingest", str(corpus), *kept, "--quiet")
    yield _cell("quiet run", run(*ingest)[0])
    yield _cell("question, the whole process", run(*LIBRARY, "query", QUESTION, *kept)[0])
    yield _cell("filtered to a tenth", run(*LIBRARY, "query", QUESTION, *kept, "--doc-class", "handoff")[0])
    yield _cell("by words alone", run(*LIBRARY, "query", QUESTION, *kept, "--mode", "keyword")[0])
    page = next(corpus.rglob("page0007.md"))
    before = page.read_bytes()
    page.write_bytes(before + GROWN.encode())
    yield _cell("plan of one edited file", run(*ingest, "--plan")[0])
    yield _cell("ingest of one edited file", run(*ingest)[0])
    page.write_bytes(before)
    run(*ingest)
    yield _cell("verify", run(*LIBRARY, "verify", *kept)[0])
    cost, found = answer(PYTHON, "-m", "benchmarks.recall", str(store))
    yield Cell("recall@10 of the index, random vectors", f"{found['recall']:.3f}")
    yield Cell("index alone : exact scan", f"{found['ask']:.1f} : {found['scan']:.1f} ms")


def _cell(name: str, cost: Cost) -> Cell:
    return Cell(name, f"{cost.wall:.2f} s {cost.peak / 1e6:.0f} MB")


def main(data: str, work: str, *sizes: str) -> None:
    """Measure, and print one table."""
    Path(work).mkdir(parents=True, exist_ok=True)
    columns = [list(column(Path(data), Path(work), int(size))) for size in sizes]
    print(f"{'':<40}" + "".join(f"{int(size):>24,}" for size in sizes))
    for row in zip(*columns, strict=True):
        print(f"{row[0].name:<40}" + "".join(f"{cell.shown:>24}" for cell in row))


if __name__ == "__main__":
    main(*sys.argv[1:])
