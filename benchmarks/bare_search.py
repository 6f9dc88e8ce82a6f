"""The floor of a search, as a program: the question embedded, and one query of Chroma for as many passages.

`python -m benchmarks.bare_search GENERATION COPY K`: copies the generation's folder, since Chroma writes into what
it opens, loads model and collection, and for each question, a line of JSON, prints the seconds that it took.
"""

import json
import shutil
import sys
import time
from pathlib import Path

from rag_mcp.adapters.embedders.onnx import OnnxEmbedder
from rag_mcp.adapters.stores.chroma_client import Collection


def main(generation: str, copy: str, k: int) -> None:
    """Answer until standard input ends."""
    shutil.copytree(generation, copy)
    embedder, records = OnnxEmbedder(), Collection(Path(copy))
    for line in sys.stdin:
        question = json.loads(line)["question"]
        began = time.perf_counter()
        records.nearest(embedder.embed_query(question), k)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
