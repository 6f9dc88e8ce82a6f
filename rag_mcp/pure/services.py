"""Embedders that are services: what they are called, where they are, and what their models want in front of a text.

    SERVICE:MODEL      ollama:embeddinggemma      openai:text-embedding-3-small      lmstudio:any-name

    address   RAG_MCP_EMBED_URL, else the service's own variable, else its usual address
    key       RAG_MCP_EMBED_KEY, else the vendor's own variable, which is sent to the vendor's own hosts alone

An address that is not this machine's own is said to be so: the texts leave.
"""

import re
from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.tokens import promised

URL, KEY, DIM, RATE = "RAG_MCP_EMBED_URL", "RAG_MCP_EMBED_KEY", "RAG_MCP_EMBED_DIM", "RAG_MCP_EMBED_RATE"
MOST_DIMENSIONS = 65_536
OLLAMA_PORT = 11434

# Compiled by who first asks: most runs ask nothing of a service.
_ADDRESS = r"(?:(https?)://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?((?:/[\w.~+-]*)*)"
_LOOPBACK = r"localhost|[\w.-]+\.localhost|127(\.\d{1,3}){3}|\[::1\]"
_VISIBLE = r"[!-~]+"  # what a header may carry; a line end in it would show the key in an error


@frozen(repr=False)
class Preset(Shown):
    """A service by name. `hosts` ends the names of the hosts that the key in `key_variable` is meant for."""

    dialect: Literal["ollama", "openai"] = "openai"
    url: str = ""
    url_variable: str = ""
    path: str = ""
    key_variable: str = ""
    hosts: str = ""
    header: str = "Authorization"
    where: str = ""


PRESETS: Mapping[str, Preset] = {
    "ollama": Preset("ollama", f"http://127.0.0.1:{OLLAMA_PORT}", "OLLAMA_HOST"),
    "openai": Preset(url="https://api.openai.com/v1", key_variable="OPENAI_API_KEY", hosts="api.openai.com"),
    "azure": Preset(
        url_variable="AZURE_OPENAI_ENDPOINT",
        path="/openai/v1",
        key_variable="AZURE_OPENAI_API_KEY",
        hosts=".azure.com",
        header="api-key",
        where="the endpoint of the resource; MODEL is the name of the deployment",
    ),
    "together": Preset(url="https://api.together.xyz/v1", key_variable="TOGETHER_API_KEY", hosts="api.together.xyz"),
    "lmstudio": Preset(url="http://127.0.0.1:1234/v1"),
    "huggingface": Preset(
        key_variable="HF_TOKEN",
        hosts=".huggingface.cloud",
        where="an Inference Endpoint, or a server of text-embeddings-inference, ending in /v1",
    ),
    "gemini": Preset(
        url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        hosts="generativelanguage.googleapis.com",
    ),
}

SECRETS = frozenset({KEY, *(preset.key_variable for preset in PRESETS.values() if preset.key_variable)})
VARIABLES = SECRETS | {URL, DIM, RATE, *(preset.url_variable for preset in PRESETS.values() if preset.url_variable)}
"""All that is read of the environment."""


@frozen(repr=False)
class Wants(Shown):
    """What a family of models takes in, in its own tokens, and what it was trained to see in front of a text."""

    window: int
    query_prefix: str = ""
    document_prefix: str = ""


UNKNOWN = Wants(512)
MODELS: Mapping[str, Wants] = {
    "embeddinggemma": Wants(2048, "task: search result | query: ", "title: none | text: "),
    "nomic-embed-text-v2": Wants(512, "search_query: ", "search_document: "),
    "nomic-embed-text": Wants(2048, "search_query: ", "search_document: "),
    "mxbai-embed-large": Wants(512, "Represent this sentence for searching relevant passages: "),
    "bge-m3": Wants(8192),
    "all-minilm": Wants(256),
    "text-embedding-3-": Wants(8191),
    "text-embedding-ada-002": Wants(8191),
    "gemini-embedding-001": Wants(2048),
}
"""By what a model's name contains, tags, owners and versions aside; the first that fits.

The core names headings in front of a passage already, so the title in EmbeddingGemma's document prefix stays "none": a
prefix that is the same for every text belongs to the identity, and a renamed document costs no embedding.
"""


@frozen(repr=False)
class Service(Shown):
    """A model of a service, and how it is reached. `dim` and `rate` (requests a minute) are None where not set."""

    name: str
    dialect: Literal["ollama", "openai"]
    model: str
    url: str
    key: str = field(default="", repr=False)
    key_variable: str = KEY
    header: str = "Authorization"
    dim: int | None = None
    rate: float | None = None
    wants: Wants = UNKNOWN

    @property
    def max_tokens(self) -> int:
        """The window, in estimated tokens."""
        return promised(self.wants.window)

    @property
    def loopback(self) -> bool:
        """True when the address is this machine's own by its letters; in doubt it is not."""
        return re.fullmatch(_LOOPBACK, _host(self.url), re.ASCII) is not None

    @property
    def warning(self) -> str | None:
        """What to say before texts are sent away; None where they stay."""
        if self.loopback:
            return None
        how = ", not encrypted" if self.url.startswith("http:") else ""
        return (
            f"embedder {self.name} is at {self.url}, which is not this machine:"
            f" the text of every passage and every question is sent there{how}"
        )


