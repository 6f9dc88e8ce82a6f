"""Where things are: from arguments first, `RAG_MCP_*` variables second, defaults last.

RAG_MCP_CORPUS_ROOT   the corpus folder          RAG_MCP_EMBEDDER    default, bge, hash, SERVICE:MODEL
RAG_MCP_DB_PATH       the store folder           RAG_MCP_MODEL_DIR   a folder with model.onnx and tokenizer.json
RAG_MCP_COLLECTION    a name, default "knowledge"      RAG_MCP_ENGINE    onnxruntime or openvino

RAG_CORPUS_DIR, RAG_STORE_DIR   the same as the first two, where those are not set

What an embedder that is a service reads besides is in `rag_mcp.pure.services`; it may be secret, and is never shown.
"""

import hashlib
import importlib.util
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure import services
from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.shown import Shown

if TYPE_CHECKING:  # a server is to answer its first request soon
    from rag_mcp.pure.health import Setting

DEFAULT_COLLECTION = "knowledge"
EMBEDDERS = ("default", "minilm-l6-v2", "bge", "bge-large-en-v1.5", "hash")
VARIABLES = {
    "RAG_MCP_CORPUS_ROOT", "RAG_MCP_DB_PATH", "RAG_MCP_COLLECTION", "RAG_MCP_EMBEDDER", "RAG_MCP_MODEL_DIR",
    "RAG_MCP_ENGINE", "RAG_MCP_HTTP_TOKEN", "RAG_MCP_TOOLS",
    *(name for name in services.VARIABLES if name.startswith("RAG_MCP_")),
}  # fmt: skip
"""All of ours that are read anywhere in the package."""
ALIASES = {"RAG_MCP_CORPUS_ROOT": "RAG_CORPUS_DIR", "RAG_MCP_DB_PATH": "RAG_STORE_DIR"}
"""Other names, which count where ours is not set."""
PROGRAM = Path(__file__).resolve().parents[2]
"""The folder that the package lies in."""
ENGINES = ("onnxruntime", "openvino")
SERVING = "onnxruntime"
"""The engine of a server that was told none: it is ready in a third of the time."""
COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@frozen(repr=False)
class Settings(Shown):
    """What a command works on. `corpus` None: the record says; `embedder` None: nothing was asked for."""

    store: Path
    corpus: Path | None
    collection: str = DEFAULT_COLLECTION
    embedder: str | None = None
    model_dir: Path | None = None
    excludes: tuple[str, ...] = ()
    services: Mapping[str, str] = field(factory=dict, repr=False)
    engine: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of this collection: the store itself, or a folder of its own inside it."""
        return self.store if self.collection == DEFAULT_COLLECTION else self.store / "collections" / self.collection

    @property
    def index(self) -> Path:
        """The folder of its index's generations."""
        return self.folder / "index"


def resolve(
    environ: Mapping[str, str],
    *,
    corpus: str | Path | None = None,
    store: str | Path | None = None,
    collection: str | None = None,
    embedder: str | None = None,
    excludes: tuple[str, ...] = (),
    engine: str | None = None,
) -> Result[Settings, ConfigError]:
    """The settings, or which of them is missing or means nothing."""
    root = corpus or named(environ, "RAG_MCP_CORPUS_ROOT")
    folder = store or named(environ, "RAG_MCP_DB_PATH")
    name = collection or environ.get("RAG_MCP_COLLECTION") or DEFAULT_COLLECTION
    by = embedder or environ.get("RAG_MCP_EMBEDDER") or None
    runs = engine or environ.get("RAG_MCP_ENGINE") or None
    variables = {name: environ[name] for name in sorted(services.VARIABLES & environ.keys())}
    if wrong := _no_collection(name) or _no_embedder(by, variables) or _no_engine(runs) or _no_place(root, folder):
        return Failure(wrong)
    where = Path(folder).expanduser().absolute() if folder else default_store(Path(root or "."))
    models = environ.get("RAG_MCP_MODEL_DIR")
    return Success(
        Settings(
            store=where,
            corpus=Path(root).expanduser() if root else None,
            collection=name,
            embedder=by,
            model_dir=Path(models).expanduser() if models else None,
            excludes=excludes,
            services=variables,
            engine=runs,
        )
    )


