"""A citation held against the document as it is now, within the same scope as reading it.

A source that the index does not know, or that leads out, gets one refusal whether it is there or not, unless the index
knows the quoted text itself: then it is named where it stands.
"""

from collections.abc import Iterator, Sequence

from returns.result import Failure, Result, Success

from rag_mcp.effects.ports import Corpus
from rag_mcp.effects.record import Snapshot
from rag_mcp.effects.source import FileNow, is_known, text_now
from rag_mcp.pure.citations import Row
from rag_mcp.pure.citing import Cited, Lines, judged, spellings
from rag_mcp.pure.errors import SourceUnavailable


def cite(corpus: Corpus, snapshot: Snapshot, asked: Lines, wanted: str | None) -> Result[Cited, SourceUnavailable]:
    """What became of the citation; `wanted` is the content hash of what was quoted."""
    source = next((each for each in spellings(asked.source) if is_known(corpus, snapshot, each)), None)
    rows = snapshot.quoted(wanted) if wanted else ()
    others = _elsewhere(corpus, rows, source)
    quote = rows[0].text if rows else None
    if source is not None:
        cited = Lines(source, asked.first, asked.last)
        return Success(judged(cited, text_now(corpus, snapshot, source), wanted, quote, others))
    moved = judged(asked, None, wanted, quote, others)
    return Success(moved) if moved.now else Failure(SourceUnavailable(asked.source))


def _elsewhere(corpus: Corpus, rows: Sequence[Row], source: str | None) -> Iterator[Lines]:
    """Places in other documents that hold the text now, by path."""
    for row in rows:
        if row.source != source and not corpus.escapes(row.source):
            match corpus.take(row.source):
                case Success(taken) if FileNow(row.source, taken.data).holds(row):
                    yield Lines(row.source, row.start_line, row.end_line)
                case _:
                    continue
