"""The model known as bge, over files of the tests' own: same names, same width, a sum of word vectors for a mind.

hidden state of the first token = sum over all tokens      so what the first token's state holds, all words are in
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import hypot
from pathlib import Path
from struct import pack

import pytest
from contracts.test_embedders import CLS, SEP, close, entry, port, tiny_tokenizer, wire
from returns.result import Success
from storecheck import write_corpus
from test_cli import rag

from rag_mcp import Index, Refused
from rag_mcp.adapters.embedders.models import BGE
from rag_mcp.adapters.embedders.onnx import OnnxEmbedder
from rag_mcp.pure.vectors import check, numbers

PREFIX = BGE.query_prefix.split()
WORDS = ["[UNK]", "[CLS]", "[SEP]", *(word.rstrip(":") for word in PREFIX), ":", *(f"w{n}" for n in range(40))]
DIM = 1024


def row(token: int) -> list[float]:
    """A token's vector; padding and what is unknown add nothing."""
    return [entry(token, at) if token else 0.0 for at in range(DIM)]


def summing_model() -> bytes:
    """last_hidden_state = CumSum(Gather(table, input_ids), axis 1, from the end), as protobuf."""
    table = wire(1, len(WORDS)) + wire(1, DIM) + wire(2, 1) + wire(8, "table")
    table += wire(9, b"".join(pack(f"<{DIM}f", *row(token)) for token in range(len(WORDS))))
    axis = wire(2, 7) + wire(8, "axis") + wire(9, pack("<q", 1))
    gather = wire(1, "table") + wire(1, "input_ids") + wire(2, "words") + wire(4, "Gather")
    backwards = wire(5, wire(1, "reverse") + wire(3, 1) + wire(20, 2))
    total = wire(1, "words") + wire(1, "axis") + wire(2, "last_hidden_state") + wire(4, "CumSum") + backwards
    ports = wire(11, port("input_ids", 7)) + wire(11, port("attention_mask", 7)) + wire(11, port("token_type_ids", 7))
    graph = wire(1, gather) + wire(1, total) + wire(2, "g") + wire(5, table) + wire(5, axis)
    graph += ports + wire(12, port("last_hidden_state", 1))
    return wire(1, 8) + wire(7, graph) + wire(8, wire(1, "") + wire(2, 14))


def put(folder: Path) -> Path:
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(summing_model())
    (folder / "tokenizer.json").write_text(tiny_tokenizer(WORDS))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("models")
    put(home / BGE.name)
    return home


@pytest.fixture(scope="module")
def bge(models: Path) -> OnnxEmbedder:
    return OnnxEmbedder(BGE, model_dir=models)


def vector(*words: str) -> bytes:
    """What the model should make of just these words."""
    tokens = [CLS, *(WORDS.index(word) for word in words), SEP]
    sums = [sum(column) for column in zip(*map(row, tokens), strict=True)]
    norm = hypot(*sums)
    return pack(f"<{DIM}f", *(value / norm for value in sums))


def test_vectors_are_the_first_tokens_state_of_norm_one_and_a_batch_is_not_told_by_its_padding(
    bge: OnnxEmbedder,
) -> None:
    texts = ["w1 w2", "w5 w6 w7 w8 w9", "w3"]
    made = bge.embed(texts)
    assert check(made, 3, DIM) == Success(None)
    assert all(close(one, vector(*text.split())) for one, text in zip(made, texts, strict=True))


def test_the_instruction_stands_before_questions_just_once_and_before_documents_never(bge: OnnxEmbedder) -> None:
    instruction = [*(word.rstrip(":") for word in PREFIX), ":"]
    assert close(bge.embed_query("w3 w4"), vector(*instruction, "w3", "w4"))
    assert close(bge.embed(["w3 w4"])[0], vector("w3", "w4"))
    assert BGE.query_prefix == "Represent this sentence for searching relevant passages: "
    assert BGE.document_prefix == ""


def test_the_window_is_512_tokens_and_not_one_less_or_more(bge: OnnxEmbedder) -> None:
    words = ["w1"] * 509 + ["w2"]
    full, over, short = bge.embed([" ".join(words), " ".join([*words, "w3", "w4"]), " ".join(words[:-1])])
    assert close(full, vector(*words))
    assert close(full, over)
    assert not close(full, short, within=1e-7)


