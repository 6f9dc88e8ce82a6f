"""The search behind the tool: loaded in the background, asked in threads, never raising.

    handshake -> first reply -> a daemon thread loads model and index
    a call meanwhile waits WAIT seconds at most, then says `warming_up`; what needs no model is said at once

Nothing is kept that a store could outlive: every call reads the store's current generation, and a store that was
missing, empty or damaged is looked at again by the next call.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_thread
from returns.result import Failure, Result, Success

from rag_mcp.adapters.settings import Settings, is_folder
from rag_mcp.effects.boundary import Refused, value
from rag_mcp.pure import reply
from rag_mcp.pure.errors import ConfigError, StoreUnreachable, WarmingUp
from rag_mcp.pure.errors import Failure as Expected
from rag_mcp.pure.query import Query, clamp_k, parse_query

if TYPE_CHECKING:
    from rag_mcp.index import Index

T = TypeVar("T")
WAIT = 20
"""Seconds. Common clients give a call up after 60."""
THREADS = 16
"""Calls that are worked on at once; more wait."""

log = logging.getLogger(__name__)


class Engine:
    """One server's search. `settings` may be a failure: then that is every answer."""

    def __init__(self, settings: Result[Settings, ConfigError], *, wait: float = WAIT) -> None:
        self._settings = settings
        self._wait = wait
        self._starting, self._opening = threading.Lock(), threading.Lock()
        self._index: Index | None = None
        self._warm: Future[None] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    def start(self) -> "Future[None]":
        """Begin loading, once. The thread is a daemon: it never keeps a process alive."""
        with self._starting:
            if self._warm is None:
                self._warm = Future()
                threading.Thread(target=self._load, args=(self._warm,), name="warm-up", daemon=True).start()
            return self._warm

    async def search(self, text: object, k: object, doc_class: object) -> reply.Shape:
        """The tool's answer, whatever the arguments and the store are."""
        try:
            match parse_query(text, k, doc_class):
                case Success(query):
                    return reply.success(await self._answer(query))
                case Failure(refused):
                    return reply.refusal(refused, text, clamp_k(k))
                case _ as never:
                    raise AssertionError(never)
        except Refused as refused:
            return reply.refusal(refused.failure, text, clamp_k(k))
        except Exception as error:
            log.exception("a search failed")
            return reply.refusal(self._unexpected(error), text, clamp_k(k))

    async def search_corpus(self, text: object, k: object) -> reply.Shape:
        """The answer of the corpus profile; the corpus need not be there to be searched."""
        from rag_mcp.pure.corpus import parse_asked
        from rag_mcp.pure.corpus_reply import found_shape

        async def answer() -> reply.Shape:
            query = value(parse_asked(text, k))
            await self._ready(corpus=False)
            return found_shape(await self._in_thread(lambda: self._opened(corpus=False).find(query)))

        return await self._told(answer)

    async def get_file(self, path: object) -> reply.Shape:
        """A document of the index; no model is needed, and the corpus need not be there."""
        from rag_mcp.pure.corpus import parse_path
        from rag_mcp.pure.corpus_reply import file_shape

        async def answer() -> reply.Shape:
            named = value(parse_path(path))
            return file_shape(await self._in_thread(lambda: self._opened(corpus=False).file(named)))

        return await self._told(answer)

    async def _told(self, answer: Callable[[], Awaitable[reply.Shape]]) -> reply.Shape:
        """An answer of the corpus profile, or its refusal."""
        from rag_mcp.pure.corpus_reply import refusal

        try:
            return await answer()
        except Refused as refused:
            return refusal(refused.failure)
        except Exception as error:
            log.exception("a call failed")
            return refusal(self._unexpected(error), unexpected=True)

    async def read(self, source: str, lines: tuple[int, int] | None) -> str:
        """A document, or some of its lines; raises Refused."""
        return await self._in_thread(lambda: self._opened().read(source, lines))

    @property
    def places(self) -> dict[str, str]:
        """Paths on this machine that a sentence may name, and words to put in their place."""
        match self._settings:
            case Success(settings):
                return {str(settings.store): "STORE", **({str(settings.corpus): "CORPUS"} if settings.corpus else {})}
            case _:
                return {}

    def close(self) -> None:
        """Remove what was made outside the store."""
        if self._index is not None:
            self._index.close()

    async def _answer(self, query: Query) -> Any:
        await self._ready()
        return await self._in_thread(lambda: self._opened().search(query.text, query.k, query.doc_class))

    async def _ready(self, *, corpus: bool = True) -> None:
        """Wait for the warm-up; raises Refused for what the record alone can tell, or when it takes too long."""
        if (warm := self.start()).done():
            return
        with anyio.move_on_after(self._wait) as waited:
            await self._in_thread(lambda: self._opened(corpus=corpus).check())
            await asyncio.shield(asyncio.wrap_future(warm))
        if waited.cancelled_caught:
            raise Refused(WarmingUp(round(self._wait)))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run it beside the event loop. A caller that went away is not waited for; the thread ends by itself."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)

    def _opened(self, *, corpus: bool = True) -> "Index":
        """The index, made once; raises Refused while settings are amiss or, where it must be seen, the corpus is."""
        settings = self._settings.unwrap() if isinstance(self._settings, Success) else None
        if settings is None:
            raise Refused(self._settings.failure())
        if corpus and settings.corpus is not None and not is_folder(settings.corpus):
            raise Refused(ConfigError(f"RAG_MCP_CORPUS_ROOT names {settings.corpus}, where no folder can be seen"))
        from rag_mcp.index import Index

        with self._opening:
            if self._index is None:
                self._index = Index.of(settings, untouched=True)
            return self._index

    def _load(self, done: "Future[None]") -> None:
        """Search once, so that all is in memory. What is amiss is for the next call to say."""
        from rag_mcp.adapters import heap

        try:
            heap.give_back()
            index = self._opened(corpus=False)
            if index.warning:
                log.warning(index.warning)
            index.warm()
        except Refused as refused:
            log.info("warm-up: %s", refused)
        except BaseException:
            log.exception("the warm-up failed")
        finally:
            done.set_result(None)

    def _unexpected(self, error: Exception) -> Expected:
        store = self._settings.map(lambda settings: settings.store).value_or(Path())
        return StoreUnreachable(str(store), f"unexpected {type(error).__name__}; the log file says more")
