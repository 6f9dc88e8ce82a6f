"""`rag-mcp watch` under random edits, and how soon a note is found: `python -m benchmarks.watching [FOLDER]`.

Two minutes of 500 random edits, renames and deletes with one SIGKILL and a restart, after which the store must equal a
rebuild; then twenty notes are written one after the other, each asked for until it is found. FOLDER is copied (without
it a corpus is made), --embedder names the model. Exit code 1 when the store differs, or the median is over 5 seconds.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rag_mcp import ALL, Index, Refused
from rag_mcp.effects.embed import SAME
from rag_mcp.pure.vectors import dot

ROOT = Path(__file__).parents[1]
BOUND = 5.0
"""Seconds in which a note should be found, median of twenty."""
NOUNS = ("pump", "valve", "ledger", "harbour", "anchor", "winch", "buoy", "compass", "lantern", "rudder")


def edit_once(notes: Path, dice: random.Random, number: int) -> str:
    """One random thing done to one random file; what it was."""
    files = sorted(notes.rglob("*.md"))
    act = dice.choices(("edit", "new", "delete", "rename", "folder"), (6, 3, 2, 2, 1))[0]
    if act in ("delete", "rename") and len(files) < 4:
        act = "new"
    text = f"## Entry {number}\n\nThe {dice.choice(NOUNS)} met the {dice.choice(NOUNS)} on day {number % 97}.\n"
    match act:
        case "edit":
            target = dice.choice(files)
            target.write_text(target.read_text(errors="replace") + "\n" + text)
        case "new":
            (notes / f"new-{number}.md").write_text(f"# New {number}\n\n{text}")
        case "delete":
            dice.choice(files).unlink()
        case "rename":
            dice.choice(files).rename(notes / f"moved-{number}.md")
        case "folder":
            folder = notes / f"folder-{number % 7}" / f"deep-{number}"
            folder.mkdir(parents=True)
            (folder / "inside.md").write_text(text)
    return act


def watcher(notes: Path, store: Path, embedder: str, log: Path) -> subprocess.Popen[bytes]:
    """The command, as a user starts it."""
    command = [sys.executable, "-m", "rag_mcp.cli", "watch", str(notes), "--db", str(store), "--embedder", embedder]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("a") as out:
        return subprocess.Popen([*command, "--json", "--allow-prune", "all"], env=env, stdout=out, stderr=out)


def wait_for(notes: Path, store: Path, text: str, seconds: float = 300.0) -> float:
    """Seconds until a search by words finds the text."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        with Index.open(notes, store=store) as index:
            try:
                if any(text in hit.text for hit in index.search(text, 3, mode="keyword").results):
                    return time.monotonic() - started
            except Refused:
                pass
        time.sleep(0.02)
    raise SystemExit(f"{text!r} was not found within {seconds:.0f} seconds")


def held(store: Path) -> dict[str, list[Any]]:
    """What must equal a rebuild to the byte: manifest, rows, keywords."""
    db = sqlite3.connect(f"file:{store}/record.sqlite3?mode=ro", uri=True)
    try:
        files = "select path, digest, recipe, labels, passages, mark, doc_class from files order by path"
        rows = "select path, ordinal, mark, key, start_line, end_line, text from rows order by path, ordinal"
        return {
            "files": db.execute(files).fetchall(),
            "rows": db.execute(rows).fetchall(),
            "words": db.execute("select count(*) from keywords_docsize").fetchall(),
        }
    finally:
        db.close()


def vectors(store: Path) -> dict[tuple[str, int], bytes]:
    """The vector of each row; a model makes it with others in a batch, which may move its last digits."""
    db = sqlite3.connect(f"file:{store}/record.sqlite3?mode=ro", uri=True)
    try:
        found = db.execute("select path, ordinal, vector from rows join vectors on vectors.rid = rows.rid")
        return {(path, ordinal): vector for path, ordinal, vector in found}
    finally:
        db.close()


def differences(store: Path, rebuilt: Path) -> list[str]:
    """What is not as in a rebuild, as phrases; vectors must have a cosine of SAME or more."""
    mine, fresh = held(store), held(rebuilt)
    said = [
        f"{name}: {len(set(mine[name]) ^ set(fresh[name]))} lines differ" for name in mine if mine[name] != fresh[name]
    ]
    ours, theirs = vectors(store), vectors(rebuilt)
    if ours.keys() != theirs.keys():
        return [*said, "vectors: other rows have them"]
    nearest = min((dot(ours[row], theirs[row]) for row in ours), default=1.0)
    other = sum(1 for row in ours if ours[row] != theirs[row])
    print(f"vectors: {other} of {len(ours)} not equal to the byte, least cosine {nearest:.6f}")
    return [*said, *([f"vectors: cosine {nearest}"] if nearest < SAME else [])]


def resident(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """(MiB resident, open files) of a process."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20, len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def main() -> int:
    """Run it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", nargs="?")
    asked.add_argument("--embedder", default="default")
    asked.add_argument("--seconds", type=float, default=120)
    asked.add_argument("--edits", type=int, default=500)
    given = asked.parse_args()
    home = Path(tempfile.mkdtemp(prefix="watching-"))
    notes, store, log = home / "notes", home / "store", home / "log"
    if given.folder:
        shutil.copytree(given.folder, notes)
    else:
        notes.mkdir()
        for n in range(40):
            edit_once(notes, random.Random(n), 1000 + n) if n > 4 else (notes / f"{n}.md").write_text(
                f"# {n}\n\nOne.\n"
            )
    dice = random.Random(5)
    (notes / "first.md").write_text("# First\n\nThe axolotl opens the gate.\n")
    process = watcher(notes, store, given.embedder, log)
    print(f"first ingest: {wait_for(notes, store, 'axolotl', 1200):.1f} s")
    before = resident(process)
    started = time.monotonic()
    for n in range(given.edits):
        edit_once(notes, dice, n)
        if n == given.edits // 2:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = watcher(notes, store, given.embedder, log)
        time.sleep(max(0.0, started + (n + 1) * given.seconds / given.edits - time.monotonic()))
    print(f"{given.edits} edits in {time.monotonic() - started:.1f} s, one SIGKILL and restart")
    (notes / "last.md").write_text("# Last\n\nThe quokka closes the gate.\n")
    print(f"settled {wait_for(notes, store, 'quokka'):.1f} s after the last edit")
    waits = []
    for n in range(20):
        time.sleep(dice.uniform(1.0, 2.0))
        (notes / f"fresh-{n}.md").write_text(f"# Fresh {n}\n\nThe word of the hour is xylograph{n}x.\n")
        waits.append(wait_for(notes, store, f"xylograph{n}x"))
    after = resident(process)
    process.terminate()
    code = process.wait(60)
    with Index.open(notes, store=home / "rebuilt", embedder=given.embedder) as index:
        index.ingest(allow_prune=ALL)
    unlike = differences(store, home / "rebuilt")
    runs = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
    events = {event: sum(1 for run in runs if run["event"] == event) for event in ("ingested", "quiet", "refused")}
    print(f"runs: {events}; ended by SIGTERM with {code}; MiB and open files: {before} at first, {after} at last")
    print(
        f"a note is found after {statistics.median(waits):.2f} s (median of 20; {min(waits):.2f} to {max(waits):.2f})"
    )
    print(f"the store equals a rebuild: {not unlike} {unlike or ''}")
    shutil.rmtree(home)
    return 0 if not unlike and statistics.median(waits) <= BOUND and code == 143 else 1


if __name__ == "__main__":
    sys.exit(main())
