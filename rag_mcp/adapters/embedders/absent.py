"""A model that the store was made by and whose files are not here: what needs no vector works without it.

It signs with what the store says of it. Each call asks the model itself once more, so one that is put in its place is
used without a restart, unless it is another than the store's.
"""

from collections.abc import Sequence

from attrs import frozen

from rag_mcp.effects.ports import Embedder, EmbedderFault
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.shown import Shown


def present_or_absent(embedder: Embedder, stored: EmbedderIdentity) -> Embedder:
    """The embedder, or one that stands for it while it cannot say what it is."""
    try:
        _ = embedder.identity
    except EmbedderFault:
        return AbsentEmbedder(embedder, stored)
    return embedder


@frozen(repr=False)
class AbsentEmbedder(Shown):
    """`inner` under the identity that the store has of it; every call raises EmbedderFault while it is away."""

    inner: Embedder
    identity: EmbedderIdentity

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """Token counts, special tokens not included."""
        return self._found().measure(texts)

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector for each text, in order."""
        return self._found().embed(texts)

    def embed_query(self, text: str) -> bytes:
        """The vector of a question."""
        return self._found().embed_query(text)

    def _found(self) -> Embedder:
        if self.inner.identity.fingerprint != self.identity.fingerprint:
            raise EmbedderFault(
                f"model {self.identity.name} is not the one that the store was made by; to embed everything anew,"
                " open the store again and ingest"
            )
        return self.inner
