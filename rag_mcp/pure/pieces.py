"""Text taken apart into pieces that fit, rank by rank, and only as far as needed.

    blocks, list items and nested blocks, sentences, table rows, lines, words, characters

Code, tables and HTML have no sentences; what has no place of a rank waits for the next. A piece is never cut inside a
combined character, save in one without end.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from unicodedata import category

from attrs import evolve, frozen

from rag_mcp.pure.blocks import BLOCK, CHARACTER, LINE, SENTENCE, WORD, Outline
from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Measure

CHARACTERS_A_TOKEN = 8  # an endless word is one unknown token; it still costs by its length
SENTENCE_END = re.compile(r"(?:[.!?…]+[\"')\]”’]*\s+|[。！？]+[」』”’]*\s*)")
SPACES = re.compile(r"\s+")
BREAKS = re.compile(r"\s+|[，、；：]+")  # where a word ends, also in a script without blanks
LEADING = frozenset("เแโใไເແໂໃໄ")  # written before the consonant that they follow in speech
TRAILING = frozenset("\u200d\ufe0e\ufe0f\nะาำๅๆະາຳຽໆ")
RUN = 64  # characters of an unbroken run that are kept together


@frozen(repr=False)
class Stretch(Shown):
    """A span of up to `whole` tokens, or to be taken apart until no piece has more than `budget` tokens.

    Code and HTML, in front of which nothing is repeated, stay whole up to `room`. `solid`: it is no running text.
    `size` is its size in tokens, 0 where it was not measured yet.
    """

    start: int
    end: int
    whole: int
    room: int
    budget: int
    solid: bool = False
    size: int = 0


@frozen(repr=False)
class Piece(Shown):
    """A span that is not cut further, the rank of cutting before it, and its size in tokens."""

    start: int
    end: int
    rank: int
    size: int


def taken_apart(text: str, outline: Outline, stretches: Sequence[Stretch], measure: Measure) -> list[list[Piece]]:
    """The pieces of each stretch, in order. `measure` is called once for each rank that anything was cut at."""
    places = sorted(outline.cuts)
    pending = _measured(text, [[Piece(s.start, s.end, BLOCK, s.size)] for s in stretches], measure)
    for rank in range(CHARACTER + 1):
        finer = [
            [part for piece in pieces for part in _fitting(text, outline, places, stretch, piece, rank)]
            for stretch, pieces in zip(stretches, pending, strict=True)
        ]
        pending = _measured(text, finer, measure)
    return pending


def _measured(text: str, stretches: Sequence[Sequence[Piece]], measure: Measure) -> list[list[Piece]]:
    """The same pieces, those of size 0 (not measured yet) with their sizes."""
    texts = [text[piece.start : piece.end] for pieces in stretches for piece in pieces if piece.size == 0]
    sizes = iter(measure(texts) if texts else ())
    return [[piece if piece.size else _sized(piece, next(sizes)) for piece in pieces] for pieces in stretches]


def _fitting(
    text: str, outline: Outline, places: Sequence[int], stretch: Stretch, piece: Piece, rank: int
) -> list[Piece]:
    fits = piece.size <= _most(outline, stretch, piece)
    return [piece] if fits else _apart(text, outline, places, stretch, piece, rank)


def _most(outline: Outline, stretch: Stretch, piece: Piece) -> int:
    if (piece.start, piece.end) == (stretch.start, stretch.end):
        return stretch.whole
    code = outline.is_solid(piece.start) and not outline.table_around(piece.start + 1)
    return stretch.room if code or stretch.solid else stretch.budget


def _sized(piece: Piece, tokens: int) -> Piece:
    return evolve(piece, size=weight(tokens, piece.end - piece.start))


def weight(tokens: int, length: int) -> int:
    """What a text of so many tokens and characters counts against a budget; at least 1."""
    return max(1, tokens, length // CHARACTERS_A_TOKEN)


def _apart(
    text: str, outline: Outline, cut_places: Sequence[int], stretch: Stretch, piece: Piece, rank: int
) -> list[Piece]:
    """The piece cut at all its places of this rank; the piece itself where it has none."""
    places = list(_places(text, outline, cut_places, stretch, piece, rank))
    if not places:
        return [piece]
    edges = [piece.start, *places, piece.end]
    ranks = [piece.rank, *(rank for _ in places)]
    return [Piece(a, b, r, 0) for (a, b), r in zip(pairwise(edges), ranks, strict=True)]


def _places(
    text: str, outline: Outline, cut_places: Sequence[int], stretch: Stretch, piece: Piece, rank: int
) -> Iterator[int]:
    inside = range(piece.start + 1, piece.end)
    if rank == SENTENCE:
        if not stretch.solid and not outline.is_solid(piece.start):
            found = (match.end() for match in SENTENCE_END.finditer(text, piece.start, piece.end))
            yield from (place for place in found if place in inside)
    elif rank == LINE:
        first = bisect_left(outline.lines, piece.start + 1)
        yield from outline.lines[first : bisect_left(outline.lines, piece.end)]
    elif rank == WORD:
        yield from _word_places(text, piece)
    elif rank == CHARACTER:
        yield from _character_places(text, piece)
    elif not stretch.solid:
        first = bisect_left(cut_places, piece.start + 1)
        for place in cut_places[first : bisect_left(cut_places, piece.end)]:
            if outline.cuts[place] <= rank:
                yield place


def _word_places(text: str, piece: Piece) -> Iterator[int]:
    """Starts of words, some dozens of characters apart: single words would be too many pieces to weigh."""
    last = piece.start
    for match in BREAKS.finditer(text, piece.start, piece.end):
        if match.end() - last >= RUN and match.end() < piece.end:
            yield match.end()
            last = match.end()


def _character_places(text: str, piece: Piece) -> Iterator[int]:
    """Places inside an unbroken run, never inside a combined character."""
    place = unjoined(text, piece.start + RUN, piece.end)
    while place < piece.end:
        yield place
        place = unjoined(text, place + RUN, piece.end)


def unjoined(text: str, place: int, end: int) -> int:
    """The first place from `place` on, up to `end`, that is not inside a combined character.

    A character without end is cut anywhere.
    """
    for later in range(place, min(place + RUN, end)):
        if not _joined(text[later - 1], text[later]):
            return later
    return place if place + RUN < end else end


def _joined(before: str, after: str) -> bool:
    """True where a cut would part a character from its marks, or a Thai or Lao vowel from its consonant."""
    if category(after)[0] == "M" or after in TRAILING or before in LEADING or before == "\u200d":
        return True
    return "\U0001f3fb" <= after <= "\U0001f3ff" or (
        "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"
    )
