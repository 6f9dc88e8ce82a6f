"""Profiles: which tools a server shows. They share one index and differ in their names and in how they answer."""

from collections.abc import Mapping

from returns.result import Failure, Result, Success

from rag_mcp.pure.config_error import ConfigError

KNOWLEDGE = "knowledge"
CORPUS = "corpus"
TOOLS: Mapping[str, tuple[str, ...]] = {KNOWLEDGE: ("search_knowledge",), CORPUS: ("search_corpus", "get_file")}
"""The tools of each profile, in the order in which they are shown."""
DEFAULT = (KNOWLEDGE,)


def parse_profiles(text: str | None) -> Result[tuple[str, ...], ConfigError]:
    """The profiles that names with commas between them mean, in an order of their own; blank or None: the default."""
    named = {part.strip() for part in (text or "").split(",")} - {""}
    if strange := sorted(named - TOOLS.keys()):
        known = ", ".join(TOOLS)
        return Failure(ConfigError(f"tools {strange[0][:40]!r}: name some of {known} (--tools or RAG_MCP_TOOLS)"))
    return Success(tuple(name for name in TOOLS if name in named) or DEFAULT)