def is_service(name: str) -> bool:
    """True for SERVICE:MODEL with a service that is known."""
    preset, _, model = name.partition(":")
    return preset in PRESETS and bool(model)


def service(name: str, variables: Mapping[str, str]) -> Result[Service, ConfigError]:
    """The service of that name (see `is_service`), or what is missing or means nothing."""
    preset_name, _, model = name.partition(":")
    preset = PRESETS[preset_name]
    if not _printable(model):
        return Failure(ConfigError(f"embedder {name!r}: the name of the model has characters that do not print"))
    return Result.do(
        Service(
            name=name,
            dialect=preset.dialect,
            model=model,
            url=url,
            key=key,
            key_variable=preset.key_variable or KEY,
            header=preset.header,
            dim=None if dim is None else int(dim),
            rate=rate,
            wants=wants(model),
        )
        for url in _url(preset_name, preset, variables)
        for key in _key(name, preset, url, variables)
        for dim in _number(DIM, variables, "a number of dimensions, such as 768", whole=True)
        for rate in _number(RATE, variables, "requests a minute, such as 60", whole=False)
    )


def wants(model: str) -> Wants:
    """What the model of this name wants; nothing, and a small window, where its family is not known."""
    lowered = model.lower()
    return next((known for family, known in MODELS.items() if family in lowered), UNKNOWN)


def _url(name: str, preset: Preset, variables: Mapping[str, str]) -> Result[str, ConfigError]:
    if given := variables.get(URL, "").strip():
        return _address(URL, given, plain_port=None)
    if preset.url_variable and (given := variables.get(preset.url_variable, "").strip().strip("\"'")):
        plain = OLLAMA_PORT if preset.dialect == "ollama" else None
        found = _address(preset.url_variable, given, plain_port=plain)
        return found.map(lambda url: url.removesuffix(preset.path) + preset.path)
    if preset.url:
        return Success(preset.url)
    names = " or ".join(filter(None, (preset.url_variable, URL)))
    return Failure(ConfigError(f"embedder {name}: set {names} to its address ({preset.where})"))


def _address(variable: str, given: str, *, plain_port: int | None) -> Result[str, ConfigError]:
    """An address as scheme://host[:port][/path]. Without a scheme it is HTTP on `plain_port`, where there is one.

    What it should be is said without repeating what was given: a password may stand in it.
    """
    if given.count(":") > 1 and "[" not in given and "/" not in given:
        given = f"[{given}]"
    match = re.fullmatch(_ADDRESS, given, re.ASCII)
    if match is None or (match[1] is None and plain_port is None) or int(match[3] or 0) > 65_535:
        return Failure(
            ConfigError(f"{variable} is no address: use http(s)://HOST[:PORT][/PATH], without name, password or query")
        )
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(match[2], match[2])  # noqa: S104 as told to a listener
    port = match[3] or ("" if match[1] else str(plain_port))
    return Success(f"{match[1] or 'http'}://{host}{':' + port if port else ''}{match[4].rstrip('/')}")


def _key(name: str, preset: Preset, url: str, variables: Mapping[str, str]) -> Result[str, ConfigError]:
    """The key: a vendor's own goes to the vendor's hosts alone, and only encrypted."""
    end = "." + preset.hosts.lstrip(".")
    vendors = bool(preset.hosts) and url.startswith("https:") and f".{_host(url)}".endswith(end)
    variable = KEY if variables.get(KEY) or not vendors else preset.key_variable
    key = variables.get(variable, "").strip()
    if vendors and not key:
        return Failure(ConfigError(f"embedder {name}: set {preset.key_variable} (or {KEY}) to the key of the service"))
    if key and not re.fullmatch(_VISIBLE, key):
        return Failure(ConfigError(f"{variable} is no key: it holds characters that no key has"))
    return Success(key)


def _number(name: str, variables: Mapping[str, str], what: str, *, whole: bool) -> Result[float | None, ConfigError]:
    given = variables.get(name, "").strip()
    if not given:
        return Success(None)
    pattern = r"[1-9]\d{0,4}" if whole else r"\d{1,6}(\.\d{1,6})?"
    value = float(given) if re.fullmatch(pattern, given, re.ASCII) else 0
    if 0 < value <= (MOST_DIMENSIONS if whole else 1e6):
        return Success(value)
    return Failure(ConfigError(f"{name}={given!r}: use {what}"))


def _host(url: str) -> str:
    match = re.fullmatch(_ADDRESS, url, re.ASCII)
    return match[2].lower() if match else ""


def _printable(text: str) -> bool:
    return text.isprintable() and text == text.strip() and len(text) <= 200
