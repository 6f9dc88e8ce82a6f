"""Starts the MCP server with the tools `search_corpus` and `get_file`; clients name it by its absolute path."""

from rag_mcp.corpus import serve

if __name__ == "__main__":
    serve()
