"""CommonMark block structure with places in the source: headings, and where a text may be cut.

Block rules of markdown-it only; inline text is never parsed. Lines end at LF, CRLF or lone CR, and nowhere else (not
at U+2028 or form feeds), as in CommonMark. All places are character offsets into the text that was given.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from attrs import frozen

from rag_mcp.pure.shown import Shown

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    BlockRule = Callable[[StateBlock, int, int, bool], bool]

LINE_END = re.compile(r"\r\n|\r|\n")
BLOCK, ITEM, SENTENCE, ROW, LINE, WORD, CHARACTER = range(7)
"""Ranks of a cut, best first: before a block, a list item or nested block, a sentence, a table row, a line, a word,
a character."""

DEEPEST = 18  # levels of quotes (one each) and lists (two each); the parser gives up at 20

SOLID = frozenset({"fence", "code_block", "html_block", "table_open"})
UNCUT = frozenset({"inline", "thead_open", "tbody_open"})  # the header of a table stays with its first row


@frozen(repr=False)
class Heading(Shown):
    """A heading that opens a section: its level (1 to 6), its text, and where its own lines begin and end."""

    level: int
    text: str
    start: int
    end: int


@frozen(repr=False)
class Table(Shown):
    """A table: where it begins and ends, and the cells of its header row, with bars between."""

    start: int
    end: int
    header: str


@frozen(repr=False)
class Outline(Shown):
    """The block structure of a text.

    `cuts` maps the offset of a line start to the rank of cutting there (BLOCK, ITEM or ROW); `solid` are spans
    in which sentences mean nothing: code, HTML, tables. `lines` are the offsets at which lines begin; `tables`
    are in order and apart.
    """

    headings: tuple[Heading, ...]
    cuts: dict[int, int]
    solid: tuple[tuple[int, int], ...]
    lines: tuple[int, ...]
    tables: tuple[Table, ...] = ()

    def line_of(self, offset: int) -> int:
        """The line, from 1, on which the character at `offset` stands."""
        return line_of(self.lines, offset)

    def is_solid(self, offset: int) -> bool:
        """True when `offset` lies in one of the solid spans, which are in order and apart."""
        before = bisect_right(self.solid, offset, key=itemgetter(0)) - 1
        return before >= 0 and offset < self.solid[before][1]

    def table_around(self, offset: int) -> Table | None:
        """The table in which `offset` lies, past its first character; None where there is none."""
        before = bisect_left(self.tables, offset, key=attrgetter("start")) - 1
        return self.tables[before] if before >= 0 and offset < self.tables[before].end else None


def line_starts(text: str) -> tuple[int, ...]:
    """Offsets at which lines begin; the first is 0."""
    return (0, *(match.end() for match in LINE_END.finditer(text)))


def line_of(lines: tuple[int, ...], offset: int) -> int:
    """The line, from 1, on which the character at `offset` stands."""
    place = bisect_left(lines, offset)
    return place + 1 if place < len(lines) and lines[place] == offset else place


def outline(text: str, body: int = 0) -> Outline:
    """The structure of `text` from offset `body` on, which must be the start of a line."""
    lines = line_starts(text)
    first = bisect_left(lines, body)
    tokens = _tokens(LINE_END.sub("\n", text[body:]))

    def at(line: int) -> int:
        place = first + line
        return lines[place] if place < len(lines) else len(text)

    def at_first_row(table: int) -> int:
        return at(bisect_left(lines, table) - first + 2)

    headings: list[Heading] = []
    cuts: dict[int, int] = {}
    solid: list[tuple[int, int]] = []
    tables: list[tuple[int, int, list[str]]] = []
    for token, inline in _with_next(tokens):
        if token.type == "th_open" and inline:
            tables[-1][2].append(inline.content)
        if token.map is None or token.nesting < 0 or token.type in UNCUT:
            continue
        start, end = at(token.map[0]), at(token.map[1])
        if token.type == "tr_open" and start == at_first_row(tables[-1][0]):
            continue
        rank = BLOCK if token.level == 0 else ROW if token.type == "tr_open" else ITEM
        cuts[start] = min(rank, cuts.get(start, CHARACTER))
        if token.type in SOLID:
            solid.append((start, end))
        if token.type == "table_open":
            tables.append((start, end, []))
        if token.type == "heading_open" and token.level == 0:
            title = " ".join(inline.content.split()) if inline else ""
            headings.append(Heading(int(token.tag[1]), title, start, end))
    named = tuple(Table(start, end, " | ".join(cells)) for start, end, cells in tables)
    return Outline(tuple(headings), cuts, tuple(solid), lines, named)


def _with_next(tokens: "list[Token]") -> "Iterator[tuple[Token, Token | None]]":
    return zip(tokens, [*tokens[1:], None], strict=False)  # no token has no next


def _tokens(text: str) -> "list[Token]":
    parser, tokens = _parser(), []  # type: ignore[var-annotated]
    parser.block.parse(text.replace("\0", "\ufffd"), parser, {}, tokens)
    return tokens


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, list_block

    parser = MarkdownIt("commonmark").enable("table")
    parser.block.ruler.at("blockquote", _shallow(blockquote), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("list", _shallow(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


def _shallow(rule: "BlockRule") -> "BlockRule":
    """The rule, up to a depth; beyond it the parser would drop the rest of the file, headings and all."""
    return lambda state, start, end, silent: state.level < DEEPEST and rule(state, start, end, silent)
