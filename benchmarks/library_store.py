"""Makes a store of many files quickly, for the quiet run: `python -m benchmarks.library_store CORPUS STORE`.

The store says that the default embedder made it, and is cut by its tokenizer, so a later run takes the default's
path with all its imports. Its vectors are hashed words: a quiet run counts vectors and never looks into one. Only the
first passage, in a file that is added, has its real vector: a run that embeds something embeds that one again before.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rag_mcp import Index
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.embedders.models import MINILM
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

REAL = "Embedded by the model"


class Quick(OnnxEmbedder):
    """The default embedder in all but its vectors."""

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Vectors of hashed words."""
        hashed = HashEmbedder(MINILM.dim).embed(texts)
        return [
            super(Quick, self).embed([text])[0] if REAL in text else vector
            for text, vector in zip(texts, hashed, strict=True)
        ]


if __name__ == "__main__":
    Path(sys.argv[1], "0.md").write_text(f"# {REAL}\n\nThis is the first passage of the store.\n", encoding="utf-8")
    with Index.open(sys.argv[1], store=sys.argv[2], embedder=Quick()) as index:
        print(index.ingest().texts_embedded)
