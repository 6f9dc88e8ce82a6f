"""Warm searches in one process, and the bare parts of one: `python -m benchmarks.warm_search DATA CORPUS STORE NUMBER`.

Prints JSON, medians in milliseconds: hybrid, semantic, keyword and tenth (hybrid, filtered to the hand-over notes) of
the library, k = 5; and of the bare parts embedding, chroma (5 neighbours) and fts5 (the product's own query for the
words of a question, ids only). Each question goes through all of them before the next.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

from benchmarks import corpora
from rag_mcp import Index
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder
from rag_mcp.adapters.record.reader import SqliteReader
from rag_mcp.adapters.stores.chroma_client import Collection
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.view import View
from rag_mcp.pure.words import looked_for

K = 5
WARMING = 10


def main(data: str, corpus: str, store: str, number: int) -> None:
    """Ask, and print the medians."""
    asked = Random(11).sample(corpora.questions(Path(data)), number + WARMING)
    embedder, policy = OnnxEmbedder(), SearchPolicy()
    (generation,) = (path for path in Path(store, "index").glob("gen-*") if path.is_dir())
    with tempfile.TemporaryDirectory() as place, Index.open(corpus, store=store) as index:
        shutil.copytree(generation, Path(place, "copy"))
        records = Collection(Path(place, "copy"))
        with SqliteReader(Path(store)).snapshot() as snapshot:
            parts: dict[str, Callable[[str], object]] = {
                "embedding": embedder.embed_query,
                "chroma": lambda question: records.nearest(vectors[question], K),
                "fts5": lambda question: snapshot.keywords(looked_for(question), policy.words, View(), policy.common),
                "hybrid": lambda question: index.search(question, K),
                "semantic": lambda question: index.search(question, K, mode="semantic"),
                "keyword": lambda question: index.search(question, K, mode="keyword"),
                "tenth": lambda question: index.search(question, K, "handoff"),
            }
            vectors = {question: embedder.embed_query(question) for question in asked}
            took: dict[str, list[float]] = {name: [] for name in parts}
            for turn, question in enumerate(asked):
                for name in sorted(parts, reverse=bool(turn % 2)):
                    began = time.perf_counter()
                    parts[name](question)
                    took[name].append(1e3 * (time.perf_counter() - began))
    print(json.dumps({name: median(several[WARMING:]) for name, several in took.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
