"""llama.cpp's own server, over a model of random weights that is made here: real in all but what it knows.

    python tests/llama_server.py KEY         prints its address, serves until its standard input ends

A BERT of two layers, whose words are single characters, with a window of 512 tokens. Needs gguf and xllamacpp.
"""

import sys
import tempfile
from pathlib import Path
from string import printable

DIM, LAYERS, HEADS, INNER, WINDOW = 64, 2, 4, 128, 512
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_model(path: Path) -> None:
    """The model as a GGUF file."""
    import gguf
    import numpy as np

    letters = [char for char in printable if not char.isspace()]
    words = [*SPECIAL, *("\u2581" + char for char in letters), *letters]
    file = gguf.GGUFWriter(str(path), "bert")
    file.add_context_length(WINDOW)
    file.add_embedding_length(DIM)
    file.add_feed_forward_length(INNER)
    file.add_block_count(LAYERS)
    file.add_head_count(HEADS)
    file.add_layer_norm_eps(1e-12)
    file.add_causal_attention(value=False)
    file.add_pooling_type(gguf.PoolingType.MEAN)
    file.add_tokenizer_model("bert")
    file.add_token_type_count(2)
    file.add_token_list([word.encode() for word in words])
    file.add_token_types([3 if word in SPECIAL else 1 for word in words])
    file.add_pad_token_id(0)
    file.add_unk_token_id(1)
    file.add_bos_token_id(2)
    file.add_sep_token_id(3)
    file.add_eos_token_id(3)
    file.add_mask_token_id(4)
    random = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> None:
        file.add_tensor(f"{name}.weight", (0.3 * random.standard_normal(shape)).astype(np.float32))

    def linear(name: str, out: int, into: int) -> None:
        weights(name, out, into)
        file.add_tensor(f"{name}.bias", np.zeros(out, np.float32))

    def norm(name: str) -> None:
        file.add_tensor(f"{name}.weight", np.ones(DIM, np.float32))
        file.add_tensor(f"{name}.bias", np.zeros(DIM, np.float32))

    weights("token_embd", len(words), DIM)
    weights("position_embd", WINDOW, DIM)
    weights("token_types", 2, DIM)
    norm("token_embd_norm")
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            linear(f"blk.{layer}.{part}", DIM, DIM)
        linear(f"blk.{layer}.ffn_up", INNER, DIM)
        linear(f"blk.{layer}.ffn_down", DIM, INNER)
        norm(f"blk.{layer}.attn_output_norm")
        norm(f"blk.{layer}.layer_output_norm")
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def main() -> None:
    """Serve until standard input ends."""
    import xllamacpp as llama

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.gguf"
        write_model(model)
        given = llama.CommonParams()
        given.model.path, given.model_alias = str(model), {"tiny"}
        given.embedding, given.pooling_type = True, llama.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        given.n_ctx, given.n_batch, given.n_ubatch, given.n_parallel = 2 * WINDOW, WINDOW, WINDOW, 2
        given.hostnames, given.port, given.api_keys, given.warmup = ["127.0.0.1"], 0, [sys.argv[1]], False
        server = llama.Server(given)
        print(server.listening_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
