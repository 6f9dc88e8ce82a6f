"""Starts the MCP server over standard input and output; `mcp.yaml` names this file."""

from rag_mcp.server import main

if __name__ == "__main__":
    main()
