"""An ingest by one engine, as a program: `python -m benchmarks.engine_share ENGINE CORPUS STORE`.

Prints JSON: texts, wall and cpu seconds of all of it from `Index.open` on, and how many of them passed inside the
model's run. That share says how near an ingest is to the bare engine, whatever else the machine is doing meanwhile:
both sides meet the same load.
"""

import json
import resource
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Any

from rag_mcp import Index
from rag_mcp.adapters.embedders import engines

ENGINES: dict[str, type[Any]] = {"onnxruntime": engines.OnnxRuntime, "openvino": engines.OpenVino}


def main(engine: str, corpus: str, store: str) -> None:
    """Ingest, and print."""
    inside, lock = [0.0], Lock()
    hidden = ENGINES[engine].hidden

    def timed(self: Any, given: Any) -> Any:
        began = time.perf_counter()
        found = hidden(self, given)
        with lock:
            inside[0] += time.perf_counter() - began
        return found

    ENGINES[engine].hidden = timed
    began, before = time.perf_counter(), _cpu()
    with Index.open(Path(corpus), store=Path(store), engine=engine) as index:
        texts = index.ingest().texts_embedded
    wall, cpu = time.perf_counter() - began, _cpu() - before
    print(json.dumps({"texts": texts, "wall": wall, "cpu": cpu, "inside": inside[0]}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:4])
