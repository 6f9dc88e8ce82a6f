"""The corpus profile by three variables, for `server.py` and `ingest.py`: RAG_CORPUS_DIR, RAG_STORE_DIR, OLLAMA_HOST.

What is not set is the sample corpus and a store in the user's home. The RAG_MCP_* variables count as ever, and first.
"""

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

from rag_mcp.adapters.settings import ALIASES
from rag_mcp.pure.profiles import CORPUS

DEFAULTS = {"RAG_CORPUS_DIR": "./sample-corpus", "RAG_STORE_DIR": "~/.local-rag-mcp/store", "RAG_MCP_TOOLS": CORPUS}


def defaulted(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with a default for each folder that neither of its two names sets."""
    named = {alias for variable, alias in ALIASES.items() if environ.get(variable)}
    chosen = {name for name in DEFAULTS if environ.get(name)} | named
    return {**environ, **{name: value for name, value in DEFAULTS.items() if name not in chosen}}


def serve() -> NoReturn:
    """Serve standard input and output."""
    os.environ.update(defaulted(os.environ))
    from rag_mcp.server import main

    main()


def ingest() -> NoReturn:
    """Bring the store up to date; options are those of `rag-mcp ingest`."""
    os.environ.update(defaulted(os.environ))
    sys.argv[1:1] = ["ingest"]
    from rag_mcp.cli import main

    main()
