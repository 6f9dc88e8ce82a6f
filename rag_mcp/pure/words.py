"""Words for the keyword list: what a passage is filed under, and what a question looks for.

    filed under     the text itself, tokenised by SQLite (letters, digits and marks; accents folded; English endings
                    cut off), with two additions: runs of scripts that put no blanks between words stand as pairs of
                    neighbouring characters, and C++ or C# has a second name without its sign
    looked for      any word of the question but the most common English ones; DEC-0054, 2026.4.10 or foo.bar() as a
                    phrase, its parts besides; "a quoted phrase" besides its words

Every word is quoted, so a question is never read as an expression of the query language: nothing in it can raise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

TERMS = 48
"""Distinct terms of one question; more cost time and find nothing better."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_SIGNED = re.compile(r"(?<!\w)([A-Za-z])(\+\+|#)(?![\w+#])")
_NAMES = {"++": "plusplus", "#": "sharp"}
_QUOTED = re.compile(r'["\u201c\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]{2,200})["\u201d\u201c\u00bb]')
_PART = re.compile(f"(?:[^\\W_]|[\u0300-\u036f{_UNSPACED}])+")
_COMMON = frozenset(
    """a about after all also am an and any are as at be because been before being between but by can could did do does
    doing during each for from further had has have having he her here hers him his how i if in into is it its just me
    more most my no nor not of off on once only or other our out over own same she should so some such than that the
    their them then there these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your""".split()  # noqa: SIM905
)


def filed(text: str) -> str:
    """What the keyword list is told of a text."""
    if text.isascii() and "+" not in text and "#" not in text:
        return text
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", _SIGNED.sub(_named, text))


def looked_for(question: str) -> tuple[str, ...]:
    """What a question looks for: words and phrases, each a match expression of SQLite's FTS5 by itself."""
    return tuple(dict.fromkeys(_terms(question)))[:TERMS]


def expression(telling: Sequence[str], terms: Sequence[str]) -> str:
    """Any of the telling terms; where none is, all of the terms together, which few passages hold."""
    return " OR ".join(telling) or " AND ".join(terms)


def coverage(question: str, text: str) -> float:
    """The share of the question's telling words, by their first letters, that a text holds; 0 where it has none."""
    parts = _PART.findall(filed(question))
    telling = {_stem(part) for part in parts if part.lower() not in _COMMON}
    held = {_stem(part) for part in _PART.findall(filed(text))}
    return len(telling & held) / len(telling) if telling else 0.0


def _stem(word: str) -> str:
    """Without what endings may change: the first four letters at least, all but three of a long word."""
    return word.lower()[: max(4, len(word) - 3)]


def _terms(question: str) -> Iterator[str]:
    words = filed(question.replace("\0", " ")).split()
    telling = [word for word in words if word.strip(".,;:!?'\"()").lower() not in _COMMON]
    for word in telling or words:
        parts = _PART.findall(word)
        if parts:
            yield _quoted(parts)
        if len(parts) > 1:
            yield from (_quoted([part]) for part in parts if len(part) > 2 and part.lower() not in _COMMON)
        if len(parts) == 1 and len(word) == 1 and _RUN.fullmatch(word):
            yield f"{_quoted(parts)}*"
    for phrase in _QUOTED.findall(question):
        parts = _PART.findall(filed(phrase))
        if len(parts) > 1:
            yield _quoted(parts)


def _quoted(parts: Iterable[str]) -> str:
    """A phrase; a part is letters, digits and underscores, so there is no quote in it to escape."""
    return f'"{" ".join(parts)}"'


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _named(found: re.Match[str]) -> str:
    return f"{found[0]} {found[1].lower()}{_NAMES[found[2]]}"
