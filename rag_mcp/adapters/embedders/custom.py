"""Anything that turns texts into numbers, as an embedder.

    class Mine:
        dim = 3
        query_prefix = "query: "                      # optional
        def __call__(self, texts): return [[1.0, 0.0, 0.0] for _ in texts]

Its vectors are passed on as they come. They must be one for each text, of `dim` numbers and of norm 1; that
is checked by whoever stores them, so nothing is mended here.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from struct import pack
from typing import Protocol

from attrs import frozen

from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.shown import Shown

MAX_TOKENS = 256
CHARACTERS_A_TOKEN = 3
"""English prose has about four; code and other languages have fewer, and a window must not be overrun."""


class TextsToNumbers(Protocol):
    """What is adapted. An optional attribute `query_prefix` (str) is put in front of questions."""

    @property
    def dim(self) -> int:
        """Numbers in each vector."""

    def __call__(self, texts: list[str], /) -> Iterable[Iterable[float]]:
        """One vector of norm 1 for each text, in order."""


def adapt(fake: TextsToNumbers, name: str) -> "CustomEmbedder":
    """An embedder that asks `fake`, known by name, dim and query prefix. Raises TypeError on a bad one."""
    dim: object = fake.dim
    prefix: object = getattr(fake, "query_prefix", "")
    if not isinstance(dim, int) or isinstance(dim, bool) or dim < 1:
        raise TypeError(f"embedder {name}: dim must be a positive integer, not {dim!r}")
    if not isinstance(prefix, str):
        raise TypeError(f"embedder {name}: query_prefix must be a string, not {prefix!r}")
    identity = EmbedderIdentity(
        name=name,
        weights="",
        tokenizer="",
        dim=dim,
        pooling="",
        query_prefix=prefix,
        document_prefix="",
        max_tokens=MAX_TOKENS,
    )
    return CustomEmbedder(fake, identity)


@frozen(repr=False)
class CustomEmbedder(Shown):
    """An embedder over a callable; `embed` and `embed_query` raise EmbedderFault where it raises."""

    ask: TextsToNumbers
    identity: EmbedderIdentity

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """An estimate: a token for every 3 characters begun, and no fewer than there are words."""
        return [max(ceil(len(text) / CHARACTERS_A_TOKEN), len(text.split())) for text in texts]

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """What it returns for these texts, as float32 bytes; counts and lengths as they come."""
        return self._vectors(list(texts))

    def embed_query(self, text: str) -> bytes:
        """What it returns for a question with the prefix in front."""
        vectors = self._vectors([self.identity.query_prefix + text])
        if len(vectors) != 1:
            raise EmbedderFault(f"embedder {self.identity.name} returned {len(vectors)} vectors for 1 text")
        return vectors[0]

    def _vectors(self, texts: list[str]) -> list[bytes]:
        try:
            return [float32(vector) for vector in self.ask(texts)]
        except Exception as error:
            what = f"embedder {self.identity.name} raised {type(error).__name__}"
            raise EmbedderFault(f"{what} ({error})" if str(error) else what) from error


def float32(vector: Iterable[float]) -> bytes:
    """Numbers as little-endian float32. Raises TypeError, ValueError or OverflowError on what are none."""
    numbers = [float(number) for number in vector]
    return pack(f"<{len(numbers)}f", *numbers)
