"""Which settings answer best: the tables of docs/quality.md.

python -m benchmarks.quality                              all tables
python -m benchmarks.quality --table fusion --set qmd     one of them, on one set; both repeatable

Every figure is the mean over all questions of a set. Below each table stands what a choice by half of the questions
gives on the other half, each way round; chosen is what comes nearest, in the mean, to the best score of each column.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks import silence
from benchmarks.corpora import unpacked
from benchmarks.forms import DEFAULT, DEPTH, FORMS, Order
from benchmarks.judged import Bench, JudgedSet, Pool, Ranking, by_words, load
from rag_mcp.pure.identity import Chunking
from rag_mcp.pure.metrics import Span, cover, hit, ndcg, reciprocal_rank
from rag_mcp.pure.stages import SearchPolicy

SETS = ("qmd", "claude-docs", "chroma", "scifact")
LANGUAGES = {
    "cncf-glossary/de": "Was ist {}?",
    "mcp-python-sdk/de": "Was ist {}?",
    "cncf-glossary/ja": "{}とは何ですか",
    "mcp-python-sdk/ja": "{}とは何ですか",
    "cncf-glossary/ko": "{}란 무엇입니까",
    "cncf-glossary/ru": "Что такое {}?",
    "cncf-glossary/zh-cn": "什么是{}",
    "mcp-python-sdk/zh": "什么是{}",
    "react-zh-hans": "什么是{}",
}
"""A question in the language of the pages in a folder of the set a4, made of a page's title."""
MEASURED = {
    "a4-nonenglish": ("hit@3",),
    "qmd": ("hit@3",),
    "claude-docs": ("MRR@10",),
    "chroma": ("recall@5", "IoU@5"),
    "scifact": ("nDCG@10",),
}
WORDS = SearchPolicy().words
Scores = Mapping[str, Sequence[float]]
"""By measure: one score for each question, in the order of their ids."""


