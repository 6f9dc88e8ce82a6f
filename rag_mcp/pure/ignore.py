r"""What of a corpus is left out, as data.

    folders that hold no notes    by name, at any depth
    --exclude PATTERN             judged next; nothing brings back what it leaves out, save a later "!" --exclude
    .ragignore                    gitignore syntax; the deepest file that has a say decides, in it the last line

A walk asks about every folder before it enters it, so what lies in a folder that was left out is never asked
about: as in git, a file cannot be brought back out of such a folder.

Patterns are git's (gitignore(5)), matched by characters, not bytes; `**` within a name is `*`, as its manual
says. An --exclude with a slash inside and no wildcard is, besides, a plain prefix of the path: `journal/2024-`
leaves out journal/2024-01.md and journal/2024-q1/. So:

    drafts        a file or folder of that name, at any depth      /drafts   only at the top
    drafts/       a folder of that name, at any depth              a/b       only at the top (a file: below its folder)
    *.tmp.md      files or folders by wildcard, at any depth       a/**/b    b at any depth below a

The matcher is written here because the patterns guard what may be private, and the library at hand brings
back more than git does (lines `private` and `!notes`: it reads notes/private/). Where git silently drops a
line that cannot match (an open bracket, a lone backslash at the end), this refuses the file: doubt is said.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.shown import Shown

IGNORE_FILE: Final = ".ragignore"

CACHES = frozenset({".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis", "__pycache__"})
HOLD_NO_NOTES = CACHES | {".git", ".hg", ".svn", ".obsidian", ".trash", "node_modules"}
ENVIRONMENTS = frozenset({".venv", "venv", ".env", "env"})
NO_NOTES = "a folder that holds no notes"
THE_STORE = "the store itself"
EDITORS_LOCK = "an editor's lock, not a note"
READ_THERE = "which is read there"

_BODY = re.compile(r"((?:[^\\]|\\.)*?) *", re.DOTALL)
_CLASS = re.compile(r"\[:([a-z]*):\]")
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "\x21-\x7e",
    "lower": "a-z",
    "print": "\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def nothing_lost(why: str) -> bool:
    """True where what was left out, for this reason, holds no text of the user's, or is read at another place."""
    return why in (NO_NOTES, THE_STORE, EDITORS_LOCK) or why.endswith(READ_THERE)


@frozen(repr=False)
class Pattern(Shown):
    """One line: `regex` matches whole paths, relative to the folder that the line speaks of."""

    text: str
    negated: bool
    folders_only: bool
    regex: re.Pattern[str]

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """True when the line speaks of exactly this path."""
        return (is_folder or not self.folders_only) and self.regex.fullmatch(path) is not None


@frozen(repr=False)
class Rules(Shown):
    """The rules in force in one folder: --exclude patterns, and (folder, lines) of .ragignore files, deepest first."""

    excludes: tuple[Pattern, ...] = ()
    files: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()

    @classmethod
    def of(cls, excludes: Iterable[str]) -> Result["Rules", str]:
        """Rules of --exclude patterns alone, or which of them means nothing."""
        return _patterns(excludes, prefixes=True).map(cls).alt(lambda why: f"--exclude {why}")

    def with_file(self, folder: str, text: str) -> Result["Rules", str]:
        """The rules below `folder` ("" is the root), whose .ragignore holds `text`; or which line means nothing."""
        lines = (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))
        written = (line for line in lines if line and not line.startswith("#"))
        return (
            _patterns(written)
            .map(lambda found: evolve(self, files=((folder, found), *self.files)))
            .alt(lambda why: f"its {IGNORE_FILE} cannot be followed: {why}")
        )

    def verdict(self, path: str, *, is_folder: bool) -> str | None:
        """Why the entry at `path` is left out, or None when it is to be read. No path above it was left out."""
        if is_folder and path.rpartition("/")[2] in HOLD_NO_NOTES:
            return NO_NOTES
        if self.excludes and (last := _last(self.excludes, path, is_folder)) and not last.negated:
            return f"excluded by --exclude: {last.text}"
        for folder, patterns in self.files:
            start = len(folder) + 1 if folder else 0
            if last := _last(patterns, path[start:], is_folder):
                where = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
                return None if last.negated else f"excluded by {where}: {last.text}"
        return None


