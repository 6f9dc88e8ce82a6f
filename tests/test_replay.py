"""Forty days of real hand-over notes, each ingested over the day before: nothing is embedded twice, nothing is left."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.replay import BOUND, commits, days, replay

SHARED = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parents[2] / "shared")) / "data"


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "a8-handoff.tar.gz").is_file(), reason=f"no real corpora at {SHARED}")
def test_forty_days_of_real_notes_cost_each_text_once_and_end_as_a_rebuild(tmp_path: Path) -> None:
    shutil.unpack_archive(SHARED / "a8-handoff.tar.gz", tmp_path / "data", filter="data")
    (history,) = (path for path in (tmp_path / "data").rglob("history") if path.is_dir())
    steps = list(days(history))
    assert len(steps) == 40 and set(steps[-1][1]) == {
        f"{name}/handoff.md" for name in ("lean-doc", "operator", "pypeek")
    }
    made = replay(steps, tmp_path / "home", every=20)
    assert (made.steps, made.compared, made.differing) == (40, 2, [])
    assert 1 <= made.ratio <= BOUND
    assert made.rebuilds > made.embedded


def test_commits_are_replayed_oldest_first_and_what_was_removed_goes(tmp_path: Path) -> None:
    root = tmp_path / "repository"

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)

    root.mkdir()
    git("init", "-q")
    for a, b in (("one", "two"), ("one", None), ("three", None)):
        (root / "a.md").write_text(f"# A\n\nText {a}.\n")
        (root / "b.md").write_text(f"# B\n\nText {b}.\n") if b else (root / "b.md").unlink(missing_ok=True)
        git("add", "-A")
        git("commit", "-q", "-m", "a step")
    steps = list(commits(root, 40))
    assert [sorted(files) for _, files in steps] == [["a.md", "b.md"], ["a.md"], ["a.md"]]
    made = replay(steps, tmp_path / "home")
    assert (made.embedded, made.distinct, made.files, made.differing) == (3, 3, 1, [])
