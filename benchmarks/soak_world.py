"""A corpus that says in each line which version of which page it is, and remembers all that it ever was.

So any passage can be judged from outside: it is, to the character, what its file held at the lines it names, in a
version that was once written; and passages shown together must have stood together in one generation.
"""

import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from rag_mcp.effects.apply import SEGMENT_TEXTS

PAGES, LEAST = 300, 120
"""The most and the fewest files. 7,500 passages are searched by index, 3,000 are scanned."""
SECTIONS, LINES, WIDTH = 25, 4, 12
WORDS = (
    "anchor beacon cargo dock ensign funnel galley hull islet jib keel lantern mast net oar pier quay rope sail tide "
    "under windlass yard above before after every never cannot must holds turns lifts marks the a its one two three"
)
_SAID = re.compile(r"page (\d+) in version (\d+)")
Generation = Mapping[int, int]


@dataclass(frozen=True)
class Run:
    """What the corpus was for one ingest, version by page; `before` is the one before, if it came in several commits.

    Files are then committed in the order of their paths, and those that vanished go last.
    """

    before: Generation | None
    after: Generation

    def held(self, seen: Iterable[tuple[int, int]]) -> bool:
        """True when one generation of this run held all these versions of pages."""
        fresh = {page for page, version in seen if self.after.get(page) == version}
        rest = [(page, version) for page, version in seen if page not in fresh]
        if not rest or self.before is None:
            return not rest
        old = [page for page, version in rest if self.before.get(page) == version]
        changed = [path_of(page) for page in fresh if self.before.get(page) != self.after[page]]
        waiting = [path_of(page) for page in old if page in self.after]
        return len(old) == len(rest) and max(changed, default="") < min(waiting, default="~")


@lru_cache(maxsize=4096)
def text_of(page: int, version: int) -> str:
    """The file of a page in a version."""
    chance, words = random.Random(f"{page} {version}"), WORDS.split()
    parts = [f"# Page {page}\n"]
    for section in range(SECTIONS):
        said = (" ".join(chance.choices(words, k=WIDTH)) for _ in range(LINES))
        parts.append(f"## Section {section}\n")
        parts.append("".join(f"{words}; page {page} in version {version}.\n" for words in said))
    return "\n".join(parts)


def path_of(page: int) -> str:
    """Where the file of a page is, below the root."""
    return f"part{page % 7}/page{page:03}.md"


class World:
    """The corpus at `root`. Only between two ingests is it changed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.runs: list[Run] = []
        self._chance = random.Random(seed)
        self._now: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._moves: dict[int, list[tuple[float, int | None, float]]] = {}
        for page in range(PAGES):
            self._put(page, 1)

    def settle(self, *, clean: bool = False, everything: bool = False) -> None:
        """What is there now is what the next ingest will make: in several commits, if it embeds everything and much."""
        before = {} if clean or not self.runs else self.runs[-1].after
        after = dict(self._now)
        in_parts = (clean or everything or not before) and len(after) * SECTIONS > SEGMENT_TEXTS
        self.runs.append(Run(before if in_parts else None, after))

    def change(self) -> None:
        """Edit some files; and every other time remove many, or bring all back."""
        chance = self._chance
        for page in chance.sample(sorted(self._now), 12):
            self._put(page, self._last[page] + 1)
        if len(self._now) > LEAST and chance.random() < 0.5:
            for page in chance.sample(sorted(self._now), chance.randrange(1, len(self._now) - LEAST + 1)):
                self._put(page, None)
        elif chance.random() < 0.5:
            for page in set(range(PAGES)) - self._now.keys():
                self._put(page, self._last[page] + 1)

    def question(self, chance: random.Random) -> str:
        """Words of a line that some version held."""
        page = chance.randrange(PAGES)
        version = chance.randint(1, self._last[page])
        return chance.choice([line for line in text_of(page, version).splitlines() if ";" in line]).partition(";")[0]

    def faults(self, results: Sequence[Mapping[str, Any]], began: float, ended: float) -> list[str]:
        """What is wrong with an answer that was given between two times (of time.monotonic)."""
        seen: set[tuple[int, int]] = set()
        found: list[str] = []
        for hit in results:
            said = set(_SAID.findall(hit["text"]))
            if len(said) != 1:
                found.append(f"a hit mixes versions: {sorted(said)}")
                continue
            page, version = map(int, said.pop())
            seen.add((page, version))
            found += self._hit_faults(hit, page, version, self._on_disk(page, began, ended))
        if not any(run.held(seen) for run in self.runs):
            found.append(f"no generation held all of {sorted(seen)}")
        return found

    def reads(self, page: int, first: int, last: int, began: float, ended: float) -> set[str]:
        """What those lines of a file may have been at some time between the two."""
        versions = self._on_disk(page, began, ended) - {None}
        return {"".join(text_of(page, v).splitlines(keepends=True)[first - 1 : last]) for v in versions if v}

    def _hit_faults(self, hit: Mapping[str, Any], page: int, version: int, on_disk: set[int | None]) -> Iterable[str]:
        place = hit["citation"]
        if place["source"] != path_of(page) or version > self._last[page]:
            yield f"{place['source']} never held version {version} of page {page}"
        lines = text_of(page, version).splitlines()[place["start_line"] - 1 : place["end_line"]]
        if "\n".join(lines).strip() != hit["text"].strip():
            yield f"lines {place['start_line']}-{place['end_line']} of {place['source']} are not the hit's text"
        if place["stale"] and on_disk == {version}:
            yield f"{place['source']} is called stale and was on the disk all the time"
        if not place["stale"] and version not in on_disk:
            yield f"{place['source']} was not on the disk in version {version}, only {on_disk}, and is not called stale"

    def _on_disk(self, page: int, began: float, ended: float) -> set[int | None]:
        """The versions that the file had between two times; None: it was not there."""
        moves = [*self._moves[page], (float("inf"), None, float("inf"))]
        return {version for (at, version, _), (_, _, gone) in pairwise(moves) if at <= ended and gone >= began}

    def _put(self, page: int, version: int | None) -> None:
        place, aside = self.root / path_of(page), self.root.with_name("aside")
        place.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        if version is None:
            self._now.pop(page, None)
            place.unlink()
        else:
            self._now[page] = self._last[page] = version
            aside.write_text(text_of(page, version))
            aside.replace(place)
        self._moves.setdefault(page, []).append((began, version, time.monotonic()))
