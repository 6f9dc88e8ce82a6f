# Six verbs. `make` alone explains them.
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup lint types test bench gates

help:  ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /make \1\t/'

setup: $(VENV)/ready  ## a virtual environment from the lock, with the package in it

$(VENV)/ready: requirements-dev.lock pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lint: setup  ## style, and which room may import what
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup  ## mypy, strict
	$(BIN)/mypy

test: setup  ## every test
	$(BIN)/python -m pytest -n auto

bench: setup  ## ratios, with their floor measured in the same run
	$(BIN)/python -m benchmarks

gates: setup  ## the server tried with real clients; needs npm the first time
	PYTHON=$(BIN)/python scripts/mcp-gates/run.sh
