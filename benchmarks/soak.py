"""Thousands of calls while the store is edited, pruned and cleaned: `python -m benchmarks.soak [--calls 5000]`.

Three servers of one store answer at the same time: to an SDK client of each era, and over raw pipes with broken
frames among the rest. They are asked a mixture of good, bad and cancelled calls, several under way. Meanwhile files
are edited, removed and brought back, and `rag-mcp ingest` makes one generation after another, every fifth with
`--clean`, some with `--full`.

Every answer is judged (`soak_world`). What is no answer must be an error of the reply's shape that the call deserves,
of the store only while it is cleaned, or the protocol error that the call deserves. The command ends with 1 unless
nobody crashed, no answer was wrong, no protocol error was undeserved, and no server's memory, by medians, grew by a
tenth between the first and the last tenth of the calls after WARM. Linux only: memory is read from /proc.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.accounting import LIBRARY, ROOT
from benchmarks.pipes import Message
from benchmarks.soak_clients import Refusal, raw_client, sdk_client
from benchmarks.soak_world import PAGES, World, path_of

WORKERS = 4
"""Calls under way at each server."""
WARM = 500
GROWTH = 0.10
PATIENCE = 60
TOOL = "search_knowledge"
STORE_ERRORS = ("store_missing", "empty_store", "store_unreachable", "warming_up")
BAD: tuple[tuple[Message, str], ...] = (
    ({"query": "  "}, "invalid_query"),
    ({"query": "why " * 1500}, "invalid_query"),
    ({}, "invalid_query"),
    ({"query": 7}, "invalid_query"),
    ({"query": "tide", "doc_class": "diary"}, "invalid_doc_class"),
)


@dataclass
class Tally:
    """What came of all the calls. `memory` and `files` hold (calls made so far, value) of each server."""

    calls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    files: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    ingests: Counter[str] = field(default_factory=Counter)
    unreachable: Counter[str] = field(default_factory=Counter)
    cleaned: float = 0
    """When the last run with --clean was over (of time.monotonic); while one is under way, for ever."""
    over: bool = False


class Caller:
    """Calls one server until enough calls were made by all, and judges what comes back."""

    def __init__(self, name: str, client: Any, world: World, tally: Tally, calls: int, pause: float) -> None:
        self._name, self._client, self._world, self._tally = name, client, world, tally
        self._calls, self._pause = calls, pause

    async def work(self, seed: int) -> None:
        """One worker: one call after another, of all kinds, with pauses of random length."""
        chance = random.Random(f"{self._name} {seed}")
        kinds = (self._good, self._bad, self._cancelled, self._read, self._unknown)
        while self._tally.calls < self._calls:
            self._tally.calls += 1
            (kind,) = chance.choices(kinds, weights=(60, 12, 15, 8, 5))
            try:
                async with asyncio.timeout(PATIENCE):
                    await kind(chance)
            except Refusal as refusal:
                self._wrong(f"protocol error {refusal.code}: {refusal}")
            except TimeoutError:
                self._wrong(f"no answer within {PATIENCE} s ({kind.__name__})")
            await asyncio.sleep(chance.expovariate(1 / self._pause) if self._pause else 0)

    async def _good(self, chance: random.Random) -> None:
        arguments: Message = {
            "query": self._world.question(chance),
            "k": chance.choice([1, 3, 5, 12, 20, "7", 1e9, None]),
        }
        if chance.random() < 0.2:
            arguments["doc_class"] = "note"
        began = time.monotonic()
        result = await self._client.search(TOOL, arguments)
        shape = self._shape(result)
        if shape["ok"]:
            self._tally.kinds["answered, degraded" if "degraded" in shape else "answered"] += 1
            for fault in self._world.faults(shape["results"], began, time.monotonic()):
                self._wrong(fault)
            if not shape["results"]:
                self._wrong("an answer without passages")
        else:
            kind = shape["error"]["type"]
            self._tally.kinds[f"error {kind}"] += 1
            if kind == "store_unreachable":
                self._tally.unreachable[shape["error"]["message"].partition("(")[2].rpartition(")")[0]] += 1
            if kind not in STORE_ERRORS or "unexpected" in shape["error"]["message"] or self._tally.cleaned < began:
                self._wrong(f"{arguments} was answered with {shape['error']}")

    async def _bad(self, chance: random.Random) -> None:
        arguments, expected = chance.choice(BAD)
        shape = self._shape(await self._client.search(TOOL, arguments))
        self._tally.kinds["bad"] += 1
        if shape["ok"] or shape["error"]["type"] != expected:
            self._wrong(f"{expected} was expected, not {str(shape)[:200]}")

    async def _cancelled(self, chance: random.Random) -> None:
        await self._client.disturb(chance)
        self._tally.kinds["cancelled"] += 1
        call = asyncio.ensure_future(self._client.search(TOOL, {"query": self._world.question(chance)}))
        await asyncio.wait([call], timeout=chance.choice([0, 0.001, 0.005, 0.02]))
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    async def _read(self, chance: random.Random) -> None:
        page, first = chance.randrange(PAGES), chance.randrange(1, 80)
        began = time.monotonic()
        try:
            text = await self._client.read(f"rag://{path_of(page)}?lines={first}-{first + 9}")
        except Refusal as refusal:
            self._tally.kinds["read, refused"] += 1
            if path_of(page) not in str(refusal) and "store" not in str(refusal):
                self._wrong(f"{path_of(page)} was refused with {refusal.code}: {refusal}")
            return
        self._tally.kinds["read"] += 1
        if text not in self._world.reads(page, first, first + 9, began, time.monotonic()):
            self._wrong(f"{path_of(page)}?lines={first}-{first + 9} never was {text[:100]!r}")

    async def _unknown(self, chance: random.Random) -> None:
        self._tally.kinds["unknown tool or argument"] += 1
        if chance.random() < 0.5:
            result = await self._client.search(TOOL, {"query": "tide", "colour": "blue"})
            if not result["isError"] or "colour" not in result["text"]:
                self._wrong(f"an unknown argument was answered with {str(result)[:200]}")
            return
        try:
            self._wrong(f"an unknown tool was answered with {await self._client.search('forget', {})}")
        except Refusal as refusal:
            if refusal.code != -32602:
                raise

    def _shape(self, result: Message) -> Message:
        shape: Message = result["structuredContent"]
        if json.loads(result["text"]) != shape or result["isError"] is shape["ok"]:
            self._wrong("text and structure differ")
        return shape

    def _wrong(self, what: str) -> None:
        self._tally.wrong.append(f"{self._name}: {what}")


class Ingests:
    """`rag-mcp ingest`, one generation after another."""

    def __init__(self, world: World, store: Path, environ: dict[str, str], tally: Tally) -> None:
        self._world, self._store, self._environ, self._tally = world, store, environ, tally

    async def one(self, *flags: str) -> None:
        """One run over what the corpus is now."""
        self._world.settle(clean="--clean" in flags, everything="--full" in flags)
        self._tally.ingests[" ".join(flags) or "plain"] += 1
        if "--clean" in flags:
            self._tally.cleaned = float("inf")
        command = [*LIBRARY, "ingest", str(self._world.root), "--db", str(self._store), "--embedder", "hash"]
        process = await asyncio.create_subprocess_exec(
            *command, "--quiet", "--allow-prune", "all", *flags,
            cwd=ROOT, env=self._environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, said = await process.communicate()
        self._tally.cleaned = min(self._tally.cleaned, time.monotonic())
        if process.returncode:
            self._tally.wrong.append(f"ingest {flags} ended with {process.returncode}: {said.decode()[-300:]}")

    async def forever(self) -> None:
        """Change the corpus and ingest it, until the calls are over."""
        chance = random.Random(11)
        number = 0
        while not self._tally.over:
            number += 1
            self._world.change()
            await self.one(*(["--clean"] if number % 5 == 0 else ["--full"] if chance.random() < 0.1 else []))
            await asyncio.sleep(chance.random())


async def watch(name: str, pid: int, tally: Tally) -> None:
    """Note memory, in MB, and open files of a server, again and again."""
    memory, files = tally.memory.setdefault(name, []), tally.files.setdefault(name, [])
    page = os.sysconf("SC_PAGE_SIZE") / 1e6
    while not tally.over:
        memory.append((tally.calls, int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page))
        files.append((tally.calls, len(os.listdir(f"/proc/{pid}/fd"))))
        await asyncio.sleep(0.25)


async def soak(work: Path, calls: int, pause: float) -> Tally:
    """All of it, in an empty folder."""
    tally, home = Tally(), work / "home"
    home.mkdir()
    (work / "tmp").mkdir()
    world, store = World(work / "corpus", seed=5), work / "store"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_MCP_", "XDG_"))}
    environ = {**kept, "HOME": str(home), "TMPDIR": str(work / "tmp")}
    settings = {**environ, "RAG_MCP_CORPUS_ROOT": str(world.root), "RAG_MCP_DB_PATH": str(store)}
    runs = Ingests(world, store, environ, tally)
    await runs.one()
    async with (
        sdk_client("legacy", settings, work) as (old, old_pid),
        sdk_client("2026-07-28", settings, work) as (new, new_pid),
        raw_client(settings, work, tally.wrong) as (raw, raw_pid),
    ):
        servers = {"SDK, legacy": (old, old_pid), "SDK, 2026-07-28": (new, new_pid), "raw pipes": (raw, raw_pid)}
        ingesting = asyncio.create_task(runs.forever())
        watching = [asyncio.create_task(watch(name, pid, tally)) for name, (_, pid) in servers.items()]
        callers = [Caller(name, client, world, tally, calls, pause) for name, (client, _) in servers.items()]
        try:
            await asyncio.gather(*(caller.work(n) for caller in callers for n in range(WORKERS)))
        finally:
            tally.over = True
            await asyncio.gather(ingesting, *watching, return_exceptions=True)
    for name in ("legacy", "2026-07-28", "raw"):
        said = (work / f"{name}.stderr").read_text()
        if said:
            tally.wrong.append(f"stderr of {name}: {said[:500]}")
    left = [path.name for path in (work / "tmp").glob("rag-mcp-*")]
    if left:
        tally.wrong.append(f"private copies were left behind: {left}")
    return tally


def tenths(series: Sequence[tuple[int, float]], calls: int) -> list[float]:
    """Medians of each tenth of the calls after the first WARM; of an empty one, nothing."""
    parts: list[list[float]] = [[] for _ in range(10)]
    for made, value in series:
        if made >= WARM:
            parts[min(9, int(10 * (made - WARM) / (calls - WARM)))].append(value)
    return [median(part) for part in parts if part] or [median(value for _, value in series)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and tell; 1 when anything was amiss."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=5_000, help=f"of all servers; more than {WARM}")
    parser.add_argument("--pause", type=float, default=0.5, metavar="S", help="between two calls of a worker, mean")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-of-rag-mcp-") as place:
        tally = asyncio.run(soak(Path(place), options.calls, options.pause))
    print(f"{tally.calls} calls in {time.monotonic() - began:.0f} s")
    print("\n".join(f"{number:>7}  {kind}" for kind, number in sorted(tally.kinds.items())))
    print("\n".join(f"{number:>7}  ingest, {kind}" for kind, number in sorted(tally.ingests.items())))
    print("".join(f"{number:>7}  unreachable: {why}\n" for why, number in tally.unreachable.items()), end="")
    grown = False
    for name, series in tally.memory.items():
        memory, files = tenths(series, options.calls), tenths(tally.files[name], options.calls)
        grown = grown or memory[-1] > memory[0] * (1 + GROWTH)
        print(
            f"{name}: {memory[0]:.0f} MB after {WARM} calls, {memory[-1]:.0f} MB at the end"
            f" ({memory[-1] / memory[0] - 1:+.1%}); {files[0]:.0f} open files, then {files[-1]:.0f};"
            f" by tenths: {' '.join(f'{value:.0f}' for value in memory)}"
        )
    print(f"{len(tally.wrong)} wrong", *(tally.wrong[:20]), sep="\n  ")
    return 1 if tally.wrong or grown else 0


if __name__ == "__main__":
    sys.exit(main())
