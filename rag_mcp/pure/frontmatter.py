"""Metadata in front of a text.

A front matter is a line `---` (or `---yaml`, or `---json`, which YAML reads too) at the very top, closed by a line
`---` or `...`, with a YAML mapping between; or two lines `+++` with TOML between. Where the lines between are no
mapping the rule is only a thematic break, and the text stays what it is; so it does where no rule closes it. Where
they begin like a mapping and cannot be used (broken, too large, with aliases) they are no metadata, and no Markdown
either: they stay searchable as they stand, so nothing of the user's is lost and no comment in them becomes a heading.
Nothing between the rules is an empty mapping.

Whatever gives no metadata and may have been meant to is kept as `unread`: lines as above that cannot be used; else the
first paragraph after a rule that begins the text, be it not closed, no mapping, or below blank lines.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

import yaml
from attrs import field, frozen

from rag_mcp.pure.shown import Shown

LIMIT = 64 * 1024  # characters; what is longer is no metadata, and YAML of that size takes seconds
FENCE = re.compile(r"(---|\+\+\+)(?:(?<=-)(?:ya?ml|json))?[ \t]*(?:\r\n|\r|\n)")
CLOSERS = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE),
}
COMMENT = re.compile(r"[ \t]*(?:#.*)?")
MEANT = re.compile(r"\s*(?:-{3,}|\+{3,})[^\r\n]*(?:\r\n|\r|\n)((?:[ \t]*[^\s][^\r\n]*(?:\r\n|\r|\n|\Z))*)")
KEY_LINES = {
    "---": re.compile(r"""[\w"'][^:]*:(?:\s|\Z)|\{"""),
    "+++": re.compile(r"""[\w"'.-]+[ \t]*=|\["""),
}
TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column \d+\)")
SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(SAFE):  # type: ignore[misc]
    """The safe loader, for which a date or number that cannot be (2024-02-30) is the text as written."""

    def as_written(self, node: Any) -> Any:
        """The value of a scalar by its tag, else its text."""
        try:
            return SAFE.yaml_constructors[node.tag](self, node)
        except ValueError:
            return self.construct_scalar(node)


for _kind in ("timestamp", "int", "float"):
    Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", Loader.as_written)


@frozen(repr=False)
class Unread(Shown):
    """Lines that may have been meant for metadata, and a clause that says why they give none."""

    text: str
    why: str


@frozen(repr=False)
class FrontMatter(Shown):
    """What stood in front. `body` is where the Markdown begins, a character offset.

    `kept` is the span of lines that are neither metadata nor Markdown. Metadata values are text, numbers,
    truth values, None, or lists of these; dates are ISO text, anything deeper is left out.
    """

    body: int = 0
    metadata: Mapping[str, Any] = field(factory=dict)
    kept: tuple[int, int] | None = None
    warnings: tuple[str, ...] = ()
    unread: Unread | None = None


def split(text: str) -> FrontMatter:
    """The front matter of a decoded text (its byte order mark already dropped)."""
    opener = FENCE.match(text)
    closer = CLOSERS[opener[1]].search(_with_line_feeds(text), opener.end()) if opener else None
    if opener is None or closer is None:
        return _none(text)
    inner = text[opener.end() : closer.start()]
    try:
        metadata, warnings = load(inner) if opener[1] == "---" else load_toml(inner)
    except _NotMetadata as why:
        if not _begins_with_key(inner, KEY_LINES[opener[1]]):
            return _none(text)
        sentence = f"front matter could not be used ({why}); it is searchable as text and gives no metadata"
        kept = opener.end(), closer.start()
        return FrontMatter(closer.end(), {}, kept, (sentence,), Unread(inner, str(why)))
    return _none(text) if metadata is None else FrontMatter(closer.end(), metadata, None, tuple(warnings))


def _none(text: str) -> FrontMatter:
    meant = MEANT.match(text)
    return FrontMatter(unread=Unread(meant[1], "no keys between two rules") if meant and meant[1] else None)


def load(inner: str) -> tuple[dict[str, Any] | None, list[str]]:
    """(metadata, warnings) of the lines between the rules; (None, ...) when they are not a mapping."""
    if len(inner) > LIMIT:
        raise _NotMetadata(f"it has {len(inner)} characters, more than {LIMIT}")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(inner, Loader=Loader)):
            raise _NotMetadata("it uses aliases")
        loader = Loader(inner)
        try:
            node = loader.get_single_node()
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _NotMetadata(_where(error)) from error
    except (RecursionError, ValueError, OverflowError) as error:
        raise _NotMetadata(type(error).__name__) from error
    if not isinstance(data, dict):
        return (None if inner.strip() else {}), []
    values = {str(key): plain(value) for key, value in data.items() if not isinstance(value, dict | bytes)}
    return values, list(_repeated(node))


def load_toml(inner: str) -> tuple[dict[str, Any] | None, list[str]]:
    """(metadata, no warnings) of the lines between the rules; (None, ...) when they are but comments."""
    if len(inner) > LIMIT:
        raise _NotMetadata(f"it has {len(inner)} characters, more than {LIMIT}")
    try:
        data = tomllib.loads(re.sub(r"\r\n|\r", "\n", inner))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = TOML_PLACE.fullmatch(str(error))
        why = f"line {int(place[2]) + 1}: {place[1]}" if place else str(error)
        raise _NotMetadata(why) from error
    if not data:
        return (None if inner.strip() else {}), []
    return {key: plain(value) for key, value in data.items() if not isinstance(value, dict)}, []


def plain(value: Any) -> Any:
    """A metadata value of one of the plain kinds."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple() | set():
            return [plain(item) for item in value if not isinstance(item, dict | list | tuple | set | bytes)]
        case _:
            return None


def _begins_with_key(inner: str, key_line: re.Pattern[str]) -> bool:
    """True when the first line that is neither blank nor a comment looks like a key and its value."""
    lines = re.split(r"\r\n|\r|\n", inner)
    return key_line.match(next((line for line in lines if not COMMENT.fullmatch(line)), "").lstrip()) is not None


def _repeated(node: Any) -> Iterator[str]:
    seen: set[str] = set()
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                yield f"front matter names {key.value!r} twice (line {key.start_mark.line + 2}); the last one counts"
            seen.add(key.value)


def _where(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "not YAML"
    return f"line {mark.line + 2}: {problem}" if mark else str(problem)


def _with_line_feeds(text: str) -> str:
    """The same text, lone carriage returns as line feeds, so that ^ means the start of a line."""
    return re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text


class _NotMetadata(Exception):
    """Why the lines between the rules give no metadata."""
