"""The measurements. Each gives lines of the table: a ratio with its target, or a number that is only stated."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random

from benchmarks import corpora, serving
from benchmarks.accounting import LIBRARY, PYTHON, Cost, answer, interleaved, run
from benchmarks.many_passages import HANDOFF, SECTIONS

MB = 1e6
MS = 1e3
WALK = str(Path(__file__).with_name("bare_walk.py"))
QUESTION = "how do I find out which indexes a SQLite query uses?"


@dataclass(frozen=True)
class Line:
    """One line: a name, `ours` and `other` in `unit`; with `ratio` their ratio, with `target` what it must keep to."""

    name: str
    ours: float
    other: float | None
    unit: str
    ratio: float | None = None
    target: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is kept to; None where there is none."""
        if self.ratio is None or not self.target:
            return None
        sign, _, bound = self.target.partition(" ")
        return self.ratio >= float(bound) if sign == ">=" else self.ratio <= float(bound)


@dataclass(frozen=True)
class Bench:
    """Where to work and how much: `data` is unpacked, `work` is empty and goes afterwards."""

    data: Path
    work: Path
    quick: bool
    passages: int

    @property
    def rounds(self) -> int:
        """Runs of each, of which the medians are taken."""
        return 3 if self.quick else 9

    @property
    def files(self) -> int:
        """Files of the quiet run."""
        return 600 if self.quick else 3000

    def store(self) -> tuple[Path, Path]:
        """(corpus, store) of the notes, ingested once for all that ask of them."""
        corpus, store = self.work / "notes", self.work / "notes-store"
        if not corpus.exists():
            corpora.notes(self.data, corpus, every=8 if self.quick else 1)
            cost, report = answer(*LIBRARY, "ingest", str(corpus), "--db", str(store), "--json")
            kept = {"texts": report["texts_embedded"], "wall": cost.wall, "cpu": cost.cpu, "peak": cost.peak}
            (self.work / "notes.json").write_text(json.dumps(kept))
        return corpus, store

    def many(self) -> tuple[Path, Path]:
        """(corpus, store) of very many passages, made once."""
        corpus, store = self.work / "very-many", self.work / "very-many-store"
        if not corpus.exists():
            run(PYTHON, "-m", "benchmarks.many_passages", str(self.data), str(corpus), str(store), str(self.passages))
        return corpus, store

    def ingested(self) -> tuple[int, Cost]:
        """Distinct passages of the notes, and what ingesting them cost."""
        self.store()
        kept = json.loads((self.work / "notes.json").read_text())
        return kept["texts"], Cost(kept["wall"], kept["cpu"], kept["peak"])


def ingest(bench: Bench) -> Iterator[Line]:
    """A whole first ingest against the bare session over the same batches; the engines against each other."""
    corpus, store = bench.store()
    texts, cost = bench.ingested()
    _, floor = answer(PYTHON, "-m", "benchmarks.passages", "bare", str(store))
    yield _rate("ingest : bare session.run, one after the other", texts, cost, floor["passages"], floor["cpu"], "")
    by = {name: _by(bench, name, corpus) for name in ("onnxruntime", *(["openvino"] if find_spec("openvino") else []))}
    ours = by["onnxruntime"]
    yield Line("ingest : session.run within it, wall", ours["wall"], ours["inside"], "s", _share(ours), ">= 0.9")
    yield Line("ingest, wall", texts / cost.wall, None, "passages/s", note=f"{texts} passages in {cost.wall:.1f} s")
    if quick := by.get("openvino"):
        rates = texts / quick["wall"], texts / ours["wall"]
        yield Line("ingest by OpenVINO : ONNX Runtime, wall", *rates, "passages/s", rates[0] / rates[1], ">= 3")


def _by(bench: Bench, engine: str, corpus: Path) -> dict[str, float]:
    _, took = answer(PYTHON, "-m", "benchmarks.engine_share", engine, str(corpus), str(bench.work / f"by-{engine}"))
    return dict(took)


