"""Documents generated from a model of blocks, line by line, with what each line is.

A `Model` knows, of every block, the lines that it takes, the headings in it, and the spans that are code, HTML or
tables. Every block carries a word of its own (`w0`, `w1`, ...) in the last of its lines that has any.
"""

from collections.abc import Sequence

from attrs import field, frozen
from hypothesis import strategies as st

ENDS = (("\n",), ("\r\n",), ("\r",), ("\n", "\r\n"), ("\r", "\r\n"))
"""Line ends that may be mixed: a lone CR before an empty line that ends in LF would be one CRLF."""


@frozen
class Block:
    """Lines; a heading as (level, text, lines it takes); solid spans as (first line, lines), from 0; lists go on."""

    lines: tuple[str, ...]
    heading: tuple[int, str, int] | None = None
    solid: tuple[tuple[int, int], ...] = ()
    last: bool = False
    """True where nothing can follow: a fence or a comment that is never closed."""


@frozen
class Model:
    """Blocks in order, each with the line, from 0, on which it begins; and the text."""

    text: str
    blocks: tuple[tuple[int, Block], ...]
    front: str
    metadata: dict[str, str] = field(factory=dict)

    @property
    def headings(self) -> list[tuple[int, str, int, int]]:
        """(level, text, first line, line after the last), lines from 0."""
        return [
            (block.heading[0], block.heading[1], at, at + block.heading[2])
            for at, block in self.blocks
            if block.heading
        ]

    @property
    def solid(self) -> list[tuple[int, int]]:
        """(first line, line after the last) of each span without sentences at the top level."""
        return [(at + first, at + first + count) for at, block in self.blocks for first, count in block.solid]


indents = st.integers(0, 3).map(lambda n: " " * n)
blanks = st.sampled_from(("", " ", "   ", "\t"))
names = st.sampled_from(("Pump", "C#", "a # b", "1.2 `x`", r"\# escaped", "été", "配管", "[[link]]", "x\u2028y"))
lines = st.sampled_from(
    (
        "The pump runs.",
        "#no-space is no heading",
        "####### seven are no heading",
        "\\# escaped",
        "[[note|alias]] ![[image.png]] #tag",
        "a form\x0cfeed and a line\u2028separator",
        "%% a comment %%",
        "$x = 1$ ==marked==",
        "ends in blanks",
    )
)
code_lines = st.sampled_from(
    ("# no heading", "## no heading either", "", "---", "===", "- x", "> q", "| a |", "\ttab", "%%")
)


@st.composite
def atx(draw: st.DrawFn, word: str) -> Block:
    level = draw(st.integers(1, 6))
    text = f"{draw(names)} {word}"
    closing = draw(st.sampled_from(("", " #", " ######", "\t##", " # "))) + draw(blanks)
    gap = draw(st.sampled_from((" ", "   ", "\t")))
    return Block((f"{draw(indents)}{'#' * level}{gap}{text}{closing}",), (level, " ".join(text.split()), 1))


@st.composite
def setext(draw: st.DrawFn, word: str) -> Block:
    first = draw(st.lists(st.sampled_from(("Some words", "and more", "C# too")), max_size=2))
    mark = draw(st.sampled_from("=-"))
    text = (*first, word)
    under = draw(indents) + mark * draw(st.integers(1, 9)) + draw(st.sampled_from(("", "  ")))
    return Block((*text, under), (1 if mark == "=" else 2, " ".join(text), len(text) + 1))


@st.composite
def paragraph(draw: st.DrawFn, word: str) -> Block:
    return Block((*draw(st.lists(lines, max_size=3)), f"{word} says so."))


@st.composite
def fence(draw: st.DrawFn, word: str) -> Block:
    mark = draw(st.sampled_from("`~"))
    length = draw(st.integers(3, 6))
    info = draw(st.sampled_from(("", "sh", " js {1,3}", "{r}", "c#", ' py title="x"')))
    other = "~" if mark == "`" else "`"
    inside = [
        *draw(st.lists(code_lines, max_size=4)),
        other * 9,
        mark * (length - 1) if length > 3 else "",
        f"# {word}",
    ]
    if draw(st.integers(0, 9)) == 0:
        return Block((mark * length + info, *inside), solid=((0, len(inside) + 1),), last=True)
    closer = draw(indents) + mark * (length + draw(st.integers(0, 3))) + draw(st.sampled_from(("", "  ", "\t")))
    opener = draw(indents) + mark * length + info
    return Block((opener, *inside, closer), solid=((0, len(inside) + 2),))