def test_passages_are_cut_by_the_models_own_window_and_answers_are_by_meaning(tmp_path: Path, models: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# w1\n\nw2 w3 w4\n")
    (notes / "b.md").write_text("# w20\n\nw21 w22 w23\n")
    env = {"RAG_MCP_MODEL_DIR": str(models)}
    with Index.open(notes, store=tmp_path / "s", embedder="bge", environ=env) as index:
        index.ingest()
        assert [hit.citation.source for hit in index.search("w21 w22", mode="semantic").results] == ["b.md", "a.md"]
        assert index.setup().embedder == BGE.name
    with (
        Index.open(notes, store=tmp_path / "s", embedder="hash", environ=env) as index,
        pytest.raises(Refused) as refused,
    ):
        index.search("w21")
    assert refused.value.failure.type == "identity_mismatch"


def test_a_saved_plan_of_such_a_store_is_applied_by_the_name_it_carries(tmp_path: Path, models: Path) -> None:
    write_corpus(tmp_path / "notes", pages=2, sections=2)
    env = {"RAG_MCP_MODEL_DIR": str(models / BGE.name)}  # the folder itself does as well
    rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "bge", "--plan", "--out", "p.json", env=env)
    rag(tmp_path, "apply", "p.json", env=env)
    assert json.loads(rag(tmp_path, "stats", "--db", "s", "--json", env=env).stdout)["embedder"] == BGE.name


def test_the_packaged_model_is_found_beside_it_when_one_folder_is_named_for_both(models: Path) -> None:
    assert OnnxEmbedder(model_dir=models).measure(["one two"]) == [2]


def test_files_that_are_not_there_are_asked_for_in_a_sentence_and_not_from_the_network(tmp_path: Path) -> None:
    write_corpus(tmp_path / "notes", pages=1, sections=1)
    env = {"HF_HOME": str(tmp_path / "hub"), "HF_ENDPOINT": "http://127.0.0.1:9", "RAG_MCP_MODEL_DIR": str(tmp_path)}
    said = rag(tmp_path, "ingest", "notes", "--embedder", "bge", code=1, env=env).stderr
    assert "fetch it with: rag-mcp model fetch bge-large-en-v1.5" in said
    assert f"put model.onnx and tokenizer.json into FOLDER/{BGE.name}" in said
    assert "127.0.0.1" not in said
    asked = rag(tmp_path, "model", "fetch", "bge", code=1, env=env).stderr
    assert "it could not be fetched" in asked
    assert "put model.onnx and tokenizer.json into FOLDER" in asked
    assert "is not one of" in rag(tmp_path, "model", "fetch", "none", code=2).stderr


@pytest.fixture
def hub(models: Path) -> Iterator[str]:
    """A hub on this machine that has the two files."""

    class Hub(BaseHTTPRequestHandler):
        def answer(self) -> None:
            path = models / BGE.name / self.path.partition("/resolve/main/")[2]
            if not (self.path.startswith(f"/{BGE.hub}/") and path.is_file()):
                self.send_response(404)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("ETag", f'"{path.stat().st_size}"')
            self.send_header("X-Repo-Commit", "a" * 40)
            self.send_header("Content-Length", str(path.stat().st_size))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(path.read_bytes())

        do_GET = do_HEAD = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_what_was_fetched_once_is_used_without_the_network(tmp_path: Path, hub: str) -> None:
    write_corpus(tmp_path / "notes", pages=1, sections=1)
    env = {"HF_HOME": str(tmp_path / "hub"), "HF_ENDPOINT": hub, "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    files = json.loads(rag(tmp_path, "model", "fetch", "bge", "--json", env=env).stdout)["files"]
    assert [Path(file["path"]).name for file in files] == ["model.onnx", "tokenizer.json"]
    assert all(len(file["sha256"]) == 64 for file in files)
    env |= {"HF_ENDPOINT": "http://127.0.0.1:9"}
    rag(tmp_path, "ingest", "notes", "--db", "s", "--embedder", "bge", env=env)
    assert rag(tmp_path, "query", "pump", "--db", "s", env=env).stdout


def test_vectors_are_the_same_in_another_process(bge: OnnxEmbedder, models: Path) -> None:
    lines = (
        "import sys; from pathlib import Path; from rag_mcp.adapters.embedders.models import BGE\n"
        "from rag_mcp.adapters.embedders.onnx import OnnxEmbedder\n"
        "print(OnnxEmbedder(BGE, model_dir=Path(sys.argv[1])).embed_query('w3').hex())"
    )
    done = subprocess.run([sys.executable, "-c", lines, str(models)], capture_output=True, text=True, check=True)
    assert numbers(bytes.fromhex(done.stdout.strip())) == pytest.approx(numbers(bge.embed_query("w3")), abs=1e-6)
