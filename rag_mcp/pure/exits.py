"""Exit codes: done; refused or worse; wrong usage or setting; the store is being written; files were held."""

DONE, REFUSED, USAGE, BUSY, HELD = range(5)
