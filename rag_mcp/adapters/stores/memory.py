"""A vector index in memory, with the ways to fail of one on disk; for tests of what stands above it.

Generations are plain values in `generations`. A test damages them as a disk would: it drops one, changes a
vector, removes an id, counts a write more. As on disk, the evidence tells of ids and writes and not of vectors;
the check tells of all.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field
from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Checkpoint, IndexBroken, OpenIndex
from rag_mcp.pure.vectors import dot


@define
class Generation:
    """One generation: rid to vector, writes ever made, places ever used, readers that hold it."""

    vectors: dict[str, bytes]
    writes: int
    slots: int
    readers: int = 0


@define
class MemoryIndex:
    """Implements ports.VectorIndex. `unfinished` holds numbers of generations that a crash left half-made."""

    generations: dict[str, Generation] = field(factory=dict)
    unfinished: set[int] = field(factory=set)

    def evidence(self, folder: str) -> str | None:
        """Number of ids and of writes; None where there is no such generation."""
        found = self.generations.get(folder)
        return json.dumps([folder, len(found.vectors), found.writes]) if found else None

    def slots(self, folder: str) -> int:
        """Places ever used; 0 where there is no such generation."""
        found = self.generations.get(folder)
        return found.slots if found else 0

    def preflight(self, folder: str, want: Iterable[str], vectors: Mapping[str, bytes] | None) -> str | None:
        """Why a generation is unfit, or None."""
        found = self.generations.get(folder)
        if found is None:
            return "missing"
        if found.vectors.keys() != set(want):
            return "its ids are not those of the record"
        if vectors is not None and any(vector != vectors[rid] for rid, vector in found.vectors.items()):
            return "a vector is not that of the record"
        return None

    def write(
        self,
        base: str | None,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Mapping[str, bytes],
        want: Sequence[str],
        checkpoint: Checkpoint,
    ) -> Result[str, str]:
        """Build generation `number`; a checkpoint that raises leaves it unfinished."""
        held = {rid: vectors[rid] for rid in want if rid not in set(new)}
        if base is not None and (why := self.preflight(base, [*held, *gone], None)):
            return Failure(f"{base} is not what it should be: {why}")
        self.unfinished.add(number)
        source = self.generations[base] if base is not None else Generation({}, 0, 0)
        if base is not None:
            checkpoint("cloned")
        kept = {rid: vector for rid, vector in source.vectors.items() if rid not in set(gone)}
        made = Generation(
            vectors=kept | {rid: vectors[rid] for rid in new},
            writes=source.writes + len(gone) + len(new),
            slots=source.slots + len(new),
        )
        checkpoint("written")
        checkpoint("flushed")
        if made.vectors != {rid: vectors[rid] for rid in want}:
            self.unfinished.discard(number)
            return Failure("what was written does not pass the check: ids or vectors are not those of the record")
        checkpoint("synced")
        self.unfinished.discard(number)
        self.generations[name_of(number)] = made
        checkpoint("renamed")
        return Success(name_of(number))

    def next_number(self) -> int:
        """One more than the greatest number, unfinished ones included."""
        finished = (int(name.removeprefix("gen-")) for name in self.generations)
        return 1 + max((*finished, *self.unfinished), default=0)

    def collect(self, keep: Sequence[str]) -> None:
        """Remove what is unfinished, and every generation not in `keep` that no reader holds."""
        self.unfinished.clear()
        for name in [name for name, held in self.generations.items() if name not in keep and held.readers == 0]:
            del self.generations[name]

    def open(self, folder: str, evidence: str) -> Result[OpenIndex, str]:
        """Open for reading if the evidence still agrees."""
        if self.evidence(folder) != evidence:
            return Failure(f"{folder} is missing or not what the last run left")
        return Success(OpenMemory(self.generations[folder]))


class OpenMemory:
    """Implements ports.OpenIndex over one generation."""

    def __init__(self, generation: Generation) -> None:
        self._generation: Generation | None = generation
        generation.readers += 1

    def query(self, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        """Up to n (rid, similarity), best first, by asking every vector; raises IndexBroken once closed."""
        if self._generation is None:
            raise IndexBroken("the index was closed")
        scored = [(rid, max(0.0, dot(vector, held))) for rid, held in self._generation.vectors.items()]
        return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[: max(0, n)]

    def close(self) -> None:
        """Let the generation go; idempotent."""
        if self._generation is not None:
            self._generation.readers -= 1
            self._generation = None


def name_of(number: int) -> str:
    """The name of a generation."""
    return f"gen-{number:06d}"
