"""Replies as the wire carries them: in two equal channels.

Clients show their model the text or the structure, some the one on success and the other on failure. So the text is
the compact JSON of exactly the object in `structuredContent`.
"""

import json
from typing import Literal

from mcp.types import CallToolResult, TextContent

from rag_mcp.pure.reply import Shape, compact


def whole(text: str) -> str:
    """The text as JSON can carry it: what is no character (half of a pair, a byte of a file name) becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_wire(shape: Shape) -> CallToolResult:
    """Both channels."""
    text = whole(compact(shape))
    structure = json.loads(text)
    kind: Literal["text"] = "text"
    return CallToolResult(
        content=[TextContent(type=kind, text=text)], structured_content=structure, is_error="error" in shape
    )
