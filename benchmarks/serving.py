"""The server as a client meets it: how soon it answers, how quickly it searches, and how much at once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

from benchmarks.accounting import PYTHON
from benchmarks.pipes import DISCOVER, INITIALIZE, INITIALIZED, LIST, SERVER, Message, Piped, call, settings_of, started
from rag_mcp.pure.stages import SearchPolicy

T = TypeVar("T")
K = 5
DEPTH = SearchPolicy().depth
"""Neighbours that the library asks of the index for K passages: one text may stand in many places."""
AT_ONCE = 8
BARE = (PYTHON, str(Path(__file__).with_name("bare_server.py")))
FIRST = {"initialize": INITIALIZE, "tools/list": LIST, "server/discover": DISCOVER}


@dataclass(frozen=True)
class Start:
    """Seconds until the first request was answered: on the clock, and of the processor."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Searches:
    """Seconds of one search, medians: ours, the floors of K and of DEPTH neighbours, ours of the processor.

    `rates`: searches per second, by the number under way at once; medians of rounds in turn.
    """

    ours: float
    floor: float
    deep_floor: float
    cpu: float
    rates: Mapping[int, float]


def starts(corpus: Path, store: Path, rounds: int) -> Iterator[tuple[str, Start, Start]]:
    """For each first request of a client its name, ours, and a bare server's: medians of interleaved pairs."""
    for name, first in FIRST.items():
        ours = partial(_start, first, SERVER, settings_of(corpus, store))
        several = in_turn(rounds, {"bare": partial(_start, first, BARE), "ours": ours})
        yield name, _middle(several["ours"]), _middle(several["bare"])


def first_and_later(corpus: Path, store: Path, rounds: int, asked: Sequence[str]) -> tuple[float, float]:
    """Seconds of the first search after a warm-up that nobody disturbed, and of those after it: medians."""
    firsts, laters = [], []
    for turn in range(rounds):
        with serving(corpus, store) as server:
            first, *later = (timed(server.ask, call(question, K))[0] for question in Random(turn).sample(asked, 20))
            firsts.append(first)
            laters.append(median(later))
    return median(firsts), median(laters)


def searches(corpus: Path, store: Path, copies: Path, asked: Sequence[str]) -> Searches:
    """Warm searches of one server, each followed by the same question to both floors; the first five warm up."""
    (generation,) = (path for path in (store / "index").glob("gen-*") if path.is_dir())
    bare = [
        (PYTHON, "-m", "benchmarks.bare_search", str(generation), str(copies / f"of-{n}"), str(n)) for n in (K, DEPTH)
    ]
    took = []
    with serving(corpus, store) as server, started(*bare[0]) as floor, started(*bare[1]) as deep:
        for question in asked:
            before = server.cpu()
            ours, found = timed(server.ask, call(question, K))
            spent = server.cpu() - before
            assert found["structuredContent"]["count"] == K and "degraded" not in found["structuredContent"], found
            took.append((ours, _floor(floor, question), _floor(deep, question), spent))
        rates = in_turn(5, {n: partial(_rate, server, n, asked) for n in (1, AT_ONCE)})
    ours, least, most, cpu = (median(column) for column in zip(*took[5:], strict=True))
    return Searches(ours, least, most, cpu, {n: median(several) for n, several in rates.items()})


@contextmanager
def serving(corpus: Path, store: Path) -> Iterator[Piped]:
    """Our server, which has shaken hands and been left alone until it had no more to do."""
    with started(*SERVER, settings=settings_of(corpus, store)) as server:
        server.ask(INITIALIZE)
        server.send(INITIALIZED)
        spent, quiet = 0.0, 0
        while quiet < 5:
            time.sleep(0.2)
            now = server.cpu()
            quiet = quiet + 1 if now - spent < 0.01 else 0
            spent = now
        yield server


def in_turn(rounds: int, measures: Mapping[Any, Callable[[], T]]) -> dict[Any, list[T]]:
    """What each gave in every round but a first, which warms up; who begins changes from round to round."""
    gave: dict[Any, list[T]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name in sorted(measures, reverse=bool(turn % 2)):
            value = measures[name]()
            if turn:
                gave[name].append(value)
    return gave


def timed(work: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    """Seconds that it took, and what it gave."""
    began = time.perf_counter()
    value = work(*arguments)
    return time.perf_counter() - began, value


def _start(first: Message, command: Sequence[str], settings: Mapping[str, str] | None = None) -> Start:
    began = time.perf_counter()
    with started(*command, settings=settings) as server:
        server.ask(first)
        return Start(time.perf_counter() - began, server.cpu())


def _middle(several: Sequence[Start]) -> Start:
    return Start(median(start.wall for start in several), median(start.cpu for start in several))


def _floor(bare: Piped, question: str) -> float:
    bare.send({"question": question})
    return float(bare.receive())


def _rate(server: Piped, at_once: int, asked: Sequence[str]) -> float:
    """Searches per second with so many under way."""
    waiting = list(asked)
    began = time.perf_counter()
    under_way = {server.request(call(waiting.pop(), K)) for _ in range(at_once)}
    while under_way:
        answer = server.receive()
        if answer.get("id") in under_way:
            assert answer["result"]["structuredContent"]["ok"], answer
            under_way.remove(answer["id"])
            if waiting:
                under_way.add(server.request(call(waiting.pop(), K)))
    return len(asked) / (time.perf_counter() - began)
