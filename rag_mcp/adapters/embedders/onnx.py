"""Sentence encoders: an ONNX file, run by one of the engines of `engines`.

    vector(text) = h / |h|,   h = mean over tokens of the last hidden state, or that of the first token (cls)

A batch costs what its longest text costs, so a batch is padded to its own longest text and to nothing more,
and many texts are run sorted by length. A tokenizer file may ask for truncation and padding of its own: both
are always set anew here.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, RLock
from typing import TYPE_CHECKING, Any

from returns.result import Failure, Result, Success

from rag_mcp.adapters.embedders.engines import (
    PLAIN,
    Engine,
    best_engine,
    import_engine,
    import_numpy,
    open_engine,
    processors,
    streams,
)
from rag_mcp.adapters.embedders.models import MINILM, ModelFiles, ModelMismatch, ModelSpec, locate, verify
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.effects.threads import begun
from rag_mcp.pure.identity import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WHOLE = 32
"""As many texts as are run as one batch, as they come; more are sorted by length and cut into batches."""
BATCH = 16
FEW = 10
"""Texts that the plain graph has embedded before another engine would be ready."""
MEASURED = 256
"""Texts counted at a time; an encoding takes some hundred times the memory of its text."""


class OnnxEmbedder:
    """The embedder of one model; safe to use from several threads. Each part is loaded when first needed.

    `model_dir` is looked into first; `threads` defaults to the processors this process may use; `download`
    gives leave to fetch a model that no package carries; `engine` is a name of `engines`, None the best that is
    installed. The first `few` texts are embedded by the plain graph, as long as no more are asked for: making another
    engine ready takes as long as ten of them. Every method raises EmbedderFault.
    """

    def __init__(
        self,
        spec: ModelSpec = MINILM,
        *,
        model_dir: Path | None = None,
        threads: int | None = None,
        download: bool = False,
        engine: str | None = None,
        few: int = 0,
    ) -> None:
        self._spec = spec
        self._model_dir = model_dir
        self._threads = threads or processors()
        self._download = download
        self.engine = engine or best_engine()
        self._lock, self._loading = RLock(), RLock()
        self._files: ModelFiles | None = None
        self._hashes: dict[Path, str] = {}
        self._identity: EmbedderIdentity | None = None
        self._counter: Any = None
        self._few = few
        self._encoders: dict[str, _Encoder] = {}
        self._foreseen: tuple[str, Future[bytes]] | None = None

    @property
    def pinned(self) -> bool:
        """Whether the hashes of the model are known, so that its identity is."""
        return bool(self._spec.weights.sha256 and self._spec.tokenizer.sha256)

    @property
    def identity(self) -> EmbedderIdentity:
        """Constants where the hashes of the model are known; else its files are found and hashed, once."""
        with self._lock:
            if self._identity is None:
                self._identity = self._identify()
            return self._identity

    def measure(self, texts: Sequence[str]) -> Sequence[int]:
        """Token counts, special tokens not included; loads the tokenizer and nothing else."""
        with self._lock:
            if self._counter is None:
                self._counter = self._tokenizer()
        counts: list[int] = []
        with _faults(f"the tokenizer of model {self._spec.name} failed"):
            for start in range(0, len(texts), MEASURED):
                some = list(texts[start : start + MEASURED])
                encoded = self._counter.encode_batch_fast(some, add_special_tokens=False)
                counts.extend(len(encoding.ids) for encoding in encoded)
        return counts

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector for each text, in order."""
        return self._vectors([self._spec.document_prefix + text for text in texts])

    def embed_query(self, text: str) -> bytes:
        """The vector of a question."""
        if self._foreseen and self._foreseen[0] == text:
            return self._foreseen[1].result()
        return self._question(text)

    def _question(self, text: str) -> bytes:
        return self._vectors([self._spec.query_prefix + text])[0]

    def _vectors(self, texts: list[str]) -> list[bytes]:
        encoder = self._loaded(self._engine_for(len(texts)))
        with _faults(f"model {self._spec.name} failed"):
            return encoder.vectors(texts)

    def _engine_for(self, texts: int) -> str:
        with self._lock:
            plain = 0 < self._few >= texts
            self._few = self._few - texts if plain else 0
            return PLAIN if plain else self.engine

    @property
    def at_once(self) -> int:
        """As many as the engine has streams."""
        return streams(self.engine, self._threads)

    def warm(self, question: str | None = None, *, few: bool = True) -> None:
        """Load tokenizer and weights in a thread, while packages are imported here, where all else is imported.

        Whatever goes wrong, `embed` meets it again. An interpreter that ends waits for the thread: native code must not
        be at work when it is gone.
        """
        imported = Event()
        if not few:
            self._few = 0
        engine = PLAIN if self._few else self.engine

        def load() -> bytes:
            with suppress(EmbedderFault):
                self._hash(self._found().weights)
            imported.wait()
            self._loaded(engine)
            return b"" if question is None else self._question(question)

        _, outcome = begun(load, "model", daemon=False)
        if question is not None:
            self._foreseen = question, outcome
        try:
            with suppress(Exception):
                import_engine(engine)
                import tokenizers  # noqa: F401
        finally:
            imported.set()

    def _loaded(self, name: str) -> "_Encoder":
        with self._loading:
            if name not in self._encoders:
                path = self._found().weights
                with ThreadPoolExecutor(1) as beside:
                    with _faults("NumPy could not be loaded"):
                        import_numpy()
                    tokenizer = beside.submit(self._tokenizer)
                    self._hash(path)  # nothing opens a file that is not the one it should be
                    with _faults(f"{path}: the model could not be loaded"):
                        engine = open_engine(name, path, self._threads)
                    self._encoders[name] = _Encoder(engine, tokenizer.result(), self._spec)
            return self._encoders[name]

    def _tokenizer(self) -> Any:
        path = self._found().tokenizer
        self._hash(path)
        with _faults(f"{path}: the tokenizer could not be loaded"):
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(path))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            return tokenizer

    def _identify(self) -> EmbedderIdentity:
        spec = self._spec
        weights, tokenizer = spec.weights.sha256, spec.tokenizer.sha256
        if not self.pinned:
            weights, tokenizer = self._hash(self._found().weights), self._hash(self._found().tokenizer)
        return EmbedderIdentity(
            name=spec.name,
            weights=weights,
            tokenizer=tokenizer,
            dim=spec.dim,
            pooling=spec.pooling,
            query_prefix=spec.query_prefix,
            document_prefix=spec.document_prefix,
            max_tokens=spec.max_tokens,
        )

    def _found(self) -> ModelFiles:
        if self._files is None:
            match locate(self._spec, self._model_dir, self._download):
                case Success(files):
                    self._files = files
                case Failure(missing):
                    raise EmbedderFault(missing.sentence)
        assert self._files is not None
        return self._files

    def _hash(self, path: Path) -> str:
        """The verified hash of a file of the model; each is read through once."""
        if path not in self._hashes:
            piece = self._spec.weights if path == self._found().weights else self._spec.tokenizer
            with _faults(f"{path}: the file could not be read"):
                verified: Result[str, ModelMismatch] = verify(piece, path)
            match verified:
                case Success(digest):
                    self._hashes[path] = digest
                case Failure(mismatch):
                    raise EmbedderFault(mismatch.sentence)
        return self._hashes[path]


