"""Corpus-relative paths: which are inside, which lie under which, and how one is shown.

    inside(path)   the path names something below the root on every system, by its letters alone

A stored path may have been damaged, or written by something else, so what any system reads as an absolute
path, or as a way up and out, counts as outside. Links are not letters: whoever opens a path must also refuse
those on its way.
"""

import re
from unicodedata import category

MARKDOWN = (".md", ".markdown")

_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:(?:[/\\]|$)")
_SEPARATOR = re.compile(r"[/\\]")
_JOINED = re.compile(r"(?<=[^\x00-\x7f\u200b-\u200f])[\u200c\u200d](?=[^\x00-\x7f\u200b-\u200f])")


def inside(path: str) -> bool:
    r"""True when `path` stays below the root, by its form alone.

    False for "", NUL, absolute paths (`/x`, `\x`, `\\host\x`, `C:\x`, `C:/x`), and `..` that leaves the root,
    with backslashes read as names and as separators: both readings must stay inside.
    """
    if not path or "\0" in path or _ABSOLUTE.match(path):
        return False
    return _stays(path.split("/")) and _stays(_SEPARATOR.split(path))


def is_plain(path: str) -> bool:
    """True when `path` is inside and made of names alone: no empty one, no "." and no ".."."""
    return inside(path) and {"", ".", ".."}.isdisjoint(path.split("/"))


def _stays(parts: list[str]) -> bool:
    depth = 0
    for part in parts:
        depth += 0 if part in ("", ".") else -1 if part == ".." else 1
        if depth < 0:
            return False
    return depth > 0


def is_unicode(path: str) -> bool:
    """False with half of a surrogate pair in it: no stored path has one, and no database takes it."""
    return not any("\ud800" <= char <= "\udfff" for char in path)


def is_under(path: str, folder: str) -> bool:
    """True when `path` lies strictly below `folder`; "" is the root, under which every other path lies."""
    return path.startswith(folder + "/") if folder else path != ""


def is_markdown(name: str) -> bool:
    """True for names that end in .md or .markdown, in any case."""
    return name.lower().endswith(MARKDOWN)


_SYNCED = {
    "dropbox": "Dropbox",
    "onedrive": "OneDrive",
    "icloud drive": "iCloud Drive",
    "iclouddrive": "iCloud Drive",
    "mobile documents": "iCloud Drive",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "my drive": "Google Drive",
    "cloudstorage": "a cloud service",
}


def synced_by(folder: str) -> str | None:
    """The service that keeps a folder in step, told by the names in its path; None where none does."""
    parts = [part.casefold() for part in folder.replace("\\", "/").split("/")]
    for part in reversed(parts):
        for name, service in _SYNCED.items():
            if part == name or part.startswith((f"{name} ", f"{name}-")):  # "OneDrive - Company", "GoogleDrive-me"
                return service
    return None


def relative(where: str, root: str) -> str | None:
    """An absolute path without links, relative to the root; None when it is not below it, "" for the root."""
    if where == root:
        return ""
    above = root.rstrip("/") + "/"
    return where[len(above) :] if where.startswith(above) else None


def ill_placed(folder: str, *, inside_corpus: bool) -> tuple[tuple[str, bool], ...]:
    """Why a store should not be kept in a folder, as clauses; True with those that may damage it."""
    found = []
    if service := synced_by(folder):
        what = (
            f"it lies in a folder that {service} keeps in step: a database that is copied while it changes is damaged"
        )
        found.append((what, True))
    if inside_corpus:
        what = "it lies inside the corpus; it is left out of every ingest, and whatever else reads that folder meets it"
        found.append((what, False))
    return tuple(found)


def printable(text: str) -> str:
    r"""The text on one line, safe for a terminal: what does not print, or reorders what does, as an escape.

    Control, format (bidi and zero-width included), unassigned and private characters, line ends and lone
    surrogates become `\n`, `\x1b`, `\u202e` and the like. Joiners between two characters beyond ASCII stay:
    emoji and several scripts are spelt with them. A backslash stays as it is, so two texts that differ can
    look alike only if one of them holds a backslash.
    """
    if text.isprintable():
        return text
    kept = {match.start() for match in _JOINED.finditer(text)}
    return "".join(c if at in kept or _prints(c) else _escaped(c) for at, c in enumerate(text))


def _prints(char: str) -> bool:
    return char.isprintable() or category(char) == "Zs"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def place(source: str, first: int, last: int) -> str:
    """A citation in the form that editors open: path:line, or path:first-last."""
    return f"{printable(source)}:{first}" if first == last else f"{printable(source)}:{first}-{last}"


def shown(text: str) -> list[str]:
    """The lines of a passage, safe for a terminal."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return [printable(line) for line in unified.split("\n")]
