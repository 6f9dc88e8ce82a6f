"""Note or hand-over.

A hand-over is any of:

    1 front matter `type: handoff`              3 directly in the mirror folder, named as one of its files
    2 front matter tag `handoff`                4 directly in the mirror folder, its name ends in the token `handoff`

Rule 4 is narrow on purpose: a note wrongly taken for a hand-over vanishes from `doc_class="note"` questions.
"""

import posixpath
import re
from collections.abc import Mapping

from rag_mcp.pure.identity import Labelling

NOTE, HANDOFF = "note", "handoff"
ALLOWED_DOC_CLASSES = (NOTE, HANDOFF)
SEPARATORS = re.compile(r"[-_. ]+")


def doc_class(path: str, metadata: Mapping[str, object], labelling: Labelling) -> str:
    """The class of the file at corpus-relative `path` with this front matter."""
    kind = metadata.get("type")
    if isinstance(kind, str) and kind.strip().lower() == HANDOFF:
        return HANDOFF
    if HANDOFF in tags(metadata.get("tags")):
        return HANDOFF
    return HANDOFF if _mirrored(path, labelling) else NOTE


def tags(value: object) -> frozenset[str]:
    """Tags in lower case, from a list or from words between commas and blanks; a leading # is dropped."""
    words = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return frozenset(str(word).strip().lstrip("#").lower() for word in words if str(word).strip())


def _mirrored(path: str, labelling: Labelling) -> bool:
    folder, name = posixpath.split(path)
    if folder != labelling.mirror_dir.replace("\\", "/").strip("/"):
        return False
    return name.lower() in {known.lower() for known in labelling.mirror_basenames} or ends_in_token(name)


def ends_in_token(name: str) -> bool:
    """True when the last piece of the stem that is not made of digits is `handoff`."""
    pieces = [piece for piece in SEPARATORS.split(posixpath.splitext(name)[0]) if piece]
    while pieces and pieces[-1].isdigit():
        pieces.pop()
    return bool(pieces) and pieces[-1].lower() == HANDOFF
