"""One look at a folder of Markdown files: everything in it becomes a value with a reason.

    a regular Markdown file      sighting, or unreadable with the reason
    a folder                     walked; excluded by a rule; or a gap where the look did not reach
    a link                       never followed: excluded, or (leading nowhere) unreadable or a gap
    a pipe, socket or device     never opened: unreadable, if its name is Markdown
    any other file               passed over, its name kept

Doubt about a folder is a gap: nothing below it is pruned.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from attrs import define, field, frozen
from returns.result import Failure, Result, Success

from rag_mcp.adapters.regular_files import FOLDER, clause, contents, held
from rag_mcp.pure.ignore import EDITORS_LOCK, IGNORE_FILE, NO_NOTES, READ_THERE, THE_STORE, Rules, is_environment
from rag_mcp.pure.paths import MARKDOWN, inside, is_markdown, relative
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Excluded, Gap, Listing, Sighting, Unreadable

_BY_NAME = attrgetter("name")
_BY_PATH = attrgetter("path")


@frozen(repr=False)
class _Level(Shown):
    """A folder being walked: its open descriptor, the rules in it, and the subfolders still to enter."""

    folder: int
    rules: Rules
    subfolders: Iterator[str]


@define(repr=False)
class Walk(Shown):
    """One look under way. Depth first, no recursion; one descriptor open for each level."""

    root: str
    stores: frozenset[str]
    largest: int
    deepest: int
    sightings: list[Sighting] = field(factory=list)
    unreadables: list[Unreadable] = field(factory=list)
    excluded: list[Excluded] = field(factory=list)
    gaps: list[Gap] = field(factory=list)
    others: list[str] = field(factory=list)

    def listing(self) -> Listing:
        """What was found, sorted."""
        return Listing(
            self.root,
            tuple(sorted(self.sightings, key=_BY_PATH)),
            tuple(sorted(self.unreadables, key=_BY_PATH)),
            tuple(sorted(self.excluded, key=_BY_PATH)),
            tuple(sorted(self.gaps, key=_BY_PATH)),
            tuple(sorted(self.others)),
        )

    def run(self, root: int, rules: Rules) -> None:
        """Walk from the open root; every descriptor is closed in the end, `root` too."""
        levels = [_Level(root, rules, iter(()))]
        try:
            levels[0] = self._enter("", root, rules)
            while levels:
                level = levels[-1]
                path = next(level.subfolders, None)
                if path is None:
                    os.close(levels.pop().folder)
                elif len(levels) > self.deepest:
                    self.gaps.append(Gap(path, f"more than {self.deepest} folders deep"))
                elif (folder := self._open(path, level.folder)) is not None:
                    levels.append(_Level(folder, level.rules, iter(())))
                    levels[-1] = self._enter(path, folder, level.rules)
        finally:
            for level in levels:
                os.close(level.folder)

    def _open(self, path: str, parent: int) -> int | None:
        try:
            return os.open(path.rpartition("/")[2], FOLDER, dir_fd=parent)
        except OSError as error:
            self.gaps.append(Gap(path, clause(error)))
            return None

    def _enter(self, path: str, folder: int, rules: Rules) -> _Level:
        """List the folder, read its files; the level says which subfolders are to be entered."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=_BY_NAME)
        except OSError as error:
            self.gaps.append(Gap(path, clause(error)))
            return _Level(folder, rules, iter(()))
        names = {entry.name: entry for entry in entries}
        if is_environment(path.rpartition("/")[2], names):
            self.excluded.append(Excluded(f"{path}/", NO_NOTES))
            return _Level(folder, rules, iter(()))
        if IGNORE_FILE in names:
            match self._rules_of(names[IGNORE_FILE], path, folder, rules):
                case Success(rules):
                    pass
                case Failure(why):
                    self.gaps.append(Gap(path, why))
                    return _Level(folder, rules, iter(()))
        prefix = f"{path}/" if path else ""
        dealt_with = [self._entry(entry, prefix + entry.name, folder, rules) for entry in entries]
        return _Level(folder, rules, filter(None, dealt_with))

    def _rules_of(self, entry: os.DirEntry[str], path: str, folder: int, rules: Rules) -> Result[Rules, str]:
        """The rules with those of the folder's .ragignore: one that cannot be read leaves out nobody knows what."""
        if entry.is_symlink():
            return Failure(f"its {IGNORE_FILE} is a link, which is not followed")
        match contents(folder, IGNORE_FILE, self.largest):
            case Success(data) if b"\0" in data:
                return Failure(f"its {IGNORE_FILE} is not text in UTF-8")
            case Success(data):
                return rules.with_file(path, data.decode("utf-8", "surrogateescape"))
            case Failure(not_had):
                return Failure(f"its {IGNORE_FILE} could not be read ({not_had.why})")
        raise AssertionError

    def _entry(self, entry: os.DirEntry[str], path: str, folder: int, rules: Rules) -> str | None:
        """Deal with one entry; the path, when it is a folder to be entered."""
        markdown = entry.name.lower().endswith(MARKDOWN)
        try:
            if entry.is_symlink():
                self._link(path, rules)
            elif entry.is_dir(follow_symlinks=False):
                return self._subfolder(path, rules)
            elif markdown:
                self._file(entry, path, folder, rules)
            elif entry.name != IGNORE_FILE:
                self.others.append(path)
        except OSError as error:
            self.gaps.append(Gap(path, clause(error)))
        return None

    def _subfolder(self, path: str, rules: Rules) -> str | None:
        if path in self.stores:
            self.excluded.append(Excluded(f"{path}/", THE_STORE))
        elif why := rules.verdict(path, is_folder=True):
            self.excluded.append(Excluded(f"{path}/", why))
        elif why := _misnamed(path):
            self.gaps.append(Gap(path, why))
        else:
            return path
        return None

    def _file(self, entry: os.DirEntry[str], path: str, folder: int, rules: Rules) -> None:
        if why := rules.verdict(path, is_folder=False):
            self.excluded.append(Excluded(path, why))
        elif why := _misnamed(path):
            self.unreadables.append(Unreadable(path, why))
        elif not entry.is_file(follow_symlinks=False):
            self.unreadables.append(Unreadable(path, "a pipe, socket or device, not a file"))
        else:
            match held(folder, entry.name, self.largest):
                case Success(taken):
                    data = taken.data
                    self.sightings.append(Sighting(path, hashlib.sha256(data).hexdigest(), len(data)))
                case Failure(not_had):
                    self.unreadables.append(Unreadable(path, not_had.why, not_had.lack))

    def _link(self, path: str, rules: Rules) -> None:
        """A link is read at the place it leads to, or not at all."""
        if why := rules.verdict(path, is_folder=False):
            self.excluded.append(Excluded(path, why))
            return
        try:
            real = os.path.realpath(Path(self.root, path), strict=True)
            is_folder = Path(real).is_dir()
        except OSError as error:
            self._broken_link(path, error)
            return
        if not is_folder and not is_markdown(path):
            return
        shown, target = f"{path}/" if is_folder else path, relative(real, self.root)
        if target is None:
            why = "a link that leads out of the corpus"
        elif is_folder or is_markdown(target):
            why = f"a link to {target or 'the corpus itself'}, {READ_THERE}"
        else:
            why = f"a link to {target}, which is not Markdown"
        self.excluded.append(Excluded(shown, why))

    def _broken_link(self, path: str, error: OSError) -> None:
        name = path.rpartition("/")[2]
        kind = {errno.ENOENT: "a link to nothing", errno.ELOOP: "a link that leads back to itself"}
        why = kind.get(error.errno or 0) or f"a link whose target cannot be reached ({clause(error)})"
        if name.startswith(".#"):
            self.excluded.append(Excluded(path, EDITORS_LOCK))
        elif is_markdown(name):
            self.unreadables.append(Unreadable(path, why))
        else:
            self.gaps.append(Gap(path, f"{why}; it may have been a folder"))


def _misnamed(path: str) -> str | None:
    """Why a path cannot be recorded, or None. The record holds text, and only paths inside the corpus on any system."""
    if path.isascii() and "\\" not in path and ":" not in path:
        return None
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return None if inside(path) else "its name reads like a path out of the corpus"
