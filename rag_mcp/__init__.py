"""rag_mcp: a folder of Markdown in, cited passages out, wholly on your machine.

`Index` is the library. Importing this package loads nothing heavy.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_mcp.effects.boundary import Refused
    from rag_mcp.index import ALL, Index

__version__ = "0.1.0"
__all__ = ["ALL", "Index", "Refused", "__version__"]


def __getattr__(name: str) -> object:
    if name in ("Index", "ALL"):
        from rag_mcp import index

        return getattr(index, name)
    if name == "Refused":
        from rag_mcp.effects.boundary import Refused

        return Refused
    raise AttributeError(f"module 'rag_mcp' has no attribute {name!r}")
