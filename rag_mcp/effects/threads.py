"""Work beside other work, in threads."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Run `work` in a thread while the block runs; what is given waits for its outcome, or raises it."""
    thread, outcome = begun(work, "beside", daemon=True)
    try:
        yield outcome.result
    finally:
        thread.join()


def begun(work: Callable[[], T], name: str, *, daemon: bool) -> "tuple[threading.Thread, Future[T]]":
    """A thread that does `work`, and what comes of it. An interpreter that ends waits for it if it is no `daemon`."""
    from concurrent.futures import Future

    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=daemon)
    thread.start()
    return thread, outcome


def in_turn(items: Iterable[I], work: Callable[[I], T], at_once: int) -> Iterator[tuple[I, T]]:
    """Each item with what `work` makes of it, in their order.

    While the caller is busy with one, `at_once` more are worked on in threads, and one waits; with 0 nothing is worked
    on but what the caller waits for. What was not begun when the caller stops is never begun.
    """
    if at_once < 1:
        yield from ((item, work(item)) for item in items)
        return
    from concurrent.futures import ThreadPoolExecutor

    under_way: deque[tuple[I, Future[T]]] = deque()
    with ThreadPoolExecutor(at_once, "beside") as pool:
        try:
            for item in items:
                under_way.append((item, pool.submit(work, item)))
                if len(under_way) > at_once + 1:
                    first, made = under_way.popleft()
                    yield first, made.result()
            while under_way:
                first, made = under_way.popleft()
                yield first, made.result()
        finally:
            for _, made in under_way:
                made.cancel()
