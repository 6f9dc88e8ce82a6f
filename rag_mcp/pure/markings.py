"""What a file asks of the index, by keys of its front matter.

    rag: false               it is left out altogether             false, no, off
    lifecycle: superseded    kept, found only when asked for       superseded; current is what a file is without the key
    rag_chunk: headings      cut as said below                     headings

Names and words count in any case, quoted or not, blanks around them aside; a key without a value says nothing. Any
other value changes nothing and is told in a warning; so 0 hides no file, and neither does a list.

Front matter that cannot be read and mentions one of the first two leaves its file out: its author may have wanted it
hidden. Whatever else it says gives no more than its own warning.

By headings: a passage is never longer than the embedder's window or LONGEST characters, whatever budget was chosen, and
neighbouring sections below SMALL characters under one parent share one. A file is cut at its headings without the key
as well, into passages of the budget; whole files would outgrow the window, and their ends could not be found.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from rag_mcp.pure.frontmatter import FrontMatter
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import CURRENT, SUPERSEDED

SMALL, LONGEST = 400, 4000
"""Characters."""
YES, NO = ("true", "yes", "on"), ("false", "no", "off")
HEADINGS = "headings"
ASKED = "rag: false in its front matter"
SHOWN = 40
_NAMED = r"""["']?\s*+[:=]\s*+(?:[&!]\S*+\s++)*+["']?\s*+"""  # possessive: a file of blanks takes no longer
HIDING = re.compile(rf"(?<![\w-])(?:rag{_NAMED}(?:{'|'.join(NO)})|lifecycle{_NAMED}{SUPERSEDED})\b", re.IGNORECASE)
"""A mention of what hides a file, however YAML, JSON or TOML writes it."""


@frozen(repr=False)
class Markings(Shown):
    """What was asked. `left_out` is why the file is, None where it is not; warnings are sentences."""

    left_out: str | None = None
    lifecycle: str = CURRENT
    by_headings: bool = False
    warnings: tuple[str, ...] = ()


def markings(front: FrontMatter) -> Markings:
    """What the front matter of a file asks."""
    if front.unread and (hiding := HIDING.search(front.unread.text)):
        mention = " ".join(hiding[0].split())
        return Markings(left_out=f"its front matter cannot be read ({front.unread.why}) and mentions {mention}")
    words = _words(front.metadata)
    return Markings(
        left_out=ASKED if words.get("rag") in NO else None,
        lifecycle=SUPERSEDED if words.get("lifecycle") == SUPERSEDED else CURRENT,
        by_headings=words.get("rag_chunk") == HEADINGS,
        warnings=tuple(_unknown(words)),
    )


def _words(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The values of keys, both in lower case; of a name that is written in two ways, the one that hides."""
    words: dict[str, str] = {}
    for key, value in metadata.items():
        name = key.strip().lower()
        if value is not None and words.get(name) not in (*NO, SUPERSEDED):
            words[name] = str(value).strip().lower()
    return words


def _unknown(words: Mapping[str, str]) -> Iterator[str]:
    known = {
        "rag": ((*YES, *NO), "is neither true nor false; the file is indexed"),
        "lifecycle": ((CURRENT, SUPERSEDED), f"is neither {CURRENT} nor {SUPERSEDED}; the file counts as {CURRENT}"),
        "rag_chunk": ((HEADINGS,), f"is not {HEADINGS}; the file is cut as others are"),
    }
    for name, (values, what) in known.items():
        if (word := words.get(name)) and word not in values:
            yield f"front matter {name}: {word[:SHOWN]!r} {what}"