@st.composite
def nested(draw: st.DrawFn, word: str) -> Block:
    """Lists and quotes with headings and fences in them, closed or not; none of it is a heading of the document."""
    mark = draw(st.sampled_from(("```", "~~~~")))
    open_ended = draw(st.booleans())
    block = draw(
        st.sampled_from(
            (
                Block((f"- # {word}", "  text", "  - ## deeper")),
                Block(("1. step", "", f"   {mark}sh", f"   # {word}", f"   {mark}", "2. next")),
                Block((f"> # {word}", "> text", ">", "> - ## deeper")),
                Block((f"> {mark}", f"> # {word}", *(() if open_ended else (f"> {mark}",)))),
                Block(("> [!note]- A callout", "> > [!tip]", f"> > {word} ## no heading")),
                Block((f"* {word}", "---" if open_ended else "", "")),
                Block((f"- {mark}", f"  # {word}", *(() if open_ended else (f"  {mark}",)))),
                Block((f"- item ^block-{word}", "- [ ] task", "    # no heading")),
            )
        )
    )
    return Block((*block.lines, "", "What is not indented ends it."))  # else an indented block would go on in it


@st.composite
def html(draw: st.DrawFn, word: str) -> Block:
    last = draw(st.integers(0, 9)) == 0
    return draw(
        st.sampled_from(
            (
                Block(("<div>", f"# {word}", "## no", "</div>"), solid=((0, 4),)),
                Block(
                    ("<!--", "# no", "", f"## {word}", *(() if last else ("-->",))),
                    solid=((0, 4 + (not last)),),
                    last=last,
                ),
                Block((f"<!-- # {word} -->",), solid=((0, 1),)),
                Block(("<script>", "# no", "", f"var {word};", "</script>"), solid=((0, 5),)),
                Block(("<?php", "# no", "", f"${word};", "?>"), solid=((0, 5),)),
                Block(("<details>", f"<summary># {word}</summary>"), solid=((0, 2),)),
            )
        )
    )


@st.composite
def table(draw: st.DrawFn, word: str) -> Block:
    rows = tuple(f"| row {n} | # \\| x |" for n in range(draw(st.integers(0, 3))))
    return Block(("| no | part |", "|---:|:--|", *rows, f"| {word} | end |"), solid=((0, len(rows) + 3),))


def comment(word: str) -> st.SearchStrategy[Block]:
    return st.just(Block(("%%", f"{word} is in an Obsidian comment", "%%")))


@st.composite
def rule(draw: st.DrawFn, word: str) -> Block:
    return Block((draw(st.sampled_from(("***", "___", "* * *"))), "", f"{word} after a rule"))


KINDS = (atx, atx, setext, paragraph, fence, nested, html, table, comment, rule)
FRONTS = {
    "none": (),
    "mapping": ("---", 'title: "The # title"', "# a comment", "tags: [a, b]", "---"),
    "dots": ("---", 'title: "The # title"', "..."),
    "empty": ("---", "---"),
    "broken": ("---", "title: a: b", "# no heading", "---"),
    "only a rule": ("---", "", "Words between two rules, not a mapping.", "", "---", ""),
    "unterminated": ("---", "title: never closed", ""),
    "json": ("---json", '{"title": "T"}', "---"),
    "toml": ("+++", "# a comment", 'title = "T"', "+++"),
    "broken toml": ("+++", "title =", "# no heading", "+++"),
}


CLOSED = ("mapping", "dots", "empty", "broken", "json", "toml", "broken toml")
"""Those after which the text begins."""


@st.composite
def models(draw: st.DrawFn) -> Model:
    front = draw(st.sampled_from(sorted(FRONTS)))
    written: list[str] = list(FRONTS[front])
    if front in CLOSED and draw(st.booleans()):
        written.append("")
    blocks: list[tuple[int, Block]] = []
    for n in range(draw(st.integers(0, 9))):
        block = draw(draw(st.sampled_from(KINDS))(f"w{n}"))
        blocks.append((len(written), block))
        written += block.lines
        if block.last:
            break
        written += [""] * draw(st.integers(1, 2))
    ends = draw(st.lists(st.sampled_from(draw(st.sampled_from(ENDS))), min_size=len(written), max_size=len(written)))
    text = "".join(line + end for line, end in zip(written, ends, strict=True))
    return Model(text, tuple(blocks), front)


def words_of(blocks: Sequence[tuple[int, Block]]) -> list[str]:
    return [f"w{n}" for n, _ in enumerate(blocks)]
