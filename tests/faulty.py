"""Embedders that go wrong: a HashEmbedder until its n-th batch, then one of the faults below."""

import os
import signal
from collections.abc import Callable, Sequence
from struct import pack

from attrs import define, field

from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.ports import Embedder, EmbedderFault
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.vectors import numbers


def raises(vectors: Sequence[bytes]) -> Sequence[bytes]:
    raise EmbedderFault("the model ran out of memory")


def dies(vectors: Sequence[bytes]) -> Sequence[bytes]:
    os.kill(os.getpid(), signal.SIGKILL)
    return vectors


def one_too_few(vectors: Sequence[bytes]) -> Sequence[bytes]:
    return vectors[:-1]


def wrong_dimension(vectors: Sequence[bytes]) -> Sequence[bytes]:
    return [*vectors[:-1], vectors[-1][:-4]]


def zeros(vectors: Sequence[bytes]) -> Sequence[bytes]:
    return [*vectors[:-1], bytes(len(vectors[-1]))]


def not_a_number(vectors: Sequence[bytes]) -> Sequence[bytes]:
    return [*vectors[:-1], pack("<f", float("nan")) + vectors[-1][4:]]


def not_unit_length(vectors: Sequence[bytes]) -> Sequence[bytes]:
    return [*vectors[:-1], pack(f"<{len(vectors[-1]) // 4}f", *(2 * x for x in numbers(vectors[-1])))]


RETURNED = (one_too_few, wrong_dimension, zeros, not_a_number, not_unit_length)
"""Faults of what is returned, in the last vector of the batch."""
REPORTED = (raises, *RETURNED)
"""Faults after which the process lives."""


@define
class Faulty:
    """`inner`, except that batch number `at` (from 1), and every later one if `lasting`, has the fault.

    Questions are batches of one that are not counted; all of them have the fault if `questions`.
    """

    fault: Callable[[Sequence[bytes]], Sequence[bytes]]
    at: int = 1
    lasting: bool = True
    questions: bool = False
    inner: Embedder = field(factory=HashEmbedder)
    batches: int = 0
    """How many were asked for so far."""

    @property
    def identity(self) -> EmbedderIdentity:
        return self.inner.identity

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        return self.inner.measure(texts)

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        self.batches += 1
        vectors = self.inner.embed(texts)
        struck = self.batches >= self.at if self.lasting else self.batches == self.at
        return self.fault(vectors) if struck else vectors

    def embed_query(self, text: str) -> bytes:
        vector = self.inner.embed_query(text)
        return b"".join(self.fault([vector])) if self.questions else vector
