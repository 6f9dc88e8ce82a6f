"""Bytes to text: by what is certain, else by what the file declares, else by what is likely, else not at all.

    byte order mark          UTF-8, UTF-16 or UTF-32, as it says; the mark is dropped
    valid UTF-8              UTF-8, whatever the text itself says of encodings
    half of it NUL bytes     UTF-16 without a mark: a NUL beside nearly every character, always on the same side
    declared                 `charset`, `encoding` or `coding`, : or =, and a known name, in the first 1,024 bytes:
                             a line of front matter, an HTML meta, an XML declaration, an editor's line
    likely Windows-1252      no UTF-8 sequence and no control character in it; what is beyond ASCII is a Western letter
                             or sign, never more than two in a row, and at most a quarter of the text
    else                     undecodable, as is all that holds NUL characters once it is decoded

What is only likely, and UTF-16 without a mark, come with a warning. Line ends stay as they are.
"""

import re
from collections.abc import Iterator

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.shown import Shown
from rag_mcp.pure.values import Lack, Unreadable

MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)
"""Byte order marks, those that begin like another one first."""
HEAD = 1024  # bytes in which a declaration counts, as for HTML
SHORTEST = 8  # bytes; less cannot tell UTF-16 from a text with NUL characters
DECLARED = re.compile(rb"""(?:charset|encoding|coding)[ \t]*[:=][ \t]*["']?([A-Za-z][\w.-]*)""", re.IGNORECASE)
KNOWN = (
    (re.compile(r"latin-?1|iso-?8859-?1|l1|ansi|(?:windows|cp)-?1252"), "cp1252"),  # as in HTML
    (re.compile(r"iso-?8859-?([2-9]|1[013-6])"), r"iso8859-\1"),
    (re.compile(r"(?:windows|cp)-?(125[0-8]|437|850|852|866|874|932|949|950)"), r"cp\1"),
    (re.compile(r"shift-?jis|sjis|ms-?kanji"), "cp932"),
    (re.compile(r"gb-?2312|gbk|gb-?18030|cp-?936"), "gb18030"),
    (re.compile(r"(euc-?jp|big5|koi8-?[ru])"), r"\1"),
    (re.compile(r"euc-?kr"), "cp949"),
    (re.compile(r"tis-?620"), "cp874"),
    (re.compile(r"mac(?:intosh|-?roman)"), "mac_roman"),
    (re.compile(r"utf-?16-?(le|be)"), r"utf-16-\1"),
)
"""Names that may be declared, and the codec that each stands for."""
UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
CONTROLS = re.compile(rb"[\0-\x08\x0b\x0e-\x1f\x7f]")
BEYOND = re.compile(rb"[\x80-\xff]+")
WESTERN = re.compile("[À-ÖØ-öø-ÿŠšŽžŒœŸ\xa0¡£§©«\xad®°±²³´µ·ª¹º»¼½¾¿×€„…‘’“”•–—™‚‹›]+")
BINARY = (
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
)


@frozen(repr=False)
class Decoded(Shown):
    """The text of a file, and a sentence where its encoding was not certain or not the usual one."""

    text: str
    warning: str | None = None


def decode(path: str, data: bytes) -> Result[str, Unreadable]:
    """The text of a file, or why it has none."""
    return decoded(path, data).map(lambda found: found.text)


def decoded(path: str, data: bytes) -> Result[Decoded, Unreadable]:
    """The text of a file with its warning, or why it has none."""
    whys = []
    for encoding, skip, warning in _readings(data):
        text = _read(data[skip:], encoding)
        if isinstance(text, str):
            return Success(Decoded(text, warning))
        whys.append(text[0])
    kind = next((name for magic, name in BINARY if data.startswith(magic)), None)
    return Failure(Unreadable(path, f"it is {kind}, not text" if kind else whys[-1], Lack.UNDECODABLE))


def _readings(data: bytes) -> Iterator[tuple[str, int, str | None]]:
    """(encoding, bytes to skip, warning) of each reading worth trying, best first; at least one."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            yield encoding, len(mark), None
            return
    yield "utf-8", 0, None
    if (bare := _bare_utf16(data)) is not None:
        yield bare, 0, "it has no byte order mark and was read as UTF-16"
    elif (named := _declared(data)) is not None:
        yield named, 0, None
    elif _likely_western(data):
        yield "cp1252", 0, "it is not UTF-8 and was read as Windows-1252; letters beyond ASCII may be wrong"


def _read(data: bytes, encoding: str) -> str | tuple[str]:
    """The text, or (why not)."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return (f"it is not {encoding.upper()} text (byte {error.start})",)
    if "\0" in text:
        return (f"it holds NUL characters (the first at character {text.index(chr(0))})",)
    return text


def _bare_utf16(data: bytes) -> str | None:
    if len(data) < SHORTEST or len(data) % 2:
        return None
    even, odd = data[::2].count(0), data[1::2].count(0)
    if 2 * odd > len(data) // 2 and not even:
        return "utf-16-le"
    return "utf-16-be" if 2 * even > len(data) // 2 and not odd else None


def _declared(data: bytes) -> str | None:
    """The codec that the first declaration with a known name stands for."""
    for match in DECLARED.finditer(data[:HEAD]):
        name = match[1].decode("ascii", "replace").lower().replace("_", "-")
        for pattern, codec in KNOWN:
            if found := pattern.fullmatch(name):
                return found.expand(codec)
    return None


def _likely_western(data: bytes) -> bool:
    runs = [match[0] for match in BEYOND.finditer(data)]
    if UTF8_SEQUENCE.search(data) or CONTROLS.search(data) or any(len(run) > 2 for run in runs):
        return False
    beyond = b"".join(runs).decode("cp1252", "replace")
    return 4 * len(beyond) <= len(data) and WESTERN.fullmatch(beyond) is not None
