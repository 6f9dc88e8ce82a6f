"""The promised path of the server, for whoever starts it with a script: `run_server.py` is two lines of it.

It starts whatever the settings and the store are, and tells each call what is amiss: a client may be started first.
"""

import os
from typing import NoReturn

from rag_mcp.adapters.serving import profiles, server_settings, stdio

__all__ = ["main"]


def main() -> NoReturn:
    """Serve standard input and output by the RAG_MCP_* variables."""
    stdio(server_settings(os.environ, {}), profiles(os.environ, {}))


if __name__ == "__main__":
    main()
