"""An embedder that is a service: what is the same whichever dialect it speaks.

    identity   the model's digest, where the service tells it; the dimension from settings, from the store, or asked for
    embed      vectors are scaled to norm 1, and given on only if the model is still the one of the identity

While a service is away, the store it was used for can still be read: the identity is what the store remembers.
`confirm` asks again before anything is planned or written by it.
"""

import threading
from collections.abc import Sequence
from math import hypot, isfinite
from struct import error as StructError  # noqa: N812
from struct import pack
from typing import Any, Protocol

from rag_mcp.adapters.embedders.calls import DOCUMENTS, QUESTION, QUICK, Caller, Patience, Refusal
from rag_mcp.adapters.embedders.ollama import Ollama
from rag_mcp.adapters.embedders.openai_compatible import OpenAI
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.services import DIM, Service
from rag_mcp.pure.tokens import ESTIMATE, estimated

AT_ONCE = 32
"""Texts in one request: what the most modest of the services takes."""


class Dialect(Protocol):
    """How a service is asked. Raises EmbedderFault."""

    def digest(self, patience: Patience) -> str:
        """What stands for the model's state; "" where the service does not tell."""

    def vectors(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[Any]]:
        """One list of numbers for each text, in order, as the service sent them; Refusal with `for_length`."""


def connected(service: Service, remembered: EmbedderIdentity | None = None, caller: Caller | None = None) -> "Remote":
    """The embedder of a service; `remembered` is what the store was made by. Asks nobody yet."""
    asked = caller or Caller(service)
    dialect: Dialect = Ollama(service, asked) if service.dialect == "ollama" else OpenAI(service, asked)
    known = remembered if remembered and remembered.name == service.name else None
    return Remote(service, dialect, asked, known)


class Remote:
    """The embedder of one service; safe to use from several threads. Every method raises EmbedderFault."""

    def __init__(self, service: Service, dialect: Dialect, caller: Caller, remembered: EmbedderIdentity | None) -> None:
        self._service = service
        self._dialect = dialect
        self._caller = caller
        self._remembered = remembered
        self._lock = threading.RLock()
        self._identity: EmbedderIdentity | None = None

    @property
    def warning(self) -> str | None:
        """What to say before texts are sent away; None where they stay on this machine."""
        return self._service.warning

    @property
    def identity(self) -> EmbedderIdentity:
        """Asked for once; what the store remembers while the service does not answer."""
        with self._lock:
            if self._identity is None:
                self._identify(doubt=self._remembered is not None)
            assert self._identity is not None
            return self._identity

    def confirm(self) -> None:
        """Make sure that the identity is what the service has now, however long ago it was asked last."""
        with self._lock:
            self._remembered = self._identity or self._remembered
            self._identify(doubt=False)

    def close(self) -> None:
        """Let the connection go; the next request makes another. Idempotent."""
        self._caller.close()

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """An estimate that leans to too many; see `rag_mcp.pure.tokens`."""
        return estimated(texts)

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector for each text, in order; a text that is too long is refused and never cut."""
        prefix = self.identity.document_prefix
        made: list[bytes] = []
        for start in range(0, len(texts), AT_ONCE):
            made += self._vectors([prefix + text for text in texts[start : start + AT_ONCE]], start, DOCUMENTS)
        return made

    def embed_query(self, text: str) -> bytes:
        """The vector of a question."""
        return self._vectors([self.identity.query_prefix + text], 0, QUESTION)[0]

    def _vectors(self, texts: list[str], start: int, patience: Patience) -> list[bytes]:
        """Vectors of some texts, the first of which stands at `start` among those that were given."""
        identity = self.identity
        try:
            given = self._dialect.vectors(texts, patience)
        except Refusal as refusal:
            if not refusal.for_length:
                raise
            if len(texts) > 1:  # which of them it is, only asking one by one can tell
                return [self._vectors([text], start + at, patience)[0] for at, text in enumerate(texts)]
            tokens = estimated(texts)[0]
            why = f"a passage of {len(texts[0])} characters (about {tokens} tokens) is too long for it: {refusal}"
            raise EmbedderFault(why, place=start) from None
        if len(given) != len(texts):
            raise EmbedderFault(f"{self._service.url} returned {len(given)} vectors for {len(texts)} texts")
        vectors = [self._unit(vector) for vector in given]
        for vector in given:
            if len(vector) != identity.dim:
                raise EmbedderFault(
                    f"{self._service.url} returned {len(vector)} dimensions, not {identity.dim}; {DIM} names the number"
                )
        self._still(identity, patience)
        return vectors

    def _unit(self, vector: Sequence[Any]) -> bytes:
        """The vector at norm 1; what has none (zeros, not finite) is left for the check of whoever stores it."""
        try:
            norm = hypot(*vector)
            scaled = [number / norm for number in vector] if isfinite(norm) and norm else vector
            return pack(f"<{len(vector)}f", *scaled)
        except (TypeError, OverflowError, StructError):
            raise EmbedderFault(f"{self._service.url} returned a vector of something else than numbers") from None

    def _still(self, identity: EmbedderIdentity, patience: Patience) -> None:
        """Raise unless the model is the one of the identity: somebody may have pulled another meanwhile."""
        digest = self._dialect.digest(patience)
        with self._lock:
            if digest == identity.weights:
                return
            self._remembered, self._identity = identity, None
        raise EmbedderFault(
            f"model {self._service.model} at {self._service.url} is not the one it was"
            f" ({identity.weights[:12]} then, {digest[:12]} now); nothing of it was kept; run again"
        )

    def _identify(self, *, doubt: bool) -> None:
        """Ask what the model is; where `doubt` will do and nobody answers, what the store remembers."""
        service, known = self._service, self._remembered
        try:
            digest = self._dialect.digest(QUICK)
        except EmbedderFault:
            if not doubt or known is None:
                raise
            digest = known.weights
        same = known is not None and known.weights == digest
        dim = service.dim or (known.dim if known and same else None) or self._probed()
        self._identity = self._made(digest, dim)

    def _probed(self) -> int:
        given = self._dialect.vectors([self._service.wants.query_prefix + "ready"], DOCUMENTS)
        if len(given) != 1 or not given[0]:
            raise EmbedderFault(f"{self._service.url} returned no vector for a text")
        return len(given[0])

    def _made(self, digest: str, dim: int) -> EmbedderIdentity:
        service = self._service
        return EmbedderIdentity(
            name=service.name,
            weights=digest,
            tokenizer=ESTIMATE,
            dim=dim,
            pooling="",
            query_prefix=service.wants.query_prefix,
            document_prefix=service.wants.document_prefix,
            max_tokens=service.max_tokens,
        )
