"""Brings the store of `server.py` up to date with its corpus."""

from rag_mcp.corpus import ingest

if __name__ == "__main__":
    ingest()
