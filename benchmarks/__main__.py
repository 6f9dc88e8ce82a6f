"""One command, one table: ratios first, each with its floor or peer measured in the same run.

python -m benchmarks                      all, some ten minutes on two cores
python -m benchmarks --quick              less of everything: to see that it runs, not to quote
python -m benchmarks --only quiet --only query
python -m benchmarks --json numbers.json
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmarks.corpora import unpacked
from benchmarks.measures import MEASURES, Bench, Line

VENDORS = ("chromadb", "onnxruntime", "tokenizers", "numpy", "attrs", "click")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a target was missed."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-of-rag-mcp-") as place:
        work = Path(place, "work")
        work.mkdir()
        passages = options.passages or (6_000 if options.quick else 50_000)
        bench = Bench(unpacked(Path(place, "data")), work, options.quick, passages)
        lines: list[Line] = []
        for name in dict.fromkeys(options.only or MEASURES):
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            lines.extend(MEASURES[name](bench))
    lines.sort(key=lambda line: line.ratio is None)
    print("\n".join([*_table(lines), "", *_machine()]))
    if options.json:
        numbers = [asdict(line) | {"met": line.met} for line in lines]
        Path(options.json).write_text(json.dumps({"machine": _machine(), "lines": numbers}, indent=2) + "\n")
    return 1 if any(line.met is False for line in lines) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller corpora and fewer runs")
    parser.add_argument("--only", action="append", choices=sorted(MEASURES), help="just this one; repeatable")
    parser.add_argument("--passages", type=int, metavar="N", help="of the store that the server searches")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there as well")
    return parser


def _table(lines: Sequence[Line]) -> list[str]:
    head = f"{'ratio':>6}  {'target':<8}{'':4} {'what':<46} {'ours':>9} {'other':>9}  unit"
    rows = []
    for line in lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        verdict = {None: "", True: "ok", False: "MISS"}[line.met]
        other = "" if line.other is None else _number(line.other)
        note = f"   ({line.note})" if line.note else ""
        shown = f"{ratio:>6}  {line.target:<8}{verdict:<4} {line.name:<46} {_number(line.ours):>9} {other:>9}"
        rows.append(f"{shown}  {line.unit}{note}")
    return [head, "-" * len(head), *rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _machine() -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    vendors = ", ".join(f"{name} {version(name)}" for name in VENDORS)
    load = f"{os.getloadavg()[0]:.1f}"
    return [
        f"{platform.system()} {platform.machine()}, {cores} cores, load {load} at the end; "
        f"Python {platform.python_version()}",
        vendors,
    ]


if __name__ == "__main__":
    sys.exit(main())
