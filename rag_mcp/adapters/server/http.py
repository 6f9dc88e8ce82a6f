"""The server over streamable HTTP: on this machine alone unless a token and host names are configured.

Host and Origin        checked on every request, whatever the address
bearer token           RAG_MCP_HTTP_TOKEN, at least 32 bytes; always asked for where it is set
another address        refused without a token and without --allow-host
body, calls at once    4 MiB (413), CALLS (503)
"""

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from attrs import frozen
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from returns.result import Failure, Result, Success

from rag_mcp.adapters.server.app import make_app
from rag_mcp.adapters.server.engine import Engine
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.profiles import DEFAULT
from rag_mcp.pure.reply import Shape
from rag_mcp.pure.shown import Shown

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SCOPE = "kb:read"
SECRET_BYTES = 32
CALLS = 64


@frozen(repr=False)
class Place(Shown):
    """Where to listen, who may ask by which host name, and the token, if any."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    token: bytes | None = None

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/mcp"


class StaticToken(TokenVerifier):
    """One token, compared in constant time."""

    def __init__(self, place: Place, token: bytes) -> None:
        self._token, self._resource = token, place.url

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token allows, or None."""
        if hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token):
            return AccessToken(token=token, client_id="static", scopes=[SCOPE], resource=self._resource)
        return None


def place(host: str, port: int, hosts: Sequence[str], environ: Mapping[str, str]) -> Result[Place, ConfigError]:
    """Where to listen, or why that would not be safe."""
    token = environ.get("RAG_MCP_HTTP_TOKEN") or None
    if token is not None and len(token.encode("utf-8", "surrogateescape")) < SECRET_BYTES:
        return Failure(
            ConfigError(f"RAG_MCP_HTTP_TOKEN is shorter than {SECRET_BYTES} bytes; make one with: openssl rand -hex 32")
        )
    if host not in LOOPBACK:
        if token is None:
            return Failure(
                ConfigError(
                    f"--host {host} can be reached from other machines: set RAG_MCP_HTTP_TOKEN to a secret of"
                    f" {SECRET_BYTES} bytes or more (openssl rand -hex 32), or serve on 127.0.0.1"
                )
            )
        if not hosts:
            return Failure(
                ConfigError(f"--host {host} needs --allow-host NAME, the name by which clients reach this server")
            )
    return Success(Place(host, port, tuple(hosts), token.encode("utf-8", "surrogateescape") if token else None))


def serve(engine: Engine, where: Place, listening: Callable[[], None], profiles: Sequence[str] = DEFAULT) -> NoReturn:
    """Serve until a signal comes, two seconds for what is under way; calls `listening` once it does."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                listening()

    config = uvicorn.Config(
        web_app(engine, where, profiles),
        host=where.host,
        port=where.port,
        http="h11",  # the other parser leaves the blanks after a header's value in it
        log_config=None,
        access_log=False,
        limit_concurrency=CALLS,
        timeout_graceful_shutdown=2,
    )
    code = 0
    try:
        Server(config).run()
    except KeyboardInterrupt:
        code = 130
    except SystemExit as ended:  # its own codes say what went wrong, ours that it did
        code = 143 if ended.code == 143 else 1
    engine.close()
    raise SystemExit(code)


def web_app(engine: Engine, where: Place, profiles: Sequence[str] = DEFAULT) -> Any:
    """The ASGI application."""
    return _app(engine, where, profiles).streamable_http_app(
        host=where.host,
        json_response=True,  # a stream of events is capped by clients at 1 MiB an event
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(_hosts(where)),
            allowed_origins=[f"http://{name}" for name in _hosts(where)]
            + [f"https://{name}" for name in _hosts(where)],
        ),
    )


def _app(engine: Engine, where: Place, profiles: Sequence[str]) -> MCPServer[Any]:
    told = partial(without_paths, known=engine.places)
    if where.token is None:
        return make_app(engine, profiles=profiles, told=told)
    url = AnyHttpUrl(where.url)
    auth = AuthSettings(issuer_url=url, resource_server_url=url, required_scopes=[SCOPE], validate_token_resource=True)
    return make_app(engine, profiles=profiles, told=told, auth=auth, verifier=StaticToken(where, where.token))


def _hosts(where: Place) -> tuple[str, ...]:
    """Names with any port, and without one."""
    names = where.hosts if where.host not in LOOPBACK else ("127.0.0.1", "localhost", "[::1]", *where.hosts)
    return tuple(form for name in names for form in (name, f"{name}:*"))


_PATH = re.compile(r"(?<![\w.:/])(?:/[^\s/'\"();,]+){2,}/?|\b[A-Za-z]:\\[^\s'\"();,]+")


def without_paths(shape: Shape, known: Mapping[str, str]) -> Shape:
    """A reply whose error names no place on this machine, `known` (path to name) first; results carry none."""
    if "error" not in shape:
        return shape
    error = dict(shape["error"])
    for part in ("message", "next_step"):
        for path, name in known.items():
            error[part] = error[part].replace(path, name)
        error[part] = _PATH.sub("PATH", error[part])
    return {**shape, "error": error}
