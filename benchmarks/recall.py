"""What the index finds of what an exact scan finds: `python -m benchmarks.recall STORE`. Prints JSON.

recall   at 10, of the index and what is scanned beside it, when asked for as many as the library asks for, and for ten;
         over 200 stored vectors as questions, each with noise of a third of its length: near a passage, and none
ask      milliseconds of one question to the index, median;   scan   the same of the exact scan
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import mean, median

from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.stores.chroma import ChromaIndex
from rag_mcp.adapters.stores.exact import ExactScan
from rag_mcp.adapters.stores.private_copies import PrivateCopies
from rag_mcp.pure.tail import nearest
from rag_mcp.pure.view import EVERYTHING

K = 10
ASKED = 200
DEPTH = 50
"""Neighbours that the library asks for at first."""
NOISE = 1 / 3


def main(store: str) -> None:
    """Ask both, and print."""
    import numpy as np

    with SqliteReader(Path(store)).snapshot() as snapshot:
        pointer = snapshot.pointer()
        assert pointer and pointer.indexed.folder and pointer.indexed.evidence
        stored = list(snapshot.vectors(Random(5).sample(snapshot.passing_rids(EVERYTHING), ASKED)))
        exact = ExactScan(snapshot.vectors(None))
        tail = pointer.indexed.tail
        beside = ExactScan(snapshot.vectors(sorted(tail.came)))
    noise = np.random.default_rng(5)
    questions = []
    for _, vector in stored:
        near = np.frombuffer(vector, "<f4")
        added = noise.standard_normal(len(near))
        asked = near + NOISE * added / np.linalg.norm(added)
        questions.append((asked / np.linalg.norm(asked)).astype("<f4").tobytes())
    copies = PrivateCopies(Path(tempfile.mkdtemp()))
    index = ChromaIndex(str(Path(store, "index")), pointer.embedder.dim, copies)
    opened = index.open(pointer.indexed.folder, pointer.indexed.evidence).unwrap()

    def ask(question: bytes, n: int) -> Sequence[tuple[str, float]]:
        return nearest(opened.query(question, n + len(tail.went)), beside.query(question, n), tail, n)

    shares, tens, asks, scans = [], [], [], []
    for question in questions:
        began = time.perf_counter()
        found = ask(question, DEPTH)
        between = time.perf_counter()
        best = exact.query(question, K)
        scans.append(time.perf_counter() - between)
        asks.append(between - began)
        wanted = {rid for rid, _ in best}
        shares.append(len(wanted & {rid for rid, _ in found}) / K)
        tens.append(len(wanted & {rid for rid, _ in ask(question, K)}) / K)
    opened.close()
    index.close()
    print(
        json.dumps(
            {
                "recall": mean(shares),
                "recall_of_ten": mean(tens),
                "ask": 1e3 * median(asks),
                "scan": 1e3 * median(scans),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
