"""Questions with known answers: what a case says, whether that makes sense, and where in a text its answer stands.

    source             the whole document
    source + heading   the section under that heading, the sections below it included
    source + lines     those lines
    source + quote     the characters of the quote; white space counts as white space, however much there is
    quote              the quote, in whatever document it stands

Heading, lines and quote narrow each other. Texts are compared, and counted in characters, with LF as their only line
end. Whether a passage is right is decided in `judging`.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Self

from attrs import field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.blocks import LINE_END, Heading, line_starts, outline
from rag_mcp.pure.frontmatter import split
from rag_mcp.pure.identity import digest_of
from rag_mcp.pure.limits import MAX_K
from rag_mcp.pure.paths import inside
from rag_mcp.pure.query import parse_query
from rag_mcp.pure.shown import Shown

PROPOSED = "proposed"
"""Tag of a case that was made of a heading and that nobody has worded yet."""
LINES = re.compile(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?")
GRADES = range(1, 11)
NAME = 60  # letters of an id that is made of a question
WORTH = 40  # letters that a section has to have to be asked for


@frozen(repr=False)
class Expectation(Shown):
    """Something that the passages should hold; `grade` is its worth (1 to 10) where some are worth more than others."""

    source: str = ""
    heading: str = ""
    quote: str = ""
    lines: str = ""
    grade: int = 1


@frozen(repr=False)
class Case(Shown):
    """A question and all that its passages should hold. `none`: the corpus does not answer it.

    `k`: so many passages are looked at, None as many as the run says. `id` "": it is made of the question.
    """

    question: str
    expect: tuple[Expectation, ...] = ()
    id: str = ""
    doc_class: str | None = None
    tags: tuple[str, ...] = ()
    k: int | None = None
    none: bool = field(default=False)

    @property
    def name(self) -> str:
        """The id, or the words of the question joined by hyphens, up to 60 letters of them."""
        return self.id or "-".join(re.findall(r"\w+", self.question.lower()))[:NAME].strip("-") or "case"

    @property
    def wording(self) -> str:
        """32 hex digits that stand for what is asked and expected; what was judged by another wording is no measure."""
        expected = [(e.source, e.heading, e.quote, e.lines, e.grade) for e in self.expect]
        return digest_of(self.question, expected, self.doc_class, self.k, self.none)


def flaw(case: Case) -> str | None:
    """Why a case means nothing; None when it does."""
    asked = parse_query(case.question, doc_class=case.doc_class)
    if isinstance(asked, Failure):
        return f"{asked.failure().message}".replace("query", "question", 1)
    if case.k is not None and not 1 <= case.k <= MAX_K:
        return f"k must be 1 to {MAX_K}"
    if case.none and case.expect:
        return "it has none = true, and something is expected all the same"
    if not case.none and not case.expect:
        return "nothing is expected: give it expect = [...], or none = true where the corpus holds no answer"
    flaws = ((n, _flaw(expectation)) for n, expectation in enumerate(case.expect, start=1))
    return next((f"expectation {n}: {why}" for n, why in flaws if why), None)


def _flaw(expectation: Expectation) -> str | None:
    if not expectation.source and not expectation.quote.strip():
        return "it needs a source or a quote"
    if expectation.source and not inside(expectation.source):
        return f"source {expectation.source!r} is not a path below the corpus"
    if (expectation.heading or expectation.lines) and not expectation.source:
        return "heading and lines need a source"
    if expectation.lines and _line_numbers(expectation.lines) is None:
        return f'lines must be like "12" or "12-18", not {expectation.lines!r}'
    if expectation.grade not in GRADES:
        return f"grade must be {GRADES[0]} to {GRADES[-1]}"
    return None


def twins(cases: Sequence[Case]) -> tuple[int, int] | None:
    """The places, from 0, of the first two cases of one name."""
    seen: dict[str, int] = {}
    for place, case in enumerate(cases):
        if case.name in seen:
            return seen[case.name], place
        seen[case.name] = place
    return None


@frozen(repr=False)
class Page(Shown):
    """A document that cases name; `text` has LF as its only line end."""

    text: str

    @classmethod
    def of(cls, text: str) -> Self:
        """The page of a text with any line ends."""
        return cls(unified(text))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where lines begin, and one more after the last."""
        return (*line_starts(self.text), len(self.text) + 1)

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The headings that open sections."""
        return outline(self.text, split(self.text).body).headings

    def lines(self, first: int, last: int) -> tuple[int, int]:
        """The characters of these lines, from 1, cut to what is there, without the last line end."""
        count = len(self.starts) - 1
        start, end = self.starts[min(first - 1, count)], self.starts[min(last, count)] - 1
        return min(start, len(self.text)), max(0, end)

    def sections(self, name: str) -> list[tuple[int, int]]:
        """The spans under every heading of that name, case and white space set aside, the heading's lines included."""
        wanted = _even(name)
        return [(h.start, self._end(n)) for n, h in enumerate(self.headings) if _even(h.text) == wanted]

    def place(self, text: str, first: int, last: int) -> tuple[int, int] | None:
        """Where a unified text stands, said to be on lines `first` to `last`; None where it stands nowhere."""
        begin, end = self.lines(first, last)
        at = self.text.find(text, begin, max(end, begin + len(text)))
        at = self.text.find(text) if at < 0 else at
        return None if at < 0 else (at, at + len(text))

    def _end(self, place: int) -> int:
        level = self.headings[place].level
        after = (heading.start for heading in self.headings[place + 1 :] if heading.level <= level)
        return next(after, len(self.text))


