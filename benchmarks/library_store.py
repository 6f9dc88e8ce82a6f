"""Makes a store of many files quickly, for the quiet run: `python -m benchmarks.library_store CORPUS STORE`.

The store says that the default embedder made it, and is cut by its tokenizer, so a later run takes the default's
path with all its imports. Its vectors are hashed words: a quiet run counts vectors and never looks into one.
"""

import sys
from collections.abc import Sequence

from rag_mcp import Index
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.embedders.models import MINILM
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder


class Quick(OnnxEmbedder):
    """The default embedder in all but its vectors."""

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Vectors of hashed words."""
        return HashEmbedder(MINILM.dim).embed(texts)


if __name__ == "__main__":
    with Index.open(sys.argv[1], store=sys.argv[2], embedder=Quick()) as index:
        print(index.ingest().texts_embedded)
