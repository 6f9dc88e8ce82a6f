"""Lines of a client that the SDK cannot read and would pass over: a request among them is owed an answer."""

import json
from typing import Any

from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from rag_mcp.adapters.server.replies import whole

WHOLE_FRAME = 2
"""Steps to a missing key of a frame itself: the kind of message that it would be, and the key."""


def read_again(error: Exception) -> JSONRPCMessage | None:
    """The message, its halves of characters as U+FFFD; the error to answer a request with; None for neither."""
    if not isinstance(error, ValidationError):
        return None
    said = error.errors(include_url=False)
    if said[0]["type"] != "json_invalid":
        frames = (each["input"] for each in said if each["type"] == "missing" and len(each["loc"]) == WHOLE_FRAME)
        return _refusal(next(frames, None))
    try:
        mended = whole(json.dumps(json.loads(said[0]["input"]), ensure_ascii=False))
        value = json.loads(mended)
        return jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except ValidationError:
        return _refusal(value)
    except (ValueError, RecursionError):
        return None


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and "method" in value and type(value.get("id")) in (int, str)


def _refusal(value: Any) -> JSONRPCError | None:
    if not _is_request(value):
        return None
    told = "not a request of JSON-RPC 2.0: it takes jsonrpc, id, a method by name, and an object of params"
    return JSONRPCError(jsonrpc="2.0", id=value["id"], error=ErrorData(code=INVALID_REQUEST, message=told))
