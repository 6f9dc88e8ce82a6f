"""What a store holds, as plain values that can be compared; and a corpus small enough to be rebuilt often."""

import sqlite3
from pathlib import Path
from typing import Any

from rag_mcp.adapters import wiring
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.settings import Settings
from rag_mcp.index import ALL, Index
from rag_mcp.pure.stages import SearchPolicy

QUESTIONS = [f"what does section {n} of page {n % 7} say about pumps and valves" for n in range(20)]
BY_INDEX = SearchPolicy(exact_up_to=0)
"""Asks Chroma however few vectors there are."""


def parts(corpus: Path, store: Path, **given: Any) -> wiring.Parts:
    """The real parts over the hash embedder."""
    return wiring.assemble(
        Settings(store=store, corpus=corpus), embedder=given.pop("embedder", HashEmbedder()), **given
    )


def ingest(corpus: Path, store: Path, **given: Any) -> Any:
    """One ingest in this process, with leave to prune."""
    with Index(parts(corpus, store, **given)) as index:
        return index.ingest(allow_prune=ALL)


def contents(store: Path, corpus: Path, policy: SearchPolicy = BY_INDEX) -> dict[str, Any]:
    """Everything that must equal a rebuild: manifest, rows, vectors, keywords, repeats, index ids, answers."""
    db = sqlite3.connect(f"file:{store}/record.sqlite3?mode=ro", uri=True)
    try:
        files = db.execute(
            "select path, digest, size, recipe, labels, passages, mark, title, doc_class, warnings, lifecycle"
            " from files order by path"
        ).fetchall()
        rows = db.execute(
            'select path, ordinal, mark, key, rid, "start", "end", start_line, end_line, heading_path, crumb, text,'
            " doc_class, lifecycle from rows order by path, ordinal"
        ).fetchall()
        vectors = db.execute(
            "select distinct v.rid, v.vector from rows r join vectors v on v.rid = r.rid order by v.rid"
        ).fetchall()
        repeats = db.execute("select * from repeats order by path, ordinal").fetchall()
        snapshots = db.execute("select path from snapshots order by path").fetchall()
        where = dict(db.execute("select id, path || '#' || ordinal from rows").fetchall())
        db.execute("create virtual table temp.words using fts5vocab('main', 'keywords', 'instance')")
        words = sorted(
            (term, where[doc], column, offset) for term, doc, column, offset in db.execute("select * from words")
        )
    finally:
        db.close()
    return {
        "files": files,
        "rows": rows,
        "vectors": vectors,
        "keywords": words,
        "repeats": repeats,
        "snapshots": snapshots,
        "answers": answers(store, corpus, policy),
    }


def answers(store: Path, corpus: Path, policy: SearchPolicy) -> list[Any]:
    """Twenty answers, passages and scores."""
    with Index(parts(corpus, store), policy) as index:
        found = [index.search(question, 5) for question in QUESTIONS]
    assert all(answer.degraded is None for answer in found)
    return [[(hit.text, hit.citation, hit.score) for hit in answer.results] for answer in found]


def write_corpus(root: Path, pages: int = 14, sections: int = 6) -> Path:
    """Pages of sections, with a paragraph that several share."""
    for page in range(pages):
        folder = root / f"part{page % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        blocks = [f"# Page {page}\n"]
        for n in range(sections):
            blocks.append(f"## Section {n}\n\nPump {page * n} feeds valve {page + n} of page {page}.\n")
        blocks.append(f"## Shared {page % 4}\n\nAll valves are greased on the first Monday.\n")
        (folder / f"page{page}.md").write_text("\n".join(blocks))
    return root


def write_series(root: Path, days: int = 4) -> Path:
    """A log of equal days below a date, in the same section each day."""
    for day in range(1, days + 1):
        text = f"# Log of 2031-04-0{day}\n\n## Valves\n\nAll valves are shut.\n\n## Watch\n\nThe watch is {day % 3}.\n"
        (root / f"log-2031-04-0{day}.md").write_text(text)
    return root


def edit_corpus(root: Path) -> None:
    """One of everything: edit, delete, add, move; where there is a series, a day of it changes and a day is added."""
    if (root / "log-2031-04-02.md").exists():
        write_series(root, days=5)
        (root / "log-2031-04-02.md").write_text("# Log of 2031-04-02\n\n## Valves\n\nValve two is open.\n")
    page = root / "part0" / "page0.md"
    page.write_text(page.read_text().replace("feeds valve 2 ", "feeds no valve "))
    (root / "part1" / "page1.md").unlink()
    (root / "new.md").write_text("# New\n\nThe marlinspike is in locker seven.\n")
    (root / "part2" / "page2.md").rename(root / "part0" / "moved.md")
