"""Where exceptions of the world become failure values, and nowhere else.

Adapters raise a handful of named exceptions; whatever else comes through is a bug and stays one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from returns.result import Failure as Failed
from returns.result import Result

if TYPE_CHECKING:  # most runs fail in no way
    from rag_mcp.pure.errors import Failure, StoreUnreachable

T = TypeVar("T")


class Refused(Exception):
    """An expected failure on its way to the caller of the library; `failure` is the value."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@contextmanager
def store_faults(store: str) -> Iterator[None]:
    """What a store may do to its caller, as Refused."""
    from rag_mcp.effects.record import RecordDamaged, RecordForeign, RecordUnavailable

    try:
        yield
    except FileNotFoundError as error:
        from rag_mcp.pure.errors import StoreMissing

        raise Refused(StoreMissing(store)) from error
    except (RecordDamaged, RecordForeign, RecordUnavailable) as error:
        raise Refused(_unreachable(store, str(error))) from error
    except PermissionError as error:
        raise Refused(_unreachable(store, error.strerror or "permission denied")) from error
    except OSError as error:
        raise Refused(_unreachable(store, error.strerror or str(error))) from error


def _unreachable(store: str, why: str) -> StoreUnreachable:
    from rag_mcp.pure.errors import StoreUnreachable

    return StoreUnreachable(store, why)


def value(result: Result[T, Failure]) -> T:
    """What a result holds. Raises Refused where it is a failure."""
    if isinstance(result, Failed):
        raise Refused(result.failure())
    return result.unwrap()
