"""A history replayed: `python -m benchmarks.replay HISTORY`; after each step the store must equal a rebuild.

HISTORY is a git repository, whose last commits that touched Markdown are checked out one after another, or a folder of
files named NAME-YYYY-MM-DD.md, each taken as that day's version of NAME.md in its folder. After each step one ingest
brings the store up to date, and every so many steps a store made from nothing must hold the same manifest, rows,
vectors and keywords and give the same answers, and `verify` must find nothing.

In the end the texts that were embedded are set against the distinct contents that ever stood in the corpus: what an
ideal program would embed. The command ends with 1 when a store differed, or when more than BOUND times as many texts
were embedded. Embeds by hashed words unless `--embedder` names a model.
"""

import argparse
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.effects.ports import Embedder
from rag_mcp.index import Index
from rag_mcp.pure.stages import SearchPolicy
from tests.storecheck import contents, ingest, parts

BOUND = 1.02
DATED = re.compile(r"(.*)-(\d{4}-\d{2}-\d{2})(\.md)")
Step = tuple[str, dict[str, bytes]]
"""What it is called, and the corpus as it then is: each path's bytes."""


@dataclass
class Replay:
    """What came of it: counts over all steps, and where a store differed from a rebuild."""

    steps: int = 0
    compared: int = 0
    files: int = 0
    passages: int = 0
    embedded: int = 0
    distinct: int = 0
    rebuilds: int = 0
    """Texts that one rebuild at each step would have embedded."""
    worst: tuple[int, str] = (0, "")
    """The step after the first that embedded most."""
    differing: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Texts embedded for each distinct content."""
        return self.embedded / self.distinct if self.distinct else 1.0

    @property
    def sound(self) -> bool:
        """True when no store differed and hardly a text was embedded twice."""
        return not self.differing and self.ratio <= BOUND


def replay(history: Sequence[Step], home: Path, *, every: int = 1, embedder: Embedder | None = None) -> Replay:
    """Take a store through the steps; compare at every `every`-th and at the last. `home` is an empty folder."""
    corpus, store, rebuilt = home / "corpus", home / "store", home / "rebuilt"
    given: dict[str, Any] = {"embedder": embedder or HashEmbedder()}
    made, known = Replay(), set[bytes]()
    for number, (name, files) in enumerate(history, start=1):
        written(corpus, files)
        report = ingest(corpus, store, **given)
        now = keys(store)
        known |= now
        made.steps, made.files, made.passages = number, report.files_seen, report.store_count
        made.embedded += report.texts_embedded
        made.rebuilds += len(now)
        if number > 1:
            made.worst = max(made.worst, (report.texts_embedded, name))
        if number % every == 0 or number == len(history):
            made.compared += 1
            shutil.rmtree(rebuilt, ignore_errors=True)
            ingest(corpus, rebuilt, **given)
            if differs(corpus, store, rebuilt, given):
                made.differing.append(name)
    made.distinct = len(known)
    return made


def differs(corpus: Path, store: Path, rebuilt: Path, given: dict[str, Any]) -> bool:
    """True when the store holds or answers anything that the rebuilt one does not, or is not sound."""
    with Index(parts(corpus, store, **given)) as index:
        sound = index.verify().ok
    if not isinstance(given["embedder"], HashEmbedder):
        return not sound or rows(store) != rows(rebuilt)
    by_scan = SearchPolicy()
    return not sound or contents(store, corpus, by_scan) != contents(rebuilt, corpus, by_scan)


def keys(store: Path) -> set[bytes]:
    """The distinct contents that the store's rows hold."""
    return {key for (key,) in read(store, "select distinct key from rows")}


def rows(store: Path) -> list[Any]:
    """The rows of a store, their numbers left out."""
    return read(store, "select path, ordinal, mark, key, start_line, end_line, crumb, text from rows order by 1, 2")


def read(store: Path, sql: str) -> list[Any]:
    """What a query of the record brings."""
    db = sqlite3.connect(f"file:{store}/record.sqlite3?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def written(corpus: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others; what stays the same is not touched."""
    corpus.mkdir(parents=True, exist_ok=True)
    for path in [path for path in corpus.rglob("*") if path.is_file()]:
        if str(path.relative_to(corpus)) not in files:
            path.unlink()
    for name, data in files.items():
        path = corpus / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def commits(repository: Path, last: int) -> Iterator[Step]:
    """The last commits of the main line that touched Markdown, oldest first."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout

    found = git("log", "--first-parent", "--format=%h", f"-{last}", "--", "*.md", "*.markdown").decode().split()
    for commit in reversed(found):
        with tarfile.open(fileobj=BytesIO(git("archive", "--format=tar", commit))) as tree:
            members = [one for one in tree.getmembers() if one.isfile() and one.name.endswith((".md", ".markdown"))]
            yield commit, {one.name: content.read() for one in members if (content := tree.extractfile(one))}


def days(folder: Path) -> Iterator[Step]:
    """One step for each dated file, in the order of their dates; each takes the place of the one before."""
    dated = [(match[2], path, match) for path in folder.rglob("*.md") if (match := DATED.fullmatch(path.name))]
    files: dict[str, bytes] = {}
    for date, path, match in sorted(dated, key=lambda one: (one[0], one[1])):
        place = (path.parent / (match[1] + match[3])).relative_to(folder)
        files[str(place)] = path.read_bytes()
        yield f"{date} {place}", dict(files)


def told(made: Replay) -> str:
    """The figures, as lines."""
    lines = [
        f"{made.steps} steps; at the last {made.files} files, {made.passages} passages",
        f"{made.embedded} texts embedded for {made.distinct} distinct contents: {made.ratio:.4f} (bound {BOUND})",
        f"rebuilds would have embedded {made.rebuilds}, {made.rebuilds / max(1, made.embedded):.1f} times as many",
        f"most in one step after the first: {made.worst[0]} texts, {made.worst[1]}",
        f"compared with a rebuild {made.compared} times; differing: {', '.join(made.differing) or 'none'}",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replay", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("history", type=Path, metavar="HISTORY", help="a git repository, or a folder of dated files")
    parser.add_argument("--last", type=int, default=40, metavar="N", help="commits (default 40)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="compare at every N-th step (default 1)")
    parser.add_argument("--embedder", choices=["hash", "default"], default="hash")
    options = parser.parse_args(arguments)
    repository = (options.history / ".git").exists() or (options.history / "HEAD").is_file()
    steps = list(commits(options.history, options.last) if repository else days(options.history))
    if not steps:
        parser.error(f"{options.history} has neither commits that touch Markdown nor files named NAME-YYYY-MM-DD.md")
    with tempfile.TemporaryDirectory(prefix="replay-of-rag-mcp-") as home:
        made = replay(steps, Path(home), every=options.every, embedder=named(options.embedder))
    print(told(made))
    return 0 if made.sound else 1


def named(name: str) -> Embedder | None:
    """The packaged model where it was asked for."""
    if name == "hash":
        return None
    from rag_mcp.adapters.embedders.onnx import OnnxEmbedder

    return OnnxEmbedder()


if __name__ == "__main__":
    sys.exit(main())
