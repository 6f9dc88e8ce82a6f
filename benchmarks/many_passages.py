"""Makes a store of very many passages, quickly enough: `python -m benchmarks.many_passages DATA CORPUS STORE PASSAGES`.

The words are those of the real sets in DATA in their order, cut into sections without regard to sense; every tenth file
is a hand-over note. The vectors are drawn at random on the unit sphere, and the store says that the default embedder
made them. So a server searches it with the default embedder, and a question is embedded by the real model. Only the
first passage has its real vector: a server embeds that one again, to see whose vectors these are.
Random vectors are the hardest that a graph can be asked: no neighbourhood is better than another.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks import corpora
from benchmarks.library_store import REAL
from rag_mcp import Index
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

SECTIONS = 50
HANDOFF = "---\ntype: handoff\n---\n\n"


class Synthetic(OnnxEmbedder):
    """The default embedder in all but the vectors of documents, which are random, the same in every run."""

    def __init__(self) -> None:
        import numpy as np

        super().__init__()
        self._random = np.random.default_rng(7)

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Points on the unit sphere."""
        import numpy as np

        points = self._random.standard_normal((len(texts), self.identity.dim))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return [
            super(Synthetic, self).embed([text])[0] if REAL in text else point.astype("<f4").tobytes()
            for text, point in zip(texts, points, strict=True)
        ]


def write(corpus: Path, passages: int, words: Iterator[str]) -> None:
    """Files of SECTIONS sections, each a passage of 60 words."""
    for file in range(-(-passages // SECTIONS)):
        sections = [
            f"## {'Section' if file or number else REAL} {number}\n\n{' '.join(islice(words, 60))}\n"
            for number in range(min(SECTIONS, passages - file * SECTIONS))
        ]
        front = "" if file % 10 else HANDOFF
        place = corpus / f"part{file % 20:02}" / f"page{file:04}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(front + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[2]), int(sys.argv[4]), corpora.words(Path(sys.argv[1])))
    with Index.open(sys.argv[2], store=sys.argv[3], embedder=Synthetic()) as index:
        print(index.ingest().texts_embedded)
