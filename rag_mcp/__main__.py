"""`python -m rag_mcp` is the command `rag-mcp`."""

from rag_mcp.adapters.cli import main

main()
