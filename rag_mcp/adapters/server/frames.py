"""Lines of a client that the SDK cannot read and would pass over: a request among them is owed an answer."""

import json
from typing import Any

from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from rag_mcp.adapters.server.replies import whole


def read_again(error: Exception) -> JSONRPCMessage | None:
    """The message, its halves of characters as U+FFFD; the error to answer a request with; None for neither."""
    if not isinstance(error, ValidationError):
        return None
    said = error.errors(include_url=False)
    if said[0]["type"] != "json_invalid":
        return _refusal(next((each["input"] for each in said if _is_request(each["input"])), None))
    try:
        value = json.loads(said[0]["input"])
        return jsonrpc_message_adapter.validate_json(whole(json.dumps(value, ensure_ascii=False)), by_name=False)
    except ValidationError:
        return _refusal(value)
    except (ValueError, RecursionError):
        return None


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and "method" in value and isinstance(value.get("id"), int | str)


def _refusal(value: Any) -> JSONRPCError | None:
    if not _is_request(value):
        return None
    told = "not a request of JSON-RPC 2.0: it takes jsonrpc, id, a method by name, and an object of params"
    return JSONRPCError(jsonrpc="2.0", id=value["id"], error=ErrorData(code=INVALID_REQUEST, message=told))
