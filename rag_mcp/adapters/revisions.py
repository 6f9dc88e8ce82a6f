"""The commit that a corpus is at, asked of git; whatever is amiss is part of the answer, never an error.

What a repository configures may be anybody's: nothing that it names is run. No hook, no file system monitor, no pager,
no filter of contents, no helper of a transport; nothing is written or fetched, and no variable of ours steers it.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_mcp.pure.revisions import Revision, at_commit, unborn, untold

if TYPE_CHECKING:  # most corpora are in no repository, and then nothing is started
    import subprocess

PATIENCE = 5.0
"""Seconds for each question."""
_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_FILTERS = {"clean": "", "smudge": "", "process": "", "required": "false"}
_DOCUMENTS = (":(icase,glob)**/*.md", ":(icase,glob)**/*.markdown", ":(glob)**/.ragignore")
_STATUS = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all", "--", *_DOCUMENTS)


def revision(root: str, *, patience: float = PATIENCE) -> Revision:
    """The revision of the corpus at `root`, an absolute path; git is asked only where there is a repository."""
    if not _has_repository(root):
        return Revision()
    import subprocess

    git = _program(os.environ)
    if git is None:
        return untold("git is not installed")
    try:
        return _Asked(git, root, patience).revision()
    except subprocess.TimeoutExpired:
        return untold(f"git did not answer within {patience:g} seconds")
    except (OSError, ValueError) as error:
        return untold(type(error).__name__)
    except _Refused as why:
        return untold(str(why))


def _has_repository(root: str) -> bool:
    return any(os.path.lexists(place / ".git") for place in (Path(root), *Path(root).parents))


def _program(environ: Mapping[str, str]) -> str | None:
    """Git by its absolute path: a program named git in whatever folder is the current one is not it."""
    import shutil

    places = [place for place in environ.get("PATH", os.defpath).split(os.pathsep) if Path(place).is_absolute()]
    return shutil.which("git", path=os.pathsep.join(places)) if places else None


class _Refused(Exception):
    """What git said instead of an answer."""


class _Asked:
    """One repository, asked with its own settings overruled."""

    def __init__(self, git: str, root: str, patience: float) -> None:
        self._git, self._root, self._patience = git, root, patience
        named = self._said("config", "-z", "--name-only", "--get-regexp", r"^filter\.", may_fail=True)
        self._filters = sorted({name.rpartition(".")[0] for name in named.split("\0") if name})

    def revision(self) -> Revision:
        """What it is at."""
        if self._run("check-ignore", "-q", ".").returncode == 0:
            return Revision()
        if self._run("rev-parse", "--git-dir").returncode != 0:
            raise _Refused(self._why)
        head = self._said("rev-parse", "--short", "--verify", "-q", "HEAD", may_fail=True).strip()
        return at_commit(head, changed=bool(self._said(*_STATUS))) if head else unborn()

    def _said(self, *question: str, may_fail: bool = False) -> str:
        done = self._run(*question)
        if done.returncode and not may_fail:
            raise _Refused(self._why)
        return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape")

    def _run(self, *question: str) -> "subprocess.CompletedProcess[bytes]":
        import subprocess

        done = subprocess.run(
            [self._git, "--no-pager", "-C", self._root, *question],
            env=self._environment(),
            cwd=os.sep,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self._patience,
            check=False,
        )
        self._why = (
            done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200] or f"exit code {done.returncode}"
        )
        return done

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
        return {
            **kept,
            **_overruled({**_OFF, **dict(self._unfiltered())}.items()),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def _unfiltered(self) -> Iterable[tuple[str, str]]:
        filters: list[str] = getattr(self, "_filters", [])
        return ((f"{name}.{part}", value) for name in filters for part, value in _FILTERS.items())


def _overruled(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Settings as variables: they win over all files, and a name may hold any character."""
    pairs = list(settings)
    numbered = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in enumerate(pairs)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
    return {"GIT_CONFIG_COUNT": str(len(pairs)), **numbered, **values}
