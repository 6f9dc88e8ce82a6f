"""Arguments that more than one tool takes, as they are published.

Bounds are published here and refused, where they must be, by the core: in the shape of every other reply.
"""

from pydantic import PlainValidator, WithJsonSchema

from rag_mcp.pure.errors import MAX_QUERY
from rag_mcp.pure.query import MAX_K

AS_SENT = PlainValidator(lambda value: value)
QUERY = WithJsonSchema(
    {"type": "string", "minLength": 1, "maxLength": MAX_QUERY, "description": "The question, or keywords."}
)


def passages_wanted(description: str) -> WithJsonSchema:
    """The argument k, with what a tool says of it."""
    return WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_K, "description": description})
