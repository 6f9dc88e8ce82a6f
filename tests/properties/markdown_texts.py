"""Markdown made from a model that knows its headings, and ways to measure it.

Every block carries a word of its own (`q0`, `q1`, ...), and the model says under which heading path that word stands.
"""

from collections.abc import Sequence

from attrs import evolve, frozen
from hypothesis import strategies as st

from rag_mcp.pure.documents import read_document
from rag_mcp.pure.identity import Chunking, EmbedderIdentity, RunIdentity
from rag_mcp.pure.values import Chunk, Document, Measure

LINE_ENDS = ("\n", "\r\n", "\r")


@frozen
class Text:
    """A source with line feeds, and for each word of its own the heading path it stands under."""

    source: str
    paths: dict[str, tuple[str, ...]]
    fences: tuple[str, ...] = ()

    def with_ends(self, end: str) -> str:
        return self.source.replace("\n", end)


prose = st.lists(
    st.sampled_from(["pump", "valve", "über", "配管", "été", "a\xa0b", "C#", "x\u2028y", "z\x0cw"]),
    min_size=1,
    max_size=12,
).map(" ".join)
headings = st.tuples(st.just("heading"), st.integers(1, 6), st.sampled_from(("{}", " {}", "{} #", "{} ###  ")))
setext = st.tuples(st.just("setext"), st.sampled_from("=-"))
paragraphs = st.tuples(st.just("paragraph"), st.lists(prose, min_size=1, max_size=4))
fences = st.tuples(
    st.just("fence"),
    st.sampled_from(("```", "~~~", "````")),
    st.sampled_from(("", "sh", "js {1,3}", "{r}", "c#", 'py title="x"')),
    st.lists(st.sampled_from(("# no heading", "x = 1", "", "\ty", "---", "| a |", "- b")), max_size=6),
)
lists = st.tuples(st.just("list"), st.lists(prose, min_size=1, max_size=6), st.sampled_from(("- ", "1. ", "* ")))
quotes = st.tuples(st.just("quote"), st.lists(prose, min_size=1, max_size=4))
tables = st.tuples(st.just("table"), st.integers(1, 8))
html = st.tuples(st.just("html"), prose)
code = st.tuples(st.just("code"), prose)
blanks = st.tuples(st.just("blank"), st.sampled_from(("", " ", "\t", "\n\n")))
blocks = st.one_of(headings, setext, paragraphs, fences, lists, quotes, tables, html, code, blanks)


def written(kind: tuple, word: str) -> str:
    """The Markdown of one block."""
    match kind:
        case ("heading", level, form):
            return " " * form.startswith(" ") + "#" * level + " " + form.strip(" ").format(word)
        case ("setext", mark):
            return f"{word}\n{mark * 3}"
        case ("paragraph", lines):
            return "\n".join((*lines, f"{word}."))
        case ("fence", mark, info, lines):
            info = info if mark != "~~~" else info.replace("`", "")
            return "\n".join((mark + info, *lines, f"# {word}", mark))
        case ("list", items, mark):
            return "\n".join((*(mark + item for item in items), f"{mark}# {word}"))
        case ("quote", lines):
            return "\n".join((*(f"> {line}" for line in lines), ">", f"> # {word}"))
        case ("table", rows):
            return "\n".join(("| a | b |", "|---|---|", *(f"| row {n} | # |" for n in range(rows)), f"| {word} | x |"))
        case ("html", line):
            return f"<div>\n# {word}\n{line}\n</div>"
        case ("code", line):
            return f"<!-- -->\n\n    # {word}\n    {line}"
        case ("blank", line):
            return line
    raise AssertionError(kind)


@st.composite
def texts(draw: st.DrawFn, block: st.SearchStrategy = blocks, max_size: int = 14) -> Text:
    parts: list[str] = []
    paths: dict[str, tuple[str, ...]] = {}
    fenced: list[str] = []
    open_headings: list[tuple[int, str]] = []
    for n, kind in enumerate(draw(st.lists(block, max_size=max_size))):
        word = f"q{n}"
        source = written(kind, word)
        if kind[0] in ("heading", "setext"):
            level = kind[1] if kind[0] == "heading" else " =-".index(kind[1])
            open_headings = [(at, name) for at, name in open_headings if at < level] + [(level, word)]
        if kind[0] == "fence":
            fenced.append(source)
        if kind[0] != "blank":
            paths[word] = tuple(name for _, name in open_headings)
        parts.append(source)
    return Text("\n\n".join(parts) + draw(st.sampled_from(("", "\n", "\n\n"))), paths, tuple(fenced))


def words(many: Sequence[str]) -> list[int]:
    """A token is a word."""
    return [len(text.split()) for text in many]


def characters(many: Sequence[str]) -> list[int]:
    """A token is a character that is not white space."""
    return [len("".join(text.split())) for text in many]


def more_than_its_parts(many: Sequence[str]) -> list[int]:
    """A measure that does not add up: a whole has up to half as many tokens again as its words."""
    return [n + n * n // (2 * n + 20) for n in words(many)]


MEASURES = (words, characters, more_than_its_parts)


def run(window: int, chunking: Chunking = Chunking()) -> RunIdentity:
    return RunIdentity(EmbedderIdentity("words", "", "", 8, "mean", "", "", window + 2), chunking)


def document(
    source: str,
    window: int = 10_000,
    measure: Measure = words,
    path: str = "a.md",
    chunking: Chunking = Chunking(),
) -> Document:
    read = read_document(path, source.encode("utf-8", "surrogatepass"), "d", run(window, chunking), measure)
    assert isinstance(read, Document), read
    return read


def chunks(
    source: str, window: int = 10_000, measure: Measure = words, chunking: Chunking = Chunking()
) -> tuple[Chunk, ...]:
    return document(source, window, measure, chunking=chunking).chunks


def prefixed(identity: RunIdentity, prefix: str) -> RunIdentity:
    return evolve(identity, embedder=evolve(identity.embedder, document_prefix=prefix))