def unified(text: str) -> str:
    """The text with LF as its only line end."""
    return LINE_END.sub("\n", text)


def quoted(quote: str) -> re.Pattern[str]:
    """A pattern for the words of a quote with any white space between them."""
    return re.compile(r"\s+".join(map(re.escape, quote.split())))


def located(expectation: Expectation, page: Page) -> Result[tuple[int, int], str]:
    """Where in its source the answer stands, first character and last + 1; or what is not there.

    Of several sections or quotes that fit, the first. White space around it is no part of it.
    """
    text, source = page.text, expectation.source
    scopes = page.sections(expectation.heading) if expectation.heading else [(0, len(text))]
    if not scopes:
        return Failure(f"{source} has no heading {expectation.heading!r}")
    if numbers := _line_numbers(expectation.lines):
        start, end = page.lines(*numbers)
        scopes = [(max(start, a), min(end, b)) for a, b in scopes if max(start, a) < min(end, b)]
    if not scopes:
        return Failure(f"{source} does not hold lines {expectation.lines} there")
    if not expectation.quote.strip():
        return Success(_trimmed(text, *scopes[0]))
    pattern = quoted(expectation.quote)
    found = next((match.span() for scope in scopes if (match := pattern.search(text, *scope))), None)
    if found is None:
        return Failure(f"{source} does not hold the quote {expectation.quote[:40]!r} there")
    return Success(found)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    held = text[start:end]
    return (start + len(held) - len(held.lstrip()), start + len(held.rstrip())) if held.strip() else (start, end)


def _line_numbers(lines: str) -> tuple[int, int] | None:
    match = LINES.fullmatch(lines)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return (first, last) if first <= last else None


def _even(name: str) -> str:
    return " ".join(name.split()).casefold()


def proposed(path: str, text: str) -> Case | None:
    """A case made of the first section of a document that says something, to be worded by a person.

    The section's name is that of no other; a section below the title comes before the title's own.
    """
    page = Page.of(text)
    headings = page.headings
    bodies = [
        (heading, page.text[heading.end : following.start if following else None].strip())
        for heading, following in zip_longest(headings, headings[1:])
    ]
    for heading, body in sorted(bodies, key=lambda pair: pair[0].level == 1):
        if heading.text and len(body) >= WORTH and len(page.sections(heading.text)) == 1:
            title = headings[0].text if headings[0] is not heading else ""
            question = f"{title}: {heading.text}?" if title else f"{heading.text}?"
            return Case(question, (Expectation(path, heading.text),), tags=(PROPOSED,))
    return None
