"""What runs a model's file: ONNX Runtime, or OpenVINO where it is installed.

    onnxruntime         always there
    onnxruntime-plain   the same, its graph as it stands in the file: ready in a tenth of the time, five times slower
    openvino            pip install 'rag-mcp[openvino]'; in bfloat16 where the processor computes with it, else float32

Both give vectors of the same model: on 256 real passages the cosine between them was .99997 or more. So the engine is
no part of an embedder's identity; a run proves itself on a stored passage before it adds to a store.
"""

import importlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Feeds = Mapping[str, NDArray[np.int64]]

PLAIN = "onnxruntime-plain"
OUTPUT = "last_hidden_state"
STEP = 16
"""OpenVINO compiles its kernels for every shape anew, so lengths are rounded up: a quarter less time."""


class Engine(Protocol):
    """A loaded model. Safe to use from several threads."""

    def hidden(self, given: "Feeds") -> "Floats":
        """Hidden states [batch, sequence, dimension] for inputs by name, each [batch, sequence]."""
        ...


def best_engine() -> str:
    """The quicker of the engines that are installed; nothing is loaded to find out."""
    return "openvino" if importlib.util.find_spec("openvino") else "onnxruntime"


def import_numpy() -> None:
    """Load NumPy by its name, all of it, before a thread is begun in which a library may ask for a part of it.

    Who asks for `numpy.typing` holds that part while waiting for the whole; who makes the whole waits for the part.
    Python breaks such a knot by handing out a module that is half made.
    """
    import numpy  # noqa: F401


def import_engine(name: str) -> None:
    """Import the package of an engine, NumPy first. Raises ImportError."""
    import_numpy()
    importlib.import_module("openvino" if name == "openvino" else "onnxruntime")


def streams(name: str, threads: int) -> int:
    """Batches that an engine runs side by side: OpenVINO is the quicker by some percent, ONNX Runtime the slower."""
    return 2 if name == "openvino" and threads > 1 else 1


def open_engine(name: str, path: Path, threads: int) -> Engine:
    """The model in a file. Raises what the engine raises."""
    return OpenVino(path, threads) if name == "openvino" else OnnxRuntime(path, threads, plain=name == PLAIN)


class OnnxRuntime:
    """ONNX Runtime on the processor."""

    def __init__(self, path: Path, threads: int, *, plain: bool = False) -> None:
        self._session = open_session(path, threads, plain=plain)
        outputs = [output.name for output in self._session.get_outputs()]
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._output = OUTPUT if OUTPUT in outputs else outputs[0]

    def hidden(self, given: "Feeds") -> "Floats":
        """As `Engine.hidden`."""
        (hidden,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        found: Floats = hidden
        return found


class OpenVino:
    """OpenVINO on the processor. A request serves one thread at a time, so there is one for each that waits at once."""

    def __init__(self, path: Path, threads: int) -> None:
        import_numpy()
        import openvino

        core = openvino.Core()
        exact = "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": streams("openvino", threads),
            "INFERENCE_PRECISION_HINT": "f32" if exact else "bf16",
        }
        self._model = core.compile_model(core.read_model(str(path)), "CPU", settings)
        self._inputs = {given.any_name for given in self._model.inputs}
        outputs = [output.any_name for output in self._model.outputs]
        self._output = outputs.index(OUTPUT) if OUTPUT in outputs else 0
        self._idle: list[Any] = []
        self._lock = Lock()

    def hidden(self, given: "Feeds") -> "Floats":
        """As `Engine.hidden`."""
        with self._lock:
            request = self._idle.pop() if self._idle else self._model.create_infer_request()
        try:
            request.infer({name: _rounded(given[name]) for name in self._inputs})
            found: Floats = request.get_output_tensor(self._output).data[:, : given["input_ids"].shape[1]].copy()
            return found
        finally:
            with self._lock:
                self._idle.append(request)


def _rounded(rows: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """The rows, filled up with zeros to a multiple of STEP; the mask's zeros keep what is added out of every mean."""
    import numpy as np

    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % STEP)))


def open_session(path: Path, threads: int, *, plain: bool = False) -> Any:
    """An ONNX Runtime session on the processor; a plain one runs the graph as it is. Raises what the runtime raises."""
    import_numpy()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Plans of memory are kept for each shape, and every batch has its own: a fifth of the peak, for no speed.
    options.enable_mem_pattern = False
    # Threads that wait by spinning double the processor time of a query and save it nothing.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
