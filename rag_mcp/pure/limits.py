"""Bounds of what may be asked; who only passes a question on needs no more of the core."""

DEFAULT_K = 5
MAX_K = 20
MAX_QUERY = 4000
MAX_PATH = 4096
"""Characters; no system takes a longer path."""
