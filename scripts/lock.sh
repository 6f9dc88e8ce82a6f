#!/usr/bin/env bash
# Writes requirements-dev.lock (runtime, tests, tools, build) and requirements.lock (runtime; the same versions):
# exact, with hashes, for every platform and Python 3.11 or newer. Needs uv on PATH.
# `scripts/lock.sh` keeps what is locked and still fits pyproject.toml; `scripts/lock.sh --upgrade` takes the newest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compile() {
    uv --no-config pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@" >/dev/null
}

compile --extra dev --output-file requirements-dev.lock "$@"
compile --constraint requirements-dev.lock --output-file requirements.lock
