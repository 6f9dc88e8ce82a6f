"""A bag of hashed words: no model, no network, the same vector in every process and on every machine.

    for every word, lower-cased, h = BLAKE2b-64(word):   v[(h >> 1) mod dim] += 1 if h is odd else -1
    vector(text) = v / |v|

(The signed hashing trick, Weinberger et al. 2009.) It finds texts that share words and knows nothing of
meaning; it is for tests and for trying things out.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import hypot
from struct import pack

from rag_mcp.pure.identity import EmbedderIdentity

DIM = 384
MAX_TOKENS = 256
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"\w+|[^\w\s]")


class HashEmbedder:
    """The embedder named "hash"; questions and documents are embedded alike."""

    def __init__(self, dim: int = DIM) -> None:
        self._identity = EmbedderIdentity(
            name="hash",
            weights="",
            tokenizer="",
            dim=dim,
            pooling="sum",
            query_prefix="",
            document_prefix="",
            max_tokens=MAX_TOKENS,
        )

    @property
    def identity(self) -> EmbedderIdentity:
        """Its name and dimension."""
        return self._identity

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """Words and punctuation marks of each text."""
        return [len(TOKEN.findall(text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector for each text, in order."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """The vector of a text; a fixed one where its words are none, or cancel each other out."""
        dim = self._identity.dim
        sums = [0] * dim
        for h in hashes(text):
            sums[(h >> 1) % dim] += 1 if h & 1 else -1
        if not any(sums):
            sums[0] = 1
        norm = hypot(*sums)
        return pack(f"<{dim}f", *(value / norm for value in sums))


def hashes(text: str) -> Iterator[int]:
    """64-bit hashes of the words of a text, repetitions included."""
    return map(word_hash, WORD.findall(text.lower()))


@lru_cache(maxsize=65536)
def word_hash(word: str) -> int:
    """The 64-bit hash of a word, lone surrogates allowed."""
    data = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
