"""A document by its path, within the index and nowhere else.

not in the index                              the same refusal, whatever the disk holds; the disk is not asked
a link, or something else, in its place       refused: what was indexed stood elsewhere
another file's bytes under a second name      refused, for the same reason
not there, or not to be read                  the passages of the index
there, and it asks to be left out now         refused as what is not in the index
there                                         its bytes as they are, and whether they are those that were indexed
"""

import hashlib

from attrs import evolve
from returns.result import Failure, Result, Success

from rag_mcp.effects.desk import Desk
from rag_mcp.effects.ports import Corpus
from rag_mcp.effects.record import Pointer, Snapshot
from rag_mcp.effects.retrieve import SearchFailure, search
from rag_mcp.pure.citations import Answer
from rag_mcp.pure.corpus import CHANGED, FileText, Found, Stamp, joined, joined_note
from rag_mcp.pure.decoding import decode
from rag_mcp.pure.errors import EmptyStore, PathChanged, SourceUnavailable
from rag_mcp.pure.manifest import Entry
from rag_mcp.pure.paths import inside, is_unicode
from rag_mcp.pure.query import Query
from rag_mcp.pure.values import Absence, NotTaken, Taken

SHOWN = 200
"""Characters of a path in a refusal."""


def found(desk: Desk, snapshot: Snapshot, query: Query) -> Result[Found, SearchFailure]:
    """The answer, with what the profile tells besides it from the same snapshot."""
    return search(desk, snapshot, query).map(lambda answer: _stamped(desk, snapshot, answer))


def _stamped(desk: Desk, snapshot: Snapshot, answer: Answer) -> Found:
    sources = dict.fromkeys(hit.citation.source for hit in answer.results)
    known = {source: snapshot.document(source) for source in sources}
    titles = {source: document[0].title for source, document in known.items() if document}
    return Found(answer, titles, Stamp(snapshot.revision(), desk.embedder.identity.name))


def get_file(
    corpus: Corpus, snapshot: Snapshot, path: str, store: str
) -> Result[FileText, EmptyStore | SourceUnavailable | PathChanged]:
    """The document at a path that is in the index."""
    pointer = snapshot.pointer()
    if pointer is None:
        return Failure(EmptyStore(store))
    known = snapshot.document(path) if inside(path) and is_unicode(path) else None
    if known is None or not known[1]:
        return Failure(SourceUnavailable(path[:SHOWN]))
    entry, chunks = known
    indexed = FileText(path, entry.title, joined(chunks), "index", entry.lifecycle, pointer.finished, None)
    match _at_its_place(corpus, pointer, path):
        case Success(taken):
            return _from_disk(indexed, entry, taken)
        case Failure(NotTaken(absence=Absence.REPLACED)):
            return Failure(PathChanged(path[:SHOWN]))
        case Failure(NotTaken(why=why)):
            return Success(evolve(indexed, note=joined_note(why, pointer.finished)))
        case _ as never:
            raise AssertionError(never)


def _at_its_place(corpus: Corpus, pointer: Pointer, path: str) -> Result[Taken, NotTaken]:
    if corpus.root != pointer.root:
        return Failure(NotTaken(Absence.GONE, "the corpus is at another place than when it was indexed"))
    return corpus.take(path)


def _from_disk(indexed: FileText, entry: Entry, taken: Taken) -> Result[FileText, SourceUnavailable | PathChanged]:
    changed = hashlib.sha256(taken.data).hexdigest() != entry.digest
    if changed and taken.names > 1:
        return Failure(PathChanged(indexed.path[:SHOWN]))
    text = decode(indexed.path, taken.data).value_or(None)
    if text is None:
        why = "what is on disk now cannot be read as text"
        return Success(evolve(indexed, changed_since_index=changed, note=joined_note(why, indexed.indexed_at)))
    if changed and _asks_to_be_left_out(indexed.path, taken.data):
        return Failure(SourceUnavailable(indexed.path[:SHOWN]))
    note = CHANGED if changed else None
    return Success(evolve(indexed, text=text, origin="disk", changed_since_index=changed, note=note))


def _asks_to_be_left_out(path: str, data: bytes) -> bool:
    from rag_mcp.pure.documents import left_out

    return left_out(path, data)
