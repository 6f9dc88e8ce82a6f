"""Two other ways to embed the passages of a store, each a program that prints JSON: passages and processor seconds.

    python -m benchmarks.passages bare STORE     InferenceSession.run over the very batches of an ingest, as token ids
    python -m benchmarks.passages peer STORE     Chroma's default embedder, called once for each file

The account holds the embedding alone: no imports, no loading of the model, no reading, cutting or storing, and a
first call to warm up goes before. Both run the model's file that the library runs.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rag_mcp.adapters.embedders.engines import open_session, processors
from rag_mcp.adapters.embedders.models import MINILM, ModelFiles, locate
from rag_mcp.adapters.record import rows as lay
from rag_mcp.adapters.record.schema import connect_reader
from rag_mcp.effects.embed import Text, batches
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.dates import own_date

PEER_FILES = ("config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt")


def stored(store: Path, files: ModelFiles) -> list[Text]:
    """Every distinct passage as it was embedded, with its size in tokens, as an ingest meets them."""
    tokenizer = tokenizer_of(files)
    db = connect_reader(store)
    first: dict[str, Text] = {}
    for (path,) in db.execute("select path from files order by path").fetchall():
        for _, chunk in lay.stored_chunks(db, path):
            text = embedded_text(chunk, own_date(path))
            first.setdefault(chunk.key, Text(chunk.key, path, text, len(tokenizer.encode(text).ids)))
    db.close()
    return list(first.values())


def tokenizer_of(files: ModelFiles) -> Any:
    """The tokenizer, cut to the model's window, without padding."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.enable_truncation(MINILM.max_tokens)
    tokenizer.no_padding()
    return tokenizer


def bare(texts: Sequence[Text], files: ModelFiles) -> float:
    """Processor seconds of `InferenceSession.run` over the batches, already tokenised and padded."""
    import numpy as np

    tokenizer, session = tokenizer_of(files), open_session(files.weights, processors())
    feeds = []
    for batch in batches(texts):
        rows = [tokenizer.encode(text.text).ids for text in batch]
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)], mask[place, : len(row)] = row, 1
        feeds.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    session.run(None, feeds[-1])

    def work() -> None:
        for feed in feeds:
            session.run(None, feed)

    return seconds(work)


def peer(texts: Sequence[Text], files: ModelFiles) -> float:
    """Processor seconds of Chroma's default embedder, as it comes, given the texts of one file at a time."""
    from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME)
        folder.mkdir()
        shutil.copyfile(files.weights, folder / "model.onnx")
        shutil.copyfile(files.tokenizer, folder / "tokenizer.json")
        for name in PEER_FILES:  # looked for and never read; without them it would download
            (folder / name).touch()
        ONNXMiniLM_L6_V2.DOWNLOAD_PATH = Path(place)
        embed = ONNXMiniLM_L6_V2()
        embed([texts[0].text])
        by_file = [[text.text for text in group] for _, group in groupby(texts, attrgetter("path"))]

        def work() -> None:
            for group in by_file:
                embed(group)

        return seconds(work)


def seconds(work: Callable[[], None]) -> float:
    """Processor seconds of this process, of all its threads, that `work` takes."""
    before = os.times()
    work()
    after = os.times()
    return after.user + after.system - before.user - before.system


def main(way: str, store: str) -> None:
    """Print {"passages": N, "cpu": seconds}."""
    files = locate(MINILM).unwrap()
    texts = stored(Path(store), files)
    print(json.dumps({"passages": len(texts), "cpu": {"bare": bare, "peer": peer}[way](texts, files)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
