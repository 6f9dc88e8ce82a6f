"""A vector is bytes: little-endian float32 numbers of Euclidean norm 1; its name is a hash of them.

    similarity(a, b) = cosine(a, b) = dot(a, b)      because norm(a) = norm(b) = 1
    rid(vector)      = BLAKE2b-128(embedder fingerprint, 0, vector with every -0.0 written as 0.0)

An embedder may return anything; zeros, NaN or one vector too few are a failure of it, never data.
"""

import hashlib
from collections.abc import Sequence
from math import hypot, isfinite
from operator import mul
from struct import pack, unpack

from returns.result import Failure, Result, Success

TOLERANCE = 1e-3
"""How far a norm may lie from 1: rounding stays well below, a forgotten normalisation does not."""

_WIDTH = 4
_NEGATIVE_ZERO = pack("<f", -0.0)


def numbers(vector: bytes) -> tuple[float, ...]:
    """The numbers of a vector. Raises struct.error where the bytes are not a multiple of 4."""
    return unpack(f"<{len(vector) // _WIDTH}f", vector)


def check(vectors: Sequence[bytes], count: int, dim: int) -> Result[None, str]:
    """That these are `count` vectors of `dim` finite numbers and norm 1, or what is amiss, as a clause."""
    if len(vectors) != count:
        made, given = _several(len(vectors), "vector"), _several(count, "text")
        return Failure(f"the embedder returned {made} for {given}")
    for place, vector in enumerate(vectors, start=1):
        if fault := _fault(vector, dim):
            return Failure(f"the embedder returned vector {place} of {count} {fault}")
    return Success(None)


def _fault(vector: bytes, dim: int) -> str | None:
    if len(vector) % _WIDTH:
        return f"as {len(vector)} bytes, which are no float32 numbers"
    if len(vector) != dim * _WIDTH:
        return f"with {len(vector) // _WIDTH} dimensions, not {dim}"
    norm = hypot(*numbers(vector))
    if not isfinite(norm):
        return "with a number that is not finite"
    if norm == 0:
        return "as nothing but zeros"
    if abs(norm - 1) > TOLERANCE:
        return f"with norm {norm:.4g}, not 1"
    return None


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rid(fingerprint: str, vector: bytes) -> str:
    """The name of a vector of the embedder with this fingerprint: 32 hex digits, equal for equal numbers."""
    if _NEGATIVE_ZERO in vector:
        values = numbers(vector)
        vector = pack(f"<{len(values)}f", *(value + 0.0 for value in values))
    return hashlib.blake2b(fingerprint.encode() + b"\0" + vector, digest_size=16).hexdigest()


def dot(a: bytes, b: bytes) -> float:
    """Sum of products: the cosine similarity of vectors of norm 1. Raises ValueError on unequal lengths."""
    if len(a) != len(b):
        raise ValueError(f"vectors of {len(a)} and {len(b)} bytes have no dot product")
    return float(sum(map(mul, numbers(a), numbers(b))))
