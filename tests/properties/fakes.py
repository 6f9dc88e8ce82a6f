"""Parts that fail on command, for histories: an index of plain files, a corpus with blind spots, a plug to pull."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from attrs import define, evolve, field
from returns.result import Failure, Result, Success

from rag_mcp.adapters.corpus_files import CorpusFolder
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.ports import Checkpoint, Embedder, OpenIndex, Vectors
from rag_mcp.pure.identity import EmbedderIdentity
from rag_mcp.pure.paths import is_under
from rag_mcp.pure.values import Gap, Listing, Unreadable
from rag_mcp.pure.vectors import dot


class PulledPlug(BaseException):
    """The process is gone; nobody catches this but the test."""


class FolderIndex:
    """A vector index of plain files: `gen-NNNNNN/vectors.json` holds rid -> vector in hex."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree

    def content(self, folder: str) -> dict[str, str]:
        loaded: dict[str, str] = json.loads((self.tree / folder / "vectors.json").read_text())
        return loaded

    def evidence(self, folder: str) -> str | None:
        try:
            return hashlib.sha256((self.tree / folder / "vectors.json").read_bytes()).hexdigest()
        except OSError:
            return None

    def slots(self, folder: str) -> int:
        try:
            return len(self.content(folder))
        except (OSError, ValueError):
            return 0

    def preflight(self, folder: str, want: Iterable[str], vectors: Vectors | None) -> str | None:
        found, wanted = self.content(folder), set(want)
        if found.keys() != wanted:
            return f"it holds {len(found)} vectors, {len(wanted)} are wanted"
        known = vectors(list(found)) if vectors else {}
        if any(vector.hex() != found[rid] for rid, vector in known.items()):
            return "a vector is not the one its name stands for"
        return None

    def write(
        self,
        base: str | None,
        number: int,
        gone: Sequence[str],
        new: Sequence[str],
        vectors: Vectors,
        want: Sequence[str],
        checkpoint: Checkpoint,
    ) -> Result[str, str]:
        name = f"gen-{number:06d}"
        unfinished = self.tree / f"{name}.tmp"
        held: dict[str, str] = {}
        if base:
            try:
                held = self.content(base)
            except (OSError, ValueError) as error:
                return Failure(str(error))
        unfinished.mkdir(parents=True)
        checkpoint("cloned")
        if not set(gone) <= held.keys() or set(new) & held.keys():
            shutil.rmtree(unfinished)
            return Failure("the base is not what it should be")
        held = {rid: value for rid, value in held.items() if rid not in set(gone)}
        held |= {rid: vector.hex() for rid, vector in vectors(new).items()}
        (unfinished / "vectors.json").write_text(json.dumps(held, sort_keys=True))
        checkpoint("written")
        if why := self.preflight(unfinished.name, want, vectors):
            shutil.rmtree(unfinished)
            return Failure(why)
        checkpoint("synced")
        unfinished.rename(self.tree / name)
        checkpoint("renamed")
        return Success(name)

    def folders(self) -> list[str]:
        return sorted(path.name for path in self.tree.iterdir()) if self.tree.is_dir() else []

    def next_number(self) -> int:
        return 1 + max((int(name[4:10]) for name in self.folders()), default=0)

    def collect(self, keep: Sequence[str]) -> None:
        for name in self.folders():
            if name not in keep:
                shutil.rmtree(self.tree / name)

    def open(self, folder: str, evidence: str) -> Result[OpenIndex, str]:
        if self.evidence(folder) != evidence:
            return Failure(f"the index {folder} is not what the last ingest left")
        return Success(_OpenFolder({rid: bytes.fromhex(value) for rid, value in self.content(folder).items()}))

    def close(self) -> None:
        pass


@define
class _OpenFolder:
    vectors: Mapping[str, bytes]

    def query(self, vector: bytes, n: int) -> Sequence[tuple[str, float]]:
        ranked = sorted(((rid, dot(vector, other)) for rid, other in self.vectors.items()), key=lambda p: (-p[1], p[0]))
        return ranked[:n]

    def close(self) -> None:
        pass


class BlindSpots:
    """A corpus of which some files and folders cannot be read, and some are read to be something else than was seen."""

    def __init__(self, root: Path, excludes: tuple[str, ...], files: frozenset[str], folders: frozenset[str]) -> None:
        self._inner = CorpusFolder(str(root), excludes)
        self._files, self._folders = files, folders
        self.before_reading: Callable[[], None] = lambda: None

    @property
    def root(self) -> str:
        return self._inner.root

    def blind(self, path: str) -> bool:
        return path in self._files or any(is_under(path, folder) for folder in self._folders)

    def look(self) -> Listing:
        seen = self._inner.look()
        below = [s for s in seen.sightings if not any(is_under(s.path, folder) for folder in self._folders)]
        there = {s.path.rsplit("/", depth)[0] for s in seen.sightings for depth in range(1, s.path.count("/") + 1)}
        inner = [x for x in seen.excluded if not any(is_under(x.path, folder) for folder in self._folders)]
        return evolve(
            seen,
            sightings=tuple(s for s in below if s.path not in self._files),
            unreadables=tuple(Unreadable(s.path, "Permission denied") for s in below if s.path in self._files),
            excluded=tuple(inner),
            gaps=tuple(Gap(folder, "Permission denied") for folder in sorted(self._folders) if folder in there),
        )

    def read(self, path: str) -> Result[bytes, Unreadable]:
        self.before_reading()
        if self.blind(path):
            return Failure(Unreadable(path, "Permission denied"))
        return self._inner.read(path)

    def escapes(self, path: str) -> bool:
        return self._inner.escapes(path)


@define
class Counting:
    """A HashEmbedder under another identity, that counts what it is asked, and dies when told to."""

    name: str = "hash-a"
    dim: int = 16
    inner: Embedder = field(init=False)
    texts: Counter[str] = field(factory=Counter)
    plug: Callable[[str], None] = lambda name: None

    def __attrs_post_init__(self) -> None:
        self.inner = HashEmbedder(dim=self.dim)

    @property
    def identity(self) -> EmbedderIdentity:
        return evolve(self.inner.identity, name=self.name, weights=self.name)

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        return self.inner.measure(texts)

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        self.plug("embed")
        self.texts.update(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self.inner.embed_query(f"{self.name} {text}")


@define
class Plug:
    """Pulled at the n-th effect that is named to it."""

    at: int | None = None
    met: list[str] = field(factory=list)

    def __call__(self, name: str) -> None:
        self.met.append(name)
        if len(self.met) == self.at:
            raise PulledPlug(name)
