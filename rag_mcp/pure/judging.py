"""From passages that came back to what they are worth, case by case and in the mean.

    a passage is right for an expectation   when it shares at least half of the shorter of the two, in characters
    rank of an expectation                  that of the first passage that is right for it
    gain of a rank                          the grades of the expectations first met there, summed
    share of expected characters covered    over all passages that were looked at (`metrics`)

"Half of the shorter" takes a passage that holds a whole short section, a passage cut out of a long one, and a quote
inside a passage; it refuses a passage that ends where the answer begins. A copy of a passage (`also_in`) is right where
the passage is. A case without an answer is right when nothing came back, or the answer said that nothing was close.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from attrs import frozen

from rag_mcp.pure.citations import Answer, Hit
from rag_mcp.pure.golden import Case, Expectation, Page, located, quoted, unified
from rag_mcp.pure.identity import Setup
from rag_mcp.pure.metrics import Span, cover, hit, ndcg, overlap, reciprocal_rank
from rag_mcp.pure.shown import Shown

METRICS = ("hit@1", "hit@3", "hit@k", "mrr", "ndcg", "recall", "precision", "iou", "none")
"""In the order in which they are shown. "none": share of the questions without an answer that were told so."""
DIGITS = 6  # what a score is rounded to, so that it reads back equal from a file


@frozen(repr=False)
class Judged(Shown):
    """What the passages of one case are worth. Ranks count from 1; None: not among the passages looked at.

    `ranks` are those of the expectations, in order. `recall`, `precision` and `iou` are None where whole documents are
    expected, and where no answer is. `silent`: nothing came back, or nothing was close. `top` is the best score.
    `sources` are the passages, "path:first-last"; `problems` what was not found in the corpus, or not ingested.
    """

    id: str
    question: str
    wording: str
    none: bool
    k: int
    ranks: tuple[int | None, ...]
    ndcg: float
    recall: float | None
    precision: float | None
    iou: float | None
    silent: bool
    top: float | None
    sources: tuple[str, ...]
    tags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def rank(self) -> int | None:
        """Rank of the first passage that is right for anything expected."""
        return min((rank for rank in self.ranks if rank is not None), default=None)

    @property
    def scores(self) -> Mapping[str, float]:
        """Every measure that the case has, by its name in METRICS."""
        if self.none:
            return {"none": float(self.silent)}
        gains = [float(rank in self.ranks) for rank in range(1, self.k + 1)]
        scores = {f"hit@{n}": hit(gains, min(n, self.k)) for n in (1, 3)}
        scores |= {"hit@k": hit(gains, self.k), "mrr": reciprocal_rank(gains, self.k), "ndcg": self.ndcg}
        covers = {"recall": self.recall, "precision": self.precision, "iou": self.iou}
        return scores | {name: value for name, value in covers.items() if value is not None}


@frozen(repr=False)
class Run(Shown):
    """All cases of a file, judged; `k` is what the run looked at where a case did not say, `setup` what it searched."""

    k: int
    setup: Setup
    cases: tuple[Judged, ...]

    @property
    def means(self) -> Mapping[str, float]:
        """The mean of each measure over the cases that have it."""
        return means(self.cases)


def means(cases: Iterable[Judged]) -> Mapping[str, float]:
    """The mean of each measure over the cases that have it, in the order of METRICS."""
    values: dict[str, list[float]] = {name: [] for name in METRICS}
    for case in cases:
        for name, value in case.scores.items():
            values[name].append(value)
    return {name: round(fsum(found) / len(found), DIGITS) for name, found in values.items() if found}


@frozen(repr=False)
class Goal(Shown):
    """An expectation with its place. `span` None: the whole document, or what `problem` says is not there."""

    expectation: Expectation
    span: Span | None = None
    problem: str | None = None

    @property
    def size(self) -> Span | None:
        """The characters that count as expected; those of what is not there are in a text of their own."""
        lost = Span(f"\0{self.problem}", 0, max(1, len(self.expectation.quote)))
        return lost if self.problem else self.span


def judged(case: Case, answer: Answer, pages: Mapping[str, Page | None], k: int, *, silent: bool) -> Judged:
    """What an answer is worth. `pages` are the sources that the case names, None where there is none."""
    read = {source: page for source, page in pages.items() if page is not None}
    goals = [_goal(expectation, read) for expectation in case.expect]
    hits = answer.results[:k]
    texts = [unified(found.text) for found in hits]
    places = [_places(found, text, read) for found, text in zip(hits, texts, strict=True)]
    ranks = tuple(_rank(goal, texts, places) for goal in goals)
    gains = [
        float(sum(g.expectation.grade for g, r in zip(goals, ranks, strict=True) if r == n)) for n in range(1, k + 1)
    ]
    expected = [span for goal in goals if (span := goal.size) is not None]
    met = [span for goal in goals for span in _met(goal, texts)]
    covered = (
        cover(expected, [*(s for spans in places for s in spans), *met], sum(map(len, texts))) if expected else None
    )
    return Judged(
        id=case.name,
        question=case.question,
        wording=case.wording,
        none=case.none,
        k=k,
        ranks=ranks,
        ndcg=round(ndcg(gains, [float(goal.expectation.grade) for goal in goals], k), DIGITS),
        recall=round(covered.recall, DIGITS) if covered else None,
        precision=round(covered.precision, DIGITS) if covered else None,
        iou=round(covered.iou, DIGITS) if covered else None,
        silent=silent,
        top=hits[0].score if hits else None,
        sources=tuple(_cited(found) for found in hits),
        tags=case.tags,
        problems=(*(goal.problem for goal in goals if goal.problem), *_stale(hits)),
    )


def _goal(expectation: Expectation, read: Mapping[str, Page]) -> Goal:
    if not expectation.source:
        length = len(unified(expectation.quote))
        return Goal(expectation, Span(f'\0"{expectation.quote}', 0, length))
    page = read.get(expectation.source)
    if page is None:
        return Goal(expectation, problem=f"{expectation.source} is not in the index, or cannot be read")
    if not (expectation.heading or expectation.quote or expectation.lines):
        return Goal(expectation)
    place = located(expectation, page)
    span = place.value_or(None)
    return Goal(expectation, Span(expectation.source, *span)) if span else Goal(expectation, problem=place.failure())


def _places(found: Hit, text: str, read: Mapping[str, Page]) -> list[Span]:
    """Where a passage stands in the documents that matter here, its copies included."""
    cited = found.citation
    stands = [(cited.source, cited.start_line, cited.end_line)]
    stands += [(place.source, place.start_line, place.end_line) for place in cited.also_in]
    found_at = ((source, read[source].place(text, *lines)) for source, *lines in stands if source in read)
    return [Span(source, *place) for source, place in found_at if place]


def _rank(goal: Goal, texts: Sequence[str], places: Sequence[Sequence[Span]]) -> int | None:
    return next(
        (n for n, (text, spans) in enumerate(zip(texts, places, strict=True), 1) if _right(goal, text, spans)), None
    )


def _right(goal: Goal, text: str, spans: Sequence[Span]) -> bool:
    if goal.problem:
        return False
    if not goal.expectation.source:
        return quoted(goal.expectation.quote).search(text) is not None
    wanted = goal.span
    if wanted is None:
        return any(span.source == goal.expectation.source for span in spans)
    return any(
        2 * (shared := overlap(wanted, span)) >= min(wanted.end - wanted.start, span.end - span.start) and shared > 0
        for span in spans
    )


def _met(goal: Goal, texts: Sequence[str]) -> list[Span]:
    """A quote without a source is covered whole by a passage that holds it."""
    whole = not goal.expectation.source and any(_right(goal, text, ()) for text in texts)
    return [goal.span] if whole and goal.span else []


def _cited(found: Hit) -> str:
    cited = found.citation
    return f"{cited.source}:{cited.start_line}-{cited.end_line}"


def _stale(hits: Sequence[Hit]) -> list[str]:
    changed = dict.fromkeys(found.citation.source for found in hits if found.citation.stale)
    return [f"{source} has changed since it was ingested" for source in changed]
