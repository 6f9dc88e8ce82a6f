"""JSON over HTTP to one service: bounded in time, in size and in tries, and the key in no sentence.

    lost, 408, 425, 429, 5xx   again after a pause: 0.5, 1, 2 ... seconds, or what Retry-After asks for if it is little
    3xx                        refused: what is sent goes to the address that was named, or nowhere
    anything else              refused, with what the service said

Proxies named in the environment are for the world outside; this machine is spoken to directly.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.paths import printable
from rag_mcp.pure.services import Service
from rag_mcp.pure.shown import Shown

if TYPE_CHECKING:
    import httpx

CONNECT = 5.0
"""Seconds until a connection stands."""
BODY = 64 * 1024 * 1024
"""Bytes of an answer; 32 vectors of 4,096 numbers take 3 MB."""
SAID = 200
"""Characters of what a service says of a failure."""
AGAIN = frozenset({408, 425, 429, *range(500, 600)})
LENGTH = re.compile(
    r"context (length|window|size)|exceeds?\b.{0,30}\b(tokens|length)"
    r"|\b(inputs?|text|prompt)\b.{0,40}\b(too (long|large)|less than \d+ tokens)",
    re.IGNORECASE,
)


@frozen(repr=False)
class Patience(Shown):
    """Pauses between tries, the longest one that Retry-After may ask for, and what one try may take; in seconds."""

    pauses: tuple[float, ...]
    longest: float
    whole: float


DOCUMENTS = Patience((0.5, 1, 2, 4, 8), 60, 300)
"""An ingest has time: a model may have to be loaded, a limit of requests to pass."""
QUESTION = Patience((0.3,), 3, 30)
"""Somebody is waiting."""
QUICK = Patience((), 0, 10)
"""What a service knows by heart."""


class Refusal(EmbedderFault):
    """The service answered, and not with what it was asked for. `said` is its own sentence, "" where it gave none."""

    def __init__(self, sentence: str, status: int, said: str) -> None:
        super().__init__(sentence)
        self.status, self.said = status, said

    @property
    def for_length(self) -> bool:
        """True when a text was too long."""
        return self.status == 413 or (self.status != 429 and LENGTH.search(self.said) is not None)


class Unreachable(EmbedderFault):
    """No connection could be made."""


class _Again(Exception):
    """A try that failed in a way in which another may not; `fault` is what to raise if there is no other."""

    def __init__(self, fault: EmbedderFault, after: float = 0) -> None:
        super().__init__(str(fault))
        self.fault, self.after = fault, after


@frozen(repr=False)
class Pace(Shown):
    """No more than so many requests a minute, evenly spread; None: as many as there are."""

    rate: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _lock: threading.Lock = field(factory=threading.Lock)
    _next: list[float] = field(factory=lambda: [0.0])

    def wait(self) -> None:
        """Return when the next request may be sent."""
        if self.rate is None:
            return
        with self._lock:
            now = self.clock()
            at = max(now, self._next[0])
            self._next[0] = at + 60 / self.rate
        if at > now:
            self.sleep(at - now)


class Caller:
    """Asks one service; safe to use from several threads. Raises EmbedderFault."""

    def __init__(self, service: Service, pace: Pace | None = None) -> None:
        self._service = service
        self._pace = pace or Pace(service.rate)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def get(self, path: str, patience: Patience) -> Any:
        """The JSON at a path."""
        return self._asked("GET", path, b"", patience)

    def post(self, path: str, body: Mapping[str, Any], patience: Patience) -> Any:
        """The JSON that answers this one."""
        # Lone surrogates cannot be sent, and escapes of them are refused by some parsers.
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._asked("POST", path, text, patience)

    def close(self) -> None:
        """Let the connection go; the next request makes another. Idempotent."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _asked(self, method: str, path: str, body: bytes, patience: Patience) -> Any:
        pauses = iter(patience.pauses)
        while True:
            self._pace.wait()
            try:
                return self._once(method, path, body, patience)
            except _Again as again:
                pause = next(pauses, None)
                if pause is None:
                    raise again.fault from None
                if again.after > patience.longest:
                    late = f"{again.fault}; it asks to wait {again.after:.0f} seconds"
                    raise EmbedderFault(late) from None
                self._pace.sleep(max(pause, again.after))

    def _once(self, method: str, path: str, body: bytes, patience: Patience) -> Any:
        import httpx

        url = self._service.url
        limits = httpx.Timeout(patience.whole, connect=CONNECT)
        try:
            with self._opened().stream(method, url + path, content=body, timeout=limits) as response:
                data = self._body(response, patience)
                return self._judged(response, data)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Again(Unreachable(f"{url} does not answer{_reason(error)}")) from None
        except httpx.TimeoutException:
            raise EmbedderFault(f"{url} did not answer within {patience.whole:.0f} seconds") from None
        except httpx.HTTPError as error:
            raise _Again(EmbedderFault(f"the connection to {url} was lost{_reason(error)}")) from None

    def _body(self, response: "httpx.Response", patience: Patience) -> bytes:
        """The answer as sent; it was asked for without compression, so that its size is what arrives."""
        data, until = bytearray(), self._pace.clock() + patience.whole
        for part in response.iter_raw():
            data += part
            if len(data) > BODY:
                raise EmbedderFault(f"{self._service.url} sent more than {BODY // 2**20} MB for one answer")
            if self._pace.clock() > until:
                raise EmbedderFault(f"{self._service.url} did not finish within {patience.whole:.0f} seconds")
        return bytes(data)

    def _judged(self, response: "httpx.Response", data: bytes) -> Any:
        url, status = self._service.url, response.status_code
        if status // 100 == 2:
            try:
                return json.loads(data)
            except (ValueError, RecursionError):
                raise EmbedderFault(f"{url} sent what is no JSON, or is cut short ({len(data)} bytes)") from None
        said = self._said(data)
        if status // 100 == 3:
            raise Refusal(f"{url} answered with a redirect ({status}), which is not followed", status, said)
        refusal = Refusal(f"{url} answered with status {status}" + (f" ({said})" if said else ""), status, said)
        if status in AGAIN and not refusal.for_length:
            raise _Again(refusal, _after(response.headers.get("retry-after")))
        raise refusal

    def _said(self, data: bytes) -> str:
        """The service's own words, on one line, the key blotted out should it repeat it."""
        try:
            given = json.loads(data)
        except (ValueError, RecursionError):
            given = None
        for name in ("error", "message", "detail"):
            if isinstance(given, dict) and name in given:
                given = given[name]
        text = given if isinstance(given, str) else data.decode("utf-8", "replace")
        if self._service.key:
            text = text.replace(self._service.key, "***")
        return printable(" ".join(text.split())[:SAID])

    def _opened(self) -> "httpx.Client":
        import httpx

        with self._lock:
            if self._client is None:
                key, header = self._service.key, self._service.header
                shown = {header: f"Bearer {key}" if header == "Authorization" else key} if key else {}
                self._client = httpx.Client(
                    headers={"Accept-Encoding": "identity", "Content-Type": "application/json", **shown},
                    trust_env=not self._service.loopback,
                    follow_redirects=False,
                )
            return self._client


def _reason(error: Exception) -> str:
    text = printable(" ".join(str(error).split())[:SAID])
    return f" ({text})" if text else ""


def _after(given: str | None) -> float:
    """Seconds that Retry-After names, as a number or as a time; 0 where it names none."""
    if not given:
        return 0
    if re.fullmatch(r"\d{1,9}", given.strip(), re.ASCII):
        return float(given)
    try:
        at = parsedate_to_datetime(given)
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return 0
