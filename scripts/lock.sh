#!/usr/bin/env bash
# Writes requirements-dev.lock (runtime, tests, tools, build) and requirements.lock (runtime; the same versions):
# exact, with hashes, for every platform and Python 3.11 or newer; and requirements.txt, the versions of what
# pyproject.toml names itself. Needs uv on PATH.
# `scripts/lock.sh` keeps what is locked and still fits pyproject.toml; `scripts/lock.sh --upgrade` takes the newest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compile() {
    uv --no-config pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@" >/dev/null
}

compile --extra dev --output-file requirements-dev.lock "$@"
compile --constraint requirements-dev.lock --output-file requirements.lock

named=$(sed -n '/^dependencies = \[/,/^\]/s/^ *"\([A-Za-z0-9-]*\).*/\1/p' pyproject.toml | tr '[:upper:]' '[:lower:]' | paste -sd'|' -)
{
    echo "# What pyproject.toml names, exactly; requirements.lock has all that these need, with hashes. From scripts/lock.sh."
    grep -E "^($named)==" requirements.lock | sed 's/ *\\$//'
} >requirements.txt