class _Encoder:
    """A loaded model: its engine, and its tokenizer cut to its window."""

    def __init__(self, engine: Engine, tokenizer: Any, spec: ModelSpec) -> None:
        tokenizer.enable_truncation(spec.max_tokens)
        self._engine = engine
        self._tokenizer = tokenizer
        self._pooling = spec.pooling

    def vectors(self, texts: list[str]) -> list[bytes]:
        """One vector for each text, in order."""
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]
        vectors = [b""] * len(rows)
        for places in batches([len(row) for row in rows]):
            pooled = self._pooled([rows[place] for place in places])
            for place, vector in zip(places, pooled, strict=True):
                vectors[place] = vector.astype("<f4").tobytes()
        return vectors

    def _pooled(self, rows: list[list[int]]) -> "Floats":
        import numpy as np

        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._engine.hidden(given)
        if self._pooling == "cls":
            pooled = hidden[:, 0]
        else:
            weight = mask.astype(np.float32)
            pooled = (weight[:, None, :] @ hidden)[:, 0] / weight.sum(1, keepdims=True)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        # A row of zeros stays one: it is for the caller's check to find, not for a division to blur.
        unit: Floats = (pooled / np.where(norms == 0, 1, norms)).astype(np.float32)
        return unit


def batches(lengths: Sequence[int]) -> Iterator[Sequence[int]]:
    """Places of texts, batch by batch: all at once if they are few, else sorted by length, longest first."""
    if len(lengths) <= WHOLE:
        if lengths:
            yield range(len(lengths))
        return
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


@contextmanager
def _faults(what: str) -> Iterator[None]:
    """Whatever a vendor's library raises (its exceptions share no base of their own), as EmbedderFault."""
    try:
        yield
    except EmbedderFault:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise EmbedderFault(f"{what} ({reason})") from error