def _share(took: dict[str, float]) -> float:
    return took["inside"] / took["wall"]


def peer(bench: Bench) -> Iterator[Line]:
    """A whole first ingest against Chroma's default embedder, on a sample of the notes."""
    corpus, store = bench.work / "sample", bench.work / "sample-store"
    corpora.notes(bench.data, corpus, every=16 if bench.quick else 5)
    cost, report = answer(*LIBRARY, "ingest", str(corpus), "--db", str(store), "--json")
    _, other = answer(PYTHON, "-m", "benchmarks.passages", "peer", str(store))
    yield _rate("ingest : Chroma's embedder", report["texts_embedded"], cost, other["passages"], other["cpu"], ">= 1.8")


def quiet(bench: Bench) -> Iterator[Line]:
    """A run that finds nothing to do against a bare walk; then one file edited, with the real model."""
    corpus, store = bench.work / "many", bench.work / "many-store"
    corpora.many(bench.data, corpus, bench.files - 1)
    run(PYTHON, "-m", "benchmarks.library_store", str(corpus), str(store))
    tick = (*LIBRARY, "ingest", str(corpus), "--db", str(store), "--quiet")
    costs = interleaved(
        bench.rounds, {"floor": lambda: run(PYTHON, WALK, str(corpus))[0], "ours": lambda: run(*tick)[0]}
    )
    ours, floor = costs["ours"], costs["floor"]
    target = "" if bench.quick else "<= 3"  # of few files the start of the interpreter is nearly all
    name = f"quiet run of {bench.files:,} files : bare walk"
    yield Line(f"{name}, wall", ours.wall, floor.wall, "s", ours.wall / floor.wall, target)
    yield Line(f"{name}, CPU", ours.cpu, floor.cpu, "s", ours.cpu / floor.cpu, target)
    yield Line("quiet run, peak memory", ours.peak / MB, None, "MB")
    edited = sorted((corpus / corpora.SETS[0]).rglob("*.md"))[0]
    edited.write_bytes(edited.read_bytes() + b"\n\nOne more paragraph, which nobody has seen before.\n")
    cost, report = answer(*LIBRARY, "ingest", str(corpus), "--db", str(store), "--json")
    note = f"{report['texts_embedded']} texts embedded; {cost.cpu:.2f} s CPU"
    yield Line(f"one edited file among {bench.files:,}", cost.wall, None, "s", note=note)


def query(bench: Bench) -> Iterator[Line]:
    """A question as a whole process against the imports that it cannot do without."""
    _, store = bench.store()
    ask = (*LIBRARY, "query", QUESTION, "--db", str(store), "--json")
    imports = (PYTHON, "-c", "import numpy, onnxruntime")
    costs = interleaved(3 if bench.quick else 5, {"floor": lambda: run(*imports)[0], "ours": lambda: run(*ask)[0]})
    ours, floor = costs["ours"], costs["floor"]
    yield Line("query : importing numpy, onnxruntime, wall", ours.wall, floor.wall, "s", ours.wall / floor.wall, "<= 3")
    yield Line("query : importing numpy, onnxruntime, CPU", ours.cpu, floor.cpu, "s", ours.cpu / floor.cpu)
    yield Line("query, peak memory", ours.peak / MB, None, "MB")


def space(bench: Bench) -> Iterator[Line]:
    """What a store takes for each passage, and what the ingest takes while it runs."""
    _, store = bench.store()
    texts, cost = bench.ingested()
    record = sum(path.stat().st_size for path in store.glob("record.sqlite3*"))
    index = sum(path.stat().st_size for path in (store / "index").rglob("*") if path.is_file())
    yield Line("store, record", record / texts, None, "bytes/passage")
    yield Line("store, index", index / texts, None, "bytes/passage")
    yield Line("store, total", (record + index) / texts, None, "bytes/passage", note="a vector alone is 1,536")
    yield Line("ingest, peak memory", cost.peak / MB, None, "MB")


