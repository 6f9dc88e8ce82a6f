"""The promised search function: a dictionary for every input and every state of a store; it never raises."""

from pathlib import Path
from typing import Any

from returns.result import Failure, Success

from rag_mcp.effects.boundary import Refused
from rag_mcp.index import Index
from rag_mcp.pure.classify import ALLOWED_DOC_CLASSES
from rag_mcp.pure.errors import StoreUnreachable
from rag_mcp.pure.limits import DEFAULT_K
from rag_mcp.pure.query import Query, parse_query
from rag_mcp.pure.wire import answer_shape, refusal_shape

__all__ = ["ALLOWED_DOC_CLASSES", "search_knowledge"]


def search_knowledge(
    query: object,
    k: object = DEFAULT_K,
    *,
    store: str | Path | Index,
    corpus_root: str | Path | None,
    doc_class: object = None,
    mode: object = "hybrid",
) -> dict[str, Any]:
    """Search a store (a folder, or an open Index to be used again) within `corpus_root`.

    Success: `{"ok": True, "query", "k", "count", "dropped_out_of_scope", "results": [{"text", "citation",
    "score", "similarity"}]}`. Failure: `{"ok": False, "error": {"type", "message"}, "results": []}`; the effective k is
    echoed where the store is at fault. Bad arguments are refused before the store is opened.
    """
    match parse_query(query, k, doc_class, mode):
        case Failure(refused):
            return refusal_shape(refused)
        case Success(question):
            return _answered(question, store, corpus_root)
        case _ as never:
            raise AssertionError(never)


def _answered(query: Query, store: str | Path | Index, corpus_root: str | Path | None) -> dict[str, Any]:
    try:
        if isinstance(store, Index):
            return answer_shape(store.search(query.text, query.k, query.doc_class, mode=query.mode))
        with Index.open(corpus_root, store=store) as index:
            return answer_shape(index.search(query.text, query.k, query.doc_class, mode=query.mode))
    except Refused as refused:
        return refusal_shape(refused.failure, query.k)
    except Exception as error:
        return refusal_shape(StoreUnreachable(_said(store), f"{type(error).__name__}: {_said(error)}"), query.k)


def _said(value: object) -> str:
    """The value as text; its type where it will not be text."""
    try:
        return str(value)
    except Exception:
        return type(value).__name__
