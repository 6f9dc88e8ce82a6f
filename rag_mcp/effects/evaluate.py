"""Asks every question of a file of cases, and has the answers judged."""

from collections.abc import Callable, Iterable, Sequence

from rag_mcp.effects.ports import Progress, Silence
from rag_mcp.pure.citations import Answer
from rag_mcp.pure.golden import Case, Page
from rag_mcp.pure.judging import Judged, judged

Ask = Callable[[str, int, str | None], Answer]
"""Question, number of passages, document class -> answer."""
Read = Callable[[str], str | None]
"""The text of a document by its path; None where there is none."""


def evaluate(
    cases: Sequence[Case], ask: Ask, read: Read, k: int, progress: Progress | None = None
) -> tuple[Judged, ...]:
    """The cases, judged, in their order. Each document that they name is read once."""
    texts = {source: read(source) for source in sorted(_sources(cases))}
    pages = {source: None if text is None else Page.of(text) for source, text in texts.items()}
    done: list[Judged] = []
    with (progress or Silence()).task("asking", len(cases), unit="questions") as advance:
        for case in cases:
            deep = case.k or k
            answer = ask(case.question, deep, case.doc_class)
            named = {source: pages[source] for source in _sources([case])}
            done.append(judged(case, answer, named, deep, silent=_silent(answer)))
            advance(1)
    return tuple(done)


def _sources(cases: Iterable[Case]) -> set[str]:
    return {expectation.source for case in cases for expectation in case.expect if expectation.source}


def _silent(answer: Answer) -> bool:
    return not answer.results or answer.nothing_close
