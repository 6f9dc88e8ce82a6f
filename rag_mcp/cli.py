"""The promised path of the command line: `python -m rag_mcp.cli VERB`."""

from rag_mcp.adapters.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
