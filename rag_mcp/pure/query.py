"""From what a caller sent to a question that is in bounds, or to the reason why not.

`k` is never refused: what reads as a number is cut to an integer and clamped to [1, 20], infinity included; all else
is 5.
"""

import math

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.classify import ALLOWED_DOC_CLASSES
from rag_mcp.pure.dates import real_date
from rag_mcp.pure.errors import InvalidDocClass, InvalidQuery
from rag_mcp.pure.fusion import MODES, Mode
from rag_mcp.pure.limits import DEFAULT_K, MAX_K, MAX_QUERY
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.view import View

SHOWN = 40


@frozen(repr=False)
class Query(Shown):
    """A question in bounds: `text` is not blank, 1 <= k <= 20, `doc_class` None means every class.

    `mode` says which list answers: by meaning ("semantic"), by words ("keyword"), or both ("hybrid"). `as_of`, a date:
    of each dated series its newest snapshot of that day or before answers, and no other. `retired`: superseded
    documents answer, too.
    """

    text: str
    k: int = DEFAULT_K
    doc_class: str | None = None
    mode: Mode = "hybrid"
    as_of: str | None = None
    retired: bool = False

    @property
    def view(self) -> View:
        """The rows that may answer."""
        return View(self.doc_class, self.as_of, self.retired)


def clamp_k(value: object) -> int:
    """Any value at all to a number of passages: 7.9 and "7" are 7, infinity is 20; True and NaN give 5."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return DEFAULT_K
    if isinstance(value, bool) or not isinstance(value, int | float):
        return DEFAULT_K
    if isinstance(value, float) and math.isnan(value):
        return DEFAULT_K
    return int(min(max(value, 1), MAX_K))


def parse_query(
    text: object,
    k: object = DEFAULT_K,
    doc_class: object = None,
    mode: object = "hybrid",
    as_of: object = None,
    retired: object = False,
) -> Result[Query, InvalidQuery | InvalidDocClass]:
    """The question, or why it is refused. A bad text is reported before a bad class."""
    if not isinstance(text, str) or not text.strip():
        return Failure(InvalidQuery("query must be a non-empty string"))
    if len(text) > MAX_QUERY:
        return Failure(InvalidQuery(f"query must not be longer than {MAX_QUERY} characters; it has {len(text)}"))
    if not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text):
        return Failure(InvalidQuery("query must be text; it holds lone surrogates"))
    if doc_class is not None and not (isinstance(doc_class, str) and doc_class in ALLOWED_DOC_CLASSES):
        allowed = ", ".join(f'"{name}"' for name in ALLOWED_DOC_CLASSES)
        return Failure(InvalidDocClass(f"doc_class must be one of {allowed}, or be left out"))
    if as_of is not None and not (isinstance(as_of, str) and real_date(as_of)):
        return Failure(InvalidQuery(f"as_of must be a date, such as 2026-01-31; {str(as_of)[:SHOWN]!r} is none"))
    if not isinstance(retired, bool):
        return Failure(InvalidQuery(f"retired must be true or false; {str(retired)[:SHOWN]!r} is neither"))
    for known in MODES:
        if mode == known:
            return Success(Query(text, clamp_k(k), doc_class, known, as_of, retired))
    return Failure(InvalidQuery(f"mode must be one of {', '.join(MODES)}"))