def server(bench: Bench) -> Iterator[Line]:
    """The server's start against a bare one's; its searches among many passages against their two parts alone."""
    corpus, store = bench.many()
    asked = Random(7).sample(corpora.questions(bench.data), 45 if bench.quick else 205)
    for name, ours, bare in serving.starts(corpus, store, 3 if bench.quick else 10):
        what = f"start to {name} : bare server"
        yield Line(f"{what}, wall", ours.wall, bare.wall, "s", ours.wall / bare.wall, "<= 1.15")
        yield Line(f"{what}, CPU", ours.cpu, bare.cpu, "s", ours.cpu / bare.cpu, "<= 1.15")
    first, later = serving.first_and_later(corpus, store, 2 if bench.quick else 5, asked)
    yield Line("first search after warm-up : later ones", first * MS, later * MS, "ms", first / later, "<= 2")
    found = serving.searches(corpus, store, bench.work, asked)
    ours, number = found.ours * MS, f"{bench.passages:,} passages"
    yield Line(
        "search : embedding + Chroma's 5", ours, found.floor * MS, "ms", found.ours / found.floor, "<= 1.5", number
    )
    yield Line(
        f"search : embedding + Chroma's {serving.DEPTH}",
        ours,
        found.deep_floor * MS,
        "ms",
        found.ours / found.deep_floor,
    )
    yield Line("search, CPU", found.cpu * MS, None, "ms")
    one, many = found.rates[1], found.rates[serving.AT_ONCE]
    yield Line(f"{serving.AT_ONCE} searches at once : one", many, one, "searches/s", many / one, ">= 1")


def search(bench: Bench) -> Iterator[Line]:
    """Warm searches in one process, by both lists against by meaning alone and against their bare parts."""
    corpus, store = bench.many()
    number, asked = f"{bench.passages:,} passages", "40" if bench.quick else "200"
    _, took = answer(PYTHON, "-m", "benchmarks.warm_search", str(bench.data), str(corpus), str(store), asked)
    bare = took["embedding"] + took["chroma"] + took["fts5"]
    hybrid, semantic = took["hybrid"], took["semantic"]
    yield Line("hybrid search : semantic", hybrid, semantic, "ms", hybrid / semantic, "<= 1.5", number)
    yield Line("hybrid search : its bare parts", hybrid, bare, "ms", hybrid / bare, "<= 1.3", number)
    yield Line(
        "filtered to a tenth : unfiltered", took["tenth"], hybrid, "ms", took["tenth"] / hybrid, "<= 1.5", number
    )
    for part in ("embedding", "chroma", "fts5", "keyword"):
        yield Line(f"search, {part} alone", took[part], None, "ms")
    left = 2 * SECTIONS
    for page in [path for path in sorted(corpus.rglob("*.md")) if path.read_text("utf-8").startswith(HANDOFF)][2:]:
        page.write_text(page.read_text("utf-8").removeprefix(HANDOFF), "utf-8")
    run(*LIBRARY, "ingest", str(corpus), "--db", str(store), "--quiet")
    _, took = answer(PYTHON, "-m", "benchmarks.warm_search", str(bench.data), str(corpus), str(store), asked)
    few, hybrid = took["tenth"], took["hybrid"]
    yield Line(f"filtered to {left} passages : unfiltered", few, hybrid, "ms", few / hybrid, "<= 1", number)


MEASURES = {
    "ingest": ingest,
    "peer": peer,
    "quiet": quiet,
    "query": query,
    "space": space,
    "server": server,
    "search": search,
}


def _rate(name: str, texts: int, cost: Cost, passages: int, cpu: float, target: str) -> Line:
    ours, other = texts / cost.cpu, passages / cpu
    note = f"{texts} passages" if texts == passages else f"{texts} passages against {passages}"
    return Line(name, ours, other, "passages/CPU s", ours / other, target, note)
