"""Judged sets as passages, vectors and word lists in memory, so that every setting is tried on the same questions.

    corpus/**/*.md    queries.jsonl {id, text}    qrels.tsv id, path, grade    spans.jsonl {qid, doc, start, end}

A passage is cut by the project's own reader, a list by words asked of the project's own table; only what the setting
under trial changes is changed.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_mcp.adapters.embedders.onnx import OnnxEmbedder
from rag_mcp.adapters.record.schema import KEYWORDS
from rag_mcp.pure.chunking import embedded_text
from rag_mcp.pure.documents import read_document
from rag_mcp.pure.identity import Chunking, RunIdentity
from rag_mcp.pure.metrics import Span
from rag_mcp.pure.stages import SearchPolicy
from rag_mcp.pure.values import Document
from rag_mcp.pure.words import expression, filed, looked_for

Vectors = npt.NDArray[np.float32]
Ranking = Sequence[int]
COMMON = SearchPolicy().common


@dataclass(frozen=True)
class JudgedSet:
    """Questions by id, the paths that answer each, and the characters that do where the set says so."""

    name: str
    corpus: Path
    questions: Mapping[str, str]
    right: Mapping[str, frozenset[str]]
    spans: Mapping[str, tuple[Span, ...]]


@dataclass(frozen=True)
class Passage:
    """Where a passage stands, and its text with the headings above it."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Pool:
    """All passages of one set by one way of cutting: their vectors, one a row, and a table of their words."""

    passages: Sequence[Passage]
    vectors: Vectors
    words: sqlite3.Connection


class Bench:
    """The model, and every vector that it made, by the text: a setting costs only the texts that it alone makes."""

    def __init__(self) -> None:
        self._embedder = OnnxEmbedder()
        self._made: dict[str, bytes] = {}
        self._asked: dict[str, bytes] = {}

    def pool(self, judged: JudgedSet, chunking: Chunking, *, crumbs: bool = True) -> Pool:
        """The set, cut and embedded; without `crumbs` a passage is embedded as it stands, and filed without names."""
        run = RunIdentity(self._embedder.identity, chunking)
        passages: list[Passage] = []
        texts: list[str] = []
        words = sqlite3.connect(":memory:")
        words.executescript(KEYWORDS)
        for path in sorted(judged.corpus.rglob("*.md")):
            name = path.relative_to(judged.corpus).as_posix()
            document = read_document(name, path.read_bytes(), "", run, self._embedder.measure)
            if not isinstance(document, Document):
                raise ValueError(f"{name}: {document.why}")
            for chunk in document.chunks:
                named = (document.title or "", " ".join(chunk.heading_path)) if crumbs else ("", "")
                filing = (len(passages), filed(named[0]), filed(named[1]), filed(chunk.text))
                words.execute("insert into keywords(rowid, title, headings, body) values (?, ?, ?, ?)", filing)
                passages.append(Passage(name, chunk.start, chunk.end, f"{chunk.text} {' '.join(chunk.heading_path)}"))
                texts.append(embedded_text(chunk) if crumbs else chunk.text)
        return Pool(passages, self._embedded(texts), words)

    def question(self, text: str) -> Vectors:
        """The vector of a question."""
        if text not in self._asked:
            self._asked[text] = self._embedder.embed_query(text)
        return np.frombuffer(self._asked[text], "<f4")

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        new = sorted({text for text in texts if text not in self._made}, key=len)
        for at in range(0, len(new), 512):
            batch = new[at : at + 512]
            self._made.update(zip(batch, self._embedder.embed(batch), strict=True))
        return np.frombuffer(b"".join(self._made[text] for text in texts), "<f4").reshape(len(texts), -1)


def load(folder: Path) -> JudgedSet:
    """The set in a folder; only judged questions are kept."""
    asked = {line["id"]: line["text"] for line in _lines(folder / "queries.jsonl")}
    right: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        number, path, _ = line.split("\t")
        right.setdefault(number, set()).add(path)
    spans: dict[str, list[Span]] = {}
    for line in _lines(folder / "spans.jsonl"):
        if "start" in line:
            spans.setdefault(line["qid"], []).append(Span(line["doc"], line["start"], line["end"]))
    return JudgedSet(
        folder.name,
        folder / "corpus",
        {number: asked[number] for number in sorted(right)},
        {number: frozenset(paths) for number, paths in right.items()},
        {number: tuple(several) for number, several in spans.items()},
    )


def by_words(pool: Pool, question: str, n: int, weights: tuple[float, float, float] = (1, 1, 1)) -> dict[int, float]:
    """Up to n passages by the words of the question, BM25 with weights of title, headings and text."""
    terms = looked_for(question)
    telling = [term for term in terms if _passages_with(pool, term) <= COMMON]
    if not terms:
        return {}
    sql = "select rowid, -bm25(keywords, ?, ?, ?) from keywords where keywords match ? order by 2 desc, 1 limit ?"
    return dict(pool.words.execute(sql, [*weights, expression(telling, terms), n]))


def _passages_with(pool: Pool, term: str) -> int:
    sql = "select count(*) from (select 1 from keywords where keywords match ? limit ?)"
    return int(pool.words.execute(sql, [term, COMMON + 1]).fetchone()[0])


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
