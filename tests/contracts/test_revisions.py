"""The commit of a corpus, asked of a real git; nothing that a repository names is run, and nothing is an error."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_mcp.adapters.revisions import revision
from rag_mcp.pure.revisions import Revision, unborn

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)


def git(folder: Path, *words: str) -> str:
    world = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nobody = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
    world |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *nobody, *words], cwd=folder, env=world, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A repository with one commit, of a note and a program."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "pumps.md").write_text("# Pumps\n")
    (notes / "pumps.py").write_text("pass\n")
    git(notes, "init", "-q")
    git(notes, "add", ".")
    git(notes, "commit", "-q", "-m", "one")
    return notes


def head(notes: Path) -> str:
    return git(notes, "rev-parse", "--short", "HEAD")


def test_a_clean_corpus_is_at_its_commit(notes: Path) -> None:
    assert revision(str(notes)) == Revision(head(notes), False, f"commit {head(notes)}")


def changed(notes: Path) -> None:
    (notes / "pumps.md").write_text("# Pumps and valves\n")


def added(notes: Path) -> None:
    (notes / "new").mkdir()
    (notes / "new" / "valves.MD").write_text("# Valves\n")


def removed(notes: Path) -> None:
    (notes / "pumps.md").unlink()


def staged(notes: Path) -> None:
    changed(notes)
    git(notes, "add", ".")


def ignoring(notes: Path) -> None:
    (notes / ".ragignore").write_text("pumps.md\n")


@pytest.mark.parametrize("act", [changed, added, removed, staged, ignoring])
def test_what_would_change_what_is_indexed_is_uncommitted(notes: Path, act: Callable[[Path], None]) -> None:
    act(notes)
    found = revision(str(notes))
    assert (found.commit, found.uncommitted_changes) == (head(notes), True)
    assert found.label.endswith("with uncommitted changes")


def test_what_is_no_document_and_what_lies_outside_is_none(notes: Path) -> None:
    (notes / "pumps.py").write_text("print()\n")
    (notes / "sub").mkdir()
    (notes / "sub" / "a.md").write_text("a\n")
    git(notes, "add", "sub")
    git(notes, "commit", "-q", "-m", "two")
    assert revision(str(notes)).uncommitted_changes is False
    changed(notes)
    assert revision(str(notes / "sub")).uncommitted_changes is False


def test_a_folder_without_git_is_not_under_version_control(tmp_path: Path) -> None:
    assert revision(str(tmp_path)) == Revision(None, None, "not under version control")


def test_a_folder_that_its_repository_ignores_is_not_either(notes: Path) -> None:
    (notes / ".gitignore").write_text("build/\n")
    (notes / "build").mkdir()
    assert revision(str(notes / "build")) == Revision()


def test_before_the_first_commit_everything_is_uncommitted(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert revision(str(tmp_path)) == unborn()


def test_a_working_tree_of_another_repository_is_at_its_own_commit(notes: Path, tmp_path: Path) -> None:
    git(notes, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert revision(str(tmp_path / "tree")).commit == head(notes)


def broken(git_folder: Path) -> None:
    (git_folder / "HEAD").write_bytes(b"\xff\xfe nonsense")


def bad_settings(git_folder: Path) -> None:
    (git_folder / "config").write_text("[core\nnonsense")


def empty(git_folder: Path) -> None:
    shutil.rmtree(git_folder)
    git_folder.mkdir()


@pytest.mark.parametrize("damage", [broken, bad_settings, empty])
def test_a_damaged_repository_is_said_to_be_one(notes: Path, damage: Callable[[Path], None]) -> None:
    damage(notes / ".git")
    found = revision(str(notes))
    assert (found.commit, found.uncommitted_changes) == (None, None)
    assert "could not be told" in found.label and "\n" not in found.label


def test_a_git_that_hangs_or_is_not_there_is_waited_for_in_bounds(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert "not installed" in revision(str(notes)).label
    (programs / "git").write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    (programs / "git").chmod(0o755)
    assert "within 0.5 seconds" in revision(str(notes), patience=0.5).label


def test_a_program_named_git_in_the_current_folder_is_never_it(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = head(notes)
    (notes / "git").write_text(f"#!/bin/sh\ntouch {notes}/ran\n")
    (notes / "git").chmod(0o755)
    monkeypatch.chdir(notes)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert revision(str(notes)).commit == commit
    assert not (notes / "ran").exists()


def test_nothing_that_the_repository_or_the_environment_names_is_run(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap, ran = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    trap.chmod(0o755)
    git(notes, "config", "core.fsmonitor", str(trap))
    git(notes, "config", "core.pager", str(trap))
    git(notes, "config", "pager.status", str(trap))
    git(notes, "config", "diff.external", str(trap))
    git(notes, "config", "core.sshCommand", str(trap))
    for name in ("evil", "evil.with=odd name"):
        for part in ("clean", "smudge", "process"):
            git(notes, "config", f"filter.{name}.{part}", str(trap))
        git(notes, "config", f"filter.{name}.required", "true")
    (notes / ".git" / "info").mkdir(exist_ok=True)
    (notes / ".git" / "info" / "attributes").write_text("*.md filter=evil\n")
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
        (notes / ".git" / "hooks" / hook).parent.mkdir(exist_ok=True)
        shutil.copy(trap, notes / ".git" / "hooks" / hook)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("GIT_PAGER", str(trap))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={trap}'")
    os.utime(notes / "pumps.md", (1, 1))  # git must look into the file, which is when a filter is run
    found = revision(str(notes))
    assert (found.commit, found.uncommitted_changes) == (head(notes), False)
    assert not ran.exists(), ran.read_text()
    careless = {"PATH": os.environ["PATH"]}
    subprocess.run(["git", "status"], cwd=notes, env=careless, capture_output=True, check=False)
    assert ran.exists()  # git itself, asked without care, runs the trap


def test_nothing_of_the_repository_is_changed(notes: Path) -> None:
    def tree() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in notes.rglob("*") if path.is_file()}

    os.utime(notes / "pumps.md", (1, 1))
    before = tree()
    revision(str(notes))
    assert tree() == before
