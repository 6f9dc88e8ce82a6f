"""The record in SQLite."""
