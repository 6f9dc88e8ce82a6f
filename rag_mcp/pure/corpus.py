"""What the corpus profile asks and tells: a question with strict bounds, documents as files, the stamp of an index.

A file that is on disk is shown as it is there; one that is not, as the index has it: its passages joined, without
what they repeat of each other, with the line breaks that lay between them.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.citations import Answer
from rag_mcp.pure.errors import InvalidArgument, InvalidQuery
from rag_mcp.pure.limits import DEFAULT_K, MAX_K, MAX_PATH
from rag_mcp.pure.query import Query, parse_query
from rag_mcp.pure.revisions import Revision
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Chunk


@frozen(repr=False)
class Stamp(Shown):
    """By what an index answers: the revision of its corpus, None where it was not noted, and its model."""

    revision: Revision | None
    model: str


@frozen(repr=False)
class Found(Shown):
    """The answer to a question, the title of each file in it, and the stamp of the index that gave it."""

    answer: Answer
    titles: Mapping[str, str | None]
    stamp: Stamp


@frozen(repr=False)
class FileText(Shown):
    """A document. `origin` "index": joined from passages, as of `indexed_at` (ISO 8601); `note` says what to know.

    `changed_since_index`: the bytes on disk are not those that were indexed; None where there are none.
    """

    path: str
    title: str | None
    text: str
    origin: Literal["disk", "index"]
    lifecycle: str
    indexed_at: str
    changed_since_index: bool | None
    note: str | None = None


def parse_asked(text: object, k: object) -> Result[Query, InvalidArgument | InvalidQuery]:
    """The question in bounds, or why it is refused. Here a `k` out of bounds is not moved into them."""
    number = DEFAULT_K if k is None else k
    whole = isinstance(number, int | float) and not isinstance(number, bool) and number == number // 1
    if not whole or not 1 <= number <= MAX_K:  # type: ignore[operator]
        return Failure(InvalidArgument(f"k must be a whole number from 1 to {MAX_K}; it is {DEFAULT_K} when left out"))
    match parse_query(text, number):
        case Success(query):
            return Success(query)
        case Failure(InvalidQuery() as refused):
            return Failure(refused)
        case _:
            raise AssertionError


def parse_path(path: object) -> Result[str, InvalidArgument]:
    """The path as text; which text names a document is for the index to say."""
    if not isinstance(path, str) or not 1 <= len(path) <= MAX_PATH:
        bounds = f"1 to {MAX_PATH} characters"
        return Failure(InvalidArgument(f"path must be text, {bounds}, such as a search returned"))
    return Success(path)


CHANGED = "the file has changed since it was indexed: searches still answer from what it was"


def joined_note(why: str, indexed_at: str) -> str:
    """What to know of a text that comes from the index; `why` is a clause."""
    return (
        f"not the file itself ({why}): the passages of the index as of {indexed_at}, joined; front matter and blanks"
        " between them may be missing"
    )


def joined(chunks: Iterable[Chunk]) -> str:
    """The passages of a file as one text, in their order, nothing twice, each on the line it stood on after the first.

    What stood before the first, and blanks between them that were no line breaks, are not known; one blank stands for
    the latter.
    """
    text, end, line = "", 0, 0
    for chunk in sorted(chunks, key=lambda each: (each.start, each.end)):
        if not text:
            text, end, line = chunk.text, chunk.end, chunk.end_line
        elif chunk.end > end:
            breaks = max(0, chunk.start_line - line)
            between = "" if chunk.start <= end else "\n" * breaks or " "
            text += between + chunk.text[max(0, end - chunk.start) :]
            end, line = chunk.end, chunk.end_line
    return text
