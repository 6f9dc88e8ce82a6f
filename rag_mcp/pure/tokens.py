"""How many tokens a text has, where no tokenizer is at hand: an estimate that leans to too many.

    tokens(text) = groups of up to 4 Latin letters + blank-line runs + every other visible character,
                   one beyond the basic plane (emoji, mathematical letters) as 3

So prose comes out near its true count, figures, code and punctuation above it, and Chinese, Japanese and Korean at one
for each character. Measured on 3,000 pieces of the test corpora, a third of them far from prose, against the tokenizers
of GPT-4 (cl100k), Gemma 3 and BERT: the median true count is 0.8 to 0.9 of the estimate, one piece in a hundred has
more than 1.7 times it, none more than 2.1 times but a string of rare signs. Hence `HALF`: no more of a model's window
is promised than one half.
"""

import re
from collections.abc import Sequence

ESTIMATE = "estimate 1"
"""Stands in an identity for the tokenizer that is not there; another estimate cuts files elsewhere."""
HALF = 2

_TOKEN = re.compile(r"[A-Za-z]{1,4}|\n+|[^\sA-Za-z]")
_ASTRAL = re.compile(r"[\U00010000-\U0010ffff]")


def estimated(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, special tokens not included."""
    return [len(_TOKEN.findall(text)) + 2 * len(_ASTRAL.findall(text)) for text in texts]


def promised(window: int) -> int:
    """Tokens, by the estimate, that surely fit into a window of so many."""
    return window // HALF