class Trials:
    """Runs settings on sets; what one trial made is there for the next."""

    def __init__(self, data: Path, sets: Sequence[JudgedSet]) -> None:
        self.data, self.sets = data, sets
        self._bench = Bench()
        self._pools: dict[tuple[str, Chunking, bool], Pool] = {}

    def pool(self, judged: JudgedSet, chunking: Chunking, *, crumbs: bool) -> Pool:
        """The passages of a set by one way of cutting."""
        way = (judged.name, chunking, crumbs)
        if way not in self._pools:
            print(f"{judged.name}: {chunking}{'' if crumbs else ', no breadcrumb'}", file=sys.stderr, flush=True)
            self._pools[way] = self._bench.pool(judged, chunking, crumbs=crumbs)
        return self._pools[way]

    def scores(
        self,
        judged: JudgedSet,
        orders: Mapping[str, Order],
        chunking: Chunking = Chunking(),
        *,
        crumbs: bool = True,
        columns: tuple[float, float, float] = (1, 1, 1),
    ) -> Mapping[str, Scores]:
        """The scores of each order on one set, cut and filed in one way."""
        pool = self.pool(judged, chunking, crumbs=crumbs)
        found: dict[str, dict[str, list[float]]] = {name: {} for name in orders}
        for number, text in judged.questions.items():
            candidates, bm25 = self.lists(pool, text, columns)
            for name, order in orders.items():
                for measure, score in _judged(judged, number, pool, order(candidates, bm25)):
                    found[name].setdefault(measure, []).append(score)
        return found

    def lists(
        self, pool: Pool, question: str, columns: tuple[float, float, float] = (1, 1, 1)
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """The cosines of the nearest passages and of those found by words, and BM25 of the latter."""
        cosines = pool.vectors @ self._bench.question(question)
        bm25 = by_words(pool, question, WORDS, columns)
        near = np.argsort(-cosines, kind="stable")[:DEPTH].tolist()
        return {at: float(cosines[at]) for at in dict.fromkeys([*near, *bm25])}, bm25


def _judged(judged: JudgedSet, number: str, pool: Pool, ranking: Ranking) -> Iterator[tuple[str, float]]:
    right = judged.right[number]
    documents = list(dict.fromkeys(pool.passages[at].path for at in ranking))
    gains = [float(path in right) for path in documents]
    top = [pool.passages[at] for at in ranking[:5]]
    for measure in MEASURED[judged.name]:
        if measure == "hit@3":
            yield measure, hit(gains, 3)
        elif measure == "MRR@10":
            yield measure, reciprocal_rank(gains, 10)
        elif measure == "nDCG@10":
            yield measure, ndcg(gains, [1.0] * len(right), 10)
    if judged.spans:
        spans = [Span(passage.path, passage.start, passage.end) for passage in top]
        covered = cover(judged.spans[number], spans, sum(span.end - span.start for span in spans))
        yield "recall@5", covered.recall
        yield "IoU@5", covered.iou


Row = tuple[str, Mapping[tuple[str, str], Sequence[float]]]
"""A setting by its name, and the scores by set and measure."""


def table(title: str, rows: Sequence[Row], *, chosen: str) -> Iterator[str]:
    """A table in Markdown, and what a choice on half of the questions gives on the other half."""
    columns = list(dict.fromkeys(column for _, scores in rows for column in scores))
    yield f"### {title}\n"
    yield f"| | {' | '.join(f'{name} {measure}' for name, measure in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, scores in rows:
        mark = " (default)" if name == chosen else ""
        yield f"| {name}{mark} | {' | '.join(_shown(scores.get(column)) for column in columns)} |"
    yield ""
    yield from _halves(rows, columns)
    yield ""


def _halves(rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    whole = [(name, scores) for name, scores in rows if all(column in scores for column in columns)]
    for tuned in (0, 1):
        top = {column: max(fmean(scores[column][tuned::2]) for _, scores in whole) for column in columns}
        best, scores = max(
            whole, key=lambda row: fmean(fmean(row[1][column][tuned::2]) / top[column] for column in columns)
        )
        told = ", ".join(
            f"{name} {measure} {_shown(scores[name, measure][1 - tuned :: 2])}" for name, measure in columns
        )
        yield f"Chosen on {('even', 'odd')[tuned]} questions: {best}; on the others it gives {told}."


def _shown(scores: Sequence[float] | None) -> str:
    return "" if scores is None else f"{fmean(scores):.3f}"


def _row(name: str, found: Iterable[tuple[JudgedSet, Scores]]) -> Row:
    return name, {(judged.name, measure): s for judged, scores in found for measure, s in scores.items()}


def fusion(trials: Trials) -> Iterator[str]:
    """Two lists, alone and fused."""
    found = {judged.name: trials.scores(judged, FORMS) for judged in trials.sets}
    rows = [_row(form, ((judged, found[judged.name][form]) for judged in trials.sets)) for form in FORMS]
    yield from table("Semantic, keyword, hybrid", rows, chosen=DEFAULT)


def columns(trials: Trials) -> Iterator[str]:
    """Weights of title and headings beside the text."""
    rows = []
    for weights in ((1, 1, 1), (0, 0, 1), (2, 1, 1), (1, 2, 1), (3, 2, 1), (5, 3, 1)):
        name = "title {}, headings {}, text {}".format(*weights)
        tried = [(j, trials.scores(j, {DEFAULT: FORMS[DEFAULT]}, columns=weights)[DEFAULT]) for j in trials.sets]
        rows.append(_row(name, tried))
    yield from table("Title and headings in the keyword list", rows, chosen=rows[0][0])


def cutting(title: str, ways: Mapping[str, Chunking], chosen: str, trials: Trials) -> Iterator[str]:
    """Ways of cutting, by the default fusion."""
    rows = []
    for name, way in ways.items():
        tried = [(j, trials.scores(j, {DEFAULT: FORMS[DEFAULT]}, way)[DEFAULT]) for j in trials.sets]
        rows.append(_row(name, tried))
    yield from table(title, rows, chosen=chosen)


def sizes(trials: Trials) -> Iterator[str]:
    """Passage sizes."""
    ways = {f"{budget} tokens": Chunking(budget=budget) for budget in (128, 160, 200, 224, 240, 254)}
    yield from cutting("Passage size", ways, f"{Chunking().budget} tokens", trials)


def overlaps(trials: Trials) -> Iterator[str]:
    """Overlap where running text was cut."""
    ways = {f"{overlap} tokens": Chunking(overlap=overlap) for overlap in (0, 20, 40)}
    yield from cutting("Overlap where running text was cut", ways, f"{Chunking().overlap} tokens", trials)


def merging(trials: Trials) -> Iterator[str]:
    """Small neighbouring sections packed together."""
    ways = {f"sections below {n} tokens" if n else "none": Chunking(merge_below=n) for n in (0, 30, 60, 120)}
    yield from cutting("Small sections packed together", ways, "none", trials)


def breadcrumb(trials: Trials) -> Iterator[str]:
    """Heading names in front of what is embedded and beside what is filed."""
    rows = []
    for name, crumbs in (("on", True), ("off", False)):
        for form in ("semantic", "keyword", DEFAULT):
            tried = [(j, trials.scores(j, {form: FORMS[form]}, crumbs=crumbs)[form]) for j in trials.sets]
            rows.append(_row(f"{name}, {form}", tried))
    yield from table("Breadcrumb", rows, chosen=f"on, {DEFAULT}")


def titled(corpus: Path) -> JudgedSet:
    """A question for every page of the set a4 that has a title, answered by that page alone."""
    titles = {path.relative_to(corpus).as_posix(): title_of(path) for path in sorted(corpus.rglob("*.md"))}
    asked = {
        path: wording.format(title)
        for folder, wording in LANGUAGES.items()
        for path, title in titles.items()
        if title and path.startswith(f"{folder}/")
    }
    return JudgedSet(corpus.name, corpus, asked, {path: frozenset([path]) for path in asked}, {})


def title_of(path: Path) -> str:
    """The title in front matter or the first H1, without code marks and anchors; "" where there is none."""
    found = re.search(r"^(?:title:|#) *(.+)$", path.read_text("utf-8"), re.MULTILINE)
    return re.sub(r"[`*]|\{/?#.*?\}|^[\"']|[\"']$", "", found[1].strip()).strip() if found else ""


def languages(trials: Trials) -> Iterator[str]:
    """Questions in the language of the page, made of its title."""
    judged = titled(trials.data / "a4-nonenglish")
    forms = {form: FORMS[form] for form in ("semantic", "keyword", DEFAULT)}
    found = trials.scores(judged, forms)
    folders = {path: next(f for f in LANGUAGES if path.startswith(f"{f}/")) for path in judged.questions}
    counts = Counter(folders.values())
    yield "### Other languages\n"
    yield f"| hit@3 | {' | '.join(f'{folder} ({counts[folder]})' for folder in LANGUAGES)} | all ({counts.total()}) |"
    yield "|---" * (len(LANGUAGES) + 2) + "|"
    for form, scores in found.items():
        by = list(zip(folders.values(), scores["hit@3"], strict=True))
        cells = [fmean(score for folder, score in by if folder == each) for each in LANGUAGES]
        yield f"| {form} | {' | '.join(f'{cell:.2f}' for cell in [*cells, fmean(scores['hit@3'])])} |"
    yield ""


def nothing(trials: Trials) -> Iterator[str]:
    """Questions of every set asked of every corpus."""
    cases = []
    for corpus in trials.sets:
        pool = trials.pool(corpus, Chunking(), crumbs=True)
        for asked in trials.sets:
            for question in list(asked.questions.values())[: silence.QUESTIONS]:
                cosines, bm25 = trials.lists(pool, question)
                best = [(cosines[at], pool.passages[at].text) for at in FORMS[DEFAULT](cosines, bm25)]
                cases.append(silence.case(corpus.name, asked.name, question, best))
    yield from silence.report(cases)


TABLES: Mapping[str, Callable[[Trials], Iterator[str]]] = {
    "fusion": fusion,
    "breadcrumb": breadcrumb,
    "languages": languages,
    "nothing": nothing,
    "columns": columns,
    "sizes": sizes,
    "overlaps": overlaps,
    "merging": merging,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="append", choices=sorted(TABLES), help="just this one; repeatable")
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="just this set; repeatable")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-of-rag-mcp-") as place:
        data = unpacked(Path(place, "data"))
        trials = Trials(data, [load(data / "quality" / name) for name in options.sets or SETS])
        for name in options.table or TABLES:
            for line in TABLES[name](trials):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
