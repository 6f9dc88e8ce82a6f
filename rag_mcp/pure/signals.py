"""Signals that a passage tries to be more than data: names of what was seen, and where.

    zero_width       characters that take no room, where no script needs them
    tag_characters   invisible copies of ASCII (U+E0000 and on) outside flags, runs of variation selectors
    bidi             characters that turn the direction of the text around them
    role_marker      marks by which chat templates tell who speaks
    boundary_marker  marks that pretend to end quoted or untrusted text
    instruction      orders that address an assistant

A signal is a reason to look twice, not a verdict: notes about these very things carry them too.
"""

import re
import unicodedata
from collections.abc import Iterator

_ZERO_WIDTH = re.compile(r"[\u200b\u2060-\u2064\u180e]|(?<!^)\ufeff|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])")
_TAGS = re.compile(
    r"(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001-\U000e007f]|[\U000e0100-\U000e01ef]{2}|[\ufe00-\ufe0f]{3}"
)
_BIDI = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_ROLE = re.compile(
    r"<\|[a-z_]{2,30}\|>|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>"
    r"|</?(?:system|assistant|developer)(?:[_-](?:prompt|message|instructions?|reminder))?>"
    r"|^\s*#{0,6}\s*(?:system|developer)\s+(?:prompt|message)\s*:|^\W{0,3}system\s*:\s*(?:you|ignore|new)\b"
    r"|\A(?:human|assistant):|\n\n(?:human|assistant):",
    re.MULTILINE,
)
_BOUNDARY = re.compile(
    r"</?(?:untrusted|retrieved|quoted|external)(?:[_-]\w+)?>"
    r"|</?(?:search|tool|function|user|system)[_-](?:input|results?|output|response|calls?|passages?|documents?)>"
    r"|(?:\[|={3,}|-{3,}|<{3,})\s*/?(?:begin|start|end)\s+(?:of\s+)?(?:the\s+)?"
    r"(?:retrieved|untrusted|quoted|context|document|passage|search|tool|system|user|prompt|instruction|data|input)"
    r"[a-z ]*(?:\]|={3,}|-{3,}|>{3,})",
)
_EARLIER = r"(?:above|previous|prior|preceding|earlier|foregoing|existing|original|system)"
_ORDERS = r"(?:instructions?|prompts?|rules|messages?|directions?|guidelines|commands?|context|text)"
_INSTRUCTION = re.compile(
    rf"\b(?:(?:ignore|disregard)\s+(?:(?:all|any|everything|of|the|your|these|those|my)\s+){{0,4}}{_EARLIER}\b"
    rf"|(?:ignore|disregard|forget|override)\s+(?:(?:all|any|of|the|your|{_EARLIER})\s+){{1,5}}{_ORDERS}\b"
    r"|you are now\s+(?:an?|the|in|no longer|free|acting)\b"
    r"|(?:do not|don't|never)\s+(?:tell|inform|warn|alert|mention\s+(?:this|it|that)\s+to)\s+(?:the\s+)?user\b"
    r"|(?:reveal|print|repeat|output|show|leak)\s+(?:me\s+)?your\s+(?:system|hidden|initial)\s+"
    r"(?:prompt|instructions?)\b"
    r"|(?:new|updated|real)\s+(?:system\s+)?instructions?\s+for\s+(?:the\s+)?(?:ai|assistant|model|agent|llm)\b"
    r"|(?:ai|llm|language model|assistant)s?\s+(?:reading|processing|summari[sz]ing)\s+this\b"
    r"|ignor(?:iere?|a|ez|e)\s+(?:\w+\s+){0,3}(?:vorherigen|bisherigen|obigen|anteriores|précédentes|precedenti)\b"
    r")|(?:忽略|无视|忽視|無視)(?:以上|上述|之前|先前|前面|所有)",
)
_HIDDEN = (("zero_width", _ZERO_WIDTH), ("tag_characters", _TAGS), ("bidi", _BIDI))
_SAID = (("role_marker", _ROLE), ("boundary_marker", _BOUNDARY), ("instruction", _INSTRUCTION))


def signals(*, text: str, heading: str = "", source: str = "") -> tuple[str, ...]:
    """What was seen and where, such as "bidi in heading", sorted as the list above."""
    return tuple(f"{kind} in {where}" for where, part in _parts(text, heading, source) for kind in kinds(part))


def kinds(text: str) -> tuple[str, ...]:
    """The kinds of signals in one text."""
    found: list[str] = []
    if not text.isascii():
        found += [kind for kind, pattern in _HIDDEN if pattern.search(text)]
        text = _unhidden(text)
    lower = text.lower()
    found += [kind for kind, pattern in _SAID if pattern.search(lower)]
    return tuple(found)


def _parts(text: str, heading: str, source: str) -> Iterator[tuple[str, str]]:
    yield "text", text
    yield "heading", heading
    yield "source", source


def _unhidden(text: str) -> str:
    """The text as a reader sees it: invisible characters gone, look-alike forms of letters made plain."""
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible)