def is_environment(name: str, entries: Iterable[str]) -> bool:
    """True for a folder that by its name and by what it holds is a Python virtual environment."""
    return name in ENVIRONMENTS and "pyvenv.cfg" in entries


def _last(patterns: tuple[Pattern, ...], path: str, is_folder: bool) -> Pattern | None:
    return next((p for p in reversed(patterns) if p.matches(path, is_folder=is_folder)), None)


def _patterns(lines: Iterable[str], *, prefixes: bool = False) -> Result[tuple[Pattern, ...], str]:
    found: list[Pattern] = []
    for line in lines:
        try:
            found.extend(_pattern(line, prefixes))
        except _MeaninglessError as error:
            return Failure(f"{line!r} {error}")
    return Success(tuple(found))


class _MeaninglessError(ValueError):
    """A line that is not a pattern; the text says why. Never leaves this module."""


def _pattern(line: str, prefixes: bool) -> Iterator[Pattern]:
    match = _BODY.fullmatch(line)
    if match is None:
        raise _MeaninglessError("ends in a lone backslash")
    text = match[1]
    negated = text.startswith("!")
    body = text[negated:].removeprefix("./") if prefixes else text[negated:]
    folders_only = body.endswith("/")
    body = body.removesuffix("/")
    if not body:
        return
    regex = _path(body.removeprefix("/").split("/")) if "/" in body else f"(?:.+/)?{_name(body)}"
    if prefixes and not negated and not folders_only and "/" in body.strip("/") and not set(body) & set("*?[\\"):
        regex = f"{re.escape(body.removeprefix('/'))}.*"
    yield Pattern(text, negated, folders_only, re.compile(regex, re.DOTALL))


def _path(segments: list[str]) -> str:
    """An anchored pattern. Between two `**` the first match is the right one, so nothing is tried twice."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if len(segment) > 1 and not segment.strip("*"):
            groups.append([])
        else:
            groups[-1].append(_name(segment))
    if len(groups) == 1:
        return "/".join(groups[0])
    first, *middle, last = groups
    head = "".join(f"{name}/" for name in first)
    body = "".join("(?>(?:[^/]+/)*?" + "".join(f"{name}/" for name in names) + ")" for names in middle if names)
    return head + body + ("(?:.+/)?" + "/".join(last) if last else ".+")


def _name(segment: str) -> str:
    """A pattern for one name. Between two `*` the first match is the right one, so nothing is tried twice."""
    first, *rest = _between_stars(segment)
    if not rest:
        return first
    return first + "".join(f"(?>[^/]*?{fixed})" for fixed in rest[:-1]) + f"[^/]*{rest[-1]}"


def _between_stars(segment: str) -> list[str]:
    parts, at = [""], 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            parts.append("")
        elif char == "?":
            parts[-1] += "[^/]"
        elif char == "[":
            one, at = _bracket(segment, at)
            parts[-1] += one
        elif char == "\\" and at == len(segment):
            raise _MeaninglessError("ends a name with a lone backslash")
        else:
            if char == "\\":
                char, at = segment[at], at + 1
            parts[-1] += re.escape(char)
    return parts


def _bracket(segment: str, at: int) -> tuple[str, int]:
    """The regex of a bracket whose "[" stands before `at`, and where it ends. Of a backward range the first counts."""
    negated = segment[at : at + 1] in ("!", "^")
    at += negated
    items, start = "", at
    while at < len(segment) and (segment[at] != "]" or at == start):
        if match := _CLASS.match(segment, at):
            if match[1] not in _CLASSES:
                raise _MeaninglessError(f"names no class of characters: {match[0]}")
            items, at = items + _CLASSES[match[1]], match.end()
            continue
        low, at = _member(segment, at)
        high = low
        if segment[at : at + 1] == "-" and segment[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(segment, at + 1)
        items += re.escape(low)
        if low < high:
            items += f"-{re.escape(high)}"
    if at >= len(segment):
        raise _MeaninglessError("opens a bracket and does not close it")
    if negated:
        return f"[^/{items}]", at + 1
    return f"(?!/)[{items}]", at + 1


def _member(segment: str, at: int) -> tuple[str, int]:
    at += segment[at] == "\\"
    if at >= len(segment):
        raise _MeaninglessError("opens a bracket and does not close it")
    return segment[at], at + 1