def named(environ: Mapping[str, str], variable: str) -> str | None:
    """A folder as a variable names it, or the other name of the variable; None where neither does.

    A client starts a server in a folder of its own choice: by the other name, what is relative is so to the program.
    """
    if given := environ.get(variable):
        return given
    other = environ.get(ALIASES[variable])
    return str(PROGRAM / Path(other).expanduser()) if other else None


def origins(environ: Mapping[str, str], settings: Settings, given: Collection[str]) -> "tuple[Setting, ...]":
    """Each setting that is in force and where it came from; `given` names those that were given as options."""
    from rag_mcp.pure.health import Setting

    told = (
        ("corpus", settings.corpus, "RAG_MCP_CORPUS_ROOT", "the store"),
        ("store", settings.store, "RAG_MCP_DB_PATH", "one for each corpus"),
        ("collection", settings.collection, "RAG_MCP_COLLECTION", "default"),
        ("embedder", settings.embedder, "RAG_MCP_EMBEDDER", "the store, else default"),
        ("engine", settings.engine, "RAG_MCP_ENGINE", "openvino for ingests where it is installed, else onnxruntime"),
        ("model folder", settings.model_dir, "RAG_MCP_MODEL_DIR", "installed packages"),
    )
    return tuple(
        Setting(name, "" if value is None else str(value), _origin(name, variable, default, environ, given))
        for name, value, variable, default in told
    )


def _origin(name: str, variable: str, default: str, environ: Mapping[str, str], given: Collection[str]) -> str:
    names = (variable, ALIASES.get(variable, variable))
    return "given" if name in given else next((each for each in names if environ.get(each)), default)


def _no_collection(name: str) -> ConfigError | None:
    """Why a store cannot have this name; None where it can."""
    if COLLECTION_NAME.fullmatch(name):
        return None
    return ConfigError(f"collection {name!r}: use up to 64 letters, digits, '.', '_' or '-' (RAG_MCP_COLLECTION)")


def _no_place(root: str | Path | None, folder: str | Path | None) -> ConfigError | None:
    """Why no store can be found by corpus and folder; None where one can."""
    if root is None and folder is None:
        return ConfigError(
            "no store was named: give --db STORE or --corpus ROOT, or set RAG_MCP_DB_PATH or RAG_MCP_CORPUS_ROOT"
        )
    if "\0" in f"{root}{folder}":
        return ConfigError("a path holds a NUL character, which no file system takes; name another")
    return None


def _no_engine(name: str | None) -> ConfigError | None:
    """Why no model can be run by it; None where one can, or none was named."""
    if name is None:
        return None
    if name not in ENGINES:
        return ConfigError(f"engine {name!r} is not one of {', '.join(ENGINES)} (RAG_MCP_ENGINE)")
    if importlib.util.find_spec(name) is None:
        return ConfigError(f"engine {name!r} is not installed: pip install 'rag-mcp[{name}]' (RAG_MCP_ENGINE)")
    return None


def _no_embedder(name: str | None, variables: Mapping[str, str]) -> ConfigError | None:
    """Why there is no embedder of this name; None where there is one, or none was named."""
    if name is None or name in EMBEDDERS:
        return None
    if services.is_service(name):
        named = services.service(name, variables)
        return named.failure() if isinstance(named, Failure) else None
    known = f"{', '.join(EMBEDDERS)}, or SERVICE:MODEL with one of {', '.join(services.PRESETS)}"
    return ConfigError(f"embedder {name!r} is not one of {known} (RAG_MCP_EMBEDDER)")


def is_folder(path: Path) -> bool:
    """True for a folder that can be seen; False also where one on the way to it may not be looked into."""
    try:
        return path.is_dir()
    except OSError:
        return False


def lies_inside(folder: Path, root: Path) -> bool:
    """True when a folder lies in another, or is it, by their real paths."""
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


def log_folder() -> Path:
    """Where this user's log files are."""
    from platformdirs import user_log_path

    return Path(user_log_path("rag-mcp", appauthor=False))


def cache_folder() -> Path:
    """Where this user's files are that may be lost at any time."""
    from platformdirs import user_cache_path

    return Path(user_cache_path("rag-mcp", appauthor=False))


def default_store(corpus: Path) -> Path:
    """The folder in the user's data directory that belongs to this corpus, by its real path."""
    from platformdirs import user_data_path

    real = corpus.expanduser().resolve()
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name)[:40] or "root"
    return Path(user_data_path("rag-mcp", appauthor=False)) / "stores" / f"{name}-{digest}"
