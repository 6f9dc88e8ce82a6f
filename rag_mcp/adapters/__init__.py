"""Touches: disk, SQLite, Chroma, models, terminal. Adapters do not know each other; `wiring` joins them."""
