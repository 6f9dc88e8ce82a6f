#!/usr/bin/env bash
# The inspector's command line in both eras over both transports; run.sh prepares what it needs and starts it.
#
#   0   done              5   a tool said isError, or the inspector itself knows no such tool (it asks nobody)
#   1   a protocol error  6   --strict found a schema that some client cannot use
#
# A reply that breaks the published output schema is 1 as well, so every 0 and 5 here says that the reply fits it.
set -euo pipefail
cd "${WORK:?is set by run.sh}"
runs=0
ERA='"io.modelcontextprotocol/serverInfo"'  # only results of 2026-07-28 name the server

expect() { # CODE TEXT ARGUMENTS...: the exit code, and what must stand in the output
    local code=$1 text=$2 got=0
    shift 2
    node "$GATES/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli \
        "$@" -q --format json >reply.txt 2>said.txt </dev/null || got=$?
    runs=$((runs + 1))
    [[ $got == "$code" ]] || wrong "exit code $got, expected $code" "$@"
    grep -qF -- "$text" reply.txt said.txt || wrong "no $text in the output" "$@"
}

wrong() {
    printf '%s\n' "mcp-gates: inspector: $1" "  arguments: ${*:2}" "  output: $(head -c 2000 reply.txt said.txt)" >&2
    exit 1
}

stdio() { # SETTING=VALUE...: puts into `to` how a server with these settings is started
    to=(-e "XDG_STATE_HOME=$XDG_STATE_HOME" -e HF_HUB_OFFLINE=1)
    for setting in "$@"; do to+=(-e "$setting"); done
    to+=("$PY" "$ROOT/run_server.py")
}

call() { # CODE TEXT JSON: search_knowledge with these arguments
    expect "$1" "$2" --protocol-era "$era" "${to[@]}" \
        --method tools/call --tool-name search_knowledge --tool-args-json "$3"
}

ask() { # CODE TEXT METHOD OPTIONS...
    expect "$1" "$2" --protocol-era "$era" "${to[@]}" --method "${@:3}"
}

everything() {
    ask 0 '"search_knowledge"' tools/list --strict
    call 0 '"structuredContent":{"ok":true,"query":"restore","k":1,"count":1,' '{"query":"restore","k":1}'
    [[ $era == legacy ]] || grep -qF "$ERA" reply.txt || wrong "the connection is not of 2026-07-28" "$era"
    [[ $era != legacy ]] || ! grep -qF "$ERA" reply.txt || wrong "the connection is not of 2025-11-25" "$era"
    call 0 '"structuredContent":{"ok":true,"query":"restore","k":20,"count":2,' '{"query":"restore","k":99}'
    call 0 '"structuredContent":{"ok":true,"query":"restore","k":2,"count":2,' '{"query":"restore","k":"2"}'
    call 0 '"ok":true' '{"query":"restore","doc_class":"note"}'
    call 5 '"type":"invalid_query"' '{"query":" "}'
    call 5 '"type":"invalid_query"' '{}'
    call 5 '"type":"invalid_doc_class"' '{"query":"restore","doc_class":"diary"}'
    call 5 'top_k' '{"query":"restore","top_k":3}'
    ask 5 '"tool_not_found"' tools/call --tool-name search --tool-args-json '{"query":"restore"}'
    ask 0 '"resources":[]' resources/list
    ask 0 '"rag://{+source}{?lines}"' resources/templates/list
    ask 0 'copy the newest folder back' resources/read --uri rag://ops/restore.md
    ask 0 '"text":"# Restore\n"' resources/read --uri 'rag://ops/restore.md?lines=4-4'
    ask 1 'not a document of this index' resources/read --uri rag://ops/none.md
    ask 0 '"name":"search"' prompts/list
    ask 0 'answer from them: which keys?' prompts/get --prompt-name search --prompt-args 'question=which keys?'
    ask 1 'Unknown prompt: none' prompts/get --prompt-name none
    ask 1 'Missing required arguments' prompts/get --prompt-name search
    ask 0 '"requests":200,"ok":200,"toolErrors":0,"errors":0,' tools/call --tool-name search_knowledge \
        --tool-arg query=restore --load --load-requests 200 --load-concurrency 8
}

refusals() { # what a search says where settings or store are amiss
    stdio "RAG_MCP_DB_PATH=$WORK/store"
    call 5 '"type":"config_error","message":"RAG_MCP_CORPUS_ROOT is not set' '{"query":"restore"}'
    stdio "RAG_MCP_CORPUS_ROOT=$WORK/none" "RAG_MCP_DB_PATH=$WORK/store"
    call 5 '"type":"config_error"' '{"query":"restore"}'
    local there=("RAG_MCP_CORPUS_ROOT=$WORK/corpus")
    stdio "${there[@]}" "RAG_MCP_DB_PATH=$WORK/none"
    call 5 '"type":"store_missing"' '{"query":"restore"}'
    stdio "${there[@]}" "RAG_MCP_DB_PATH=$WORK/empty"
    call 5 '"type":"empty_store"' '{"query":"restore"}'
    stdio "${there[@]}" "RAG_MCP_DB_PATH=$WORK/damaged"
    call 5 '"type":"store_unreachable"' '{"query":"restore"}'
    there+=("RAG_MCP_DB_PATH=$WORK/store")
    stdio "${there[@]}" RAG_MCP_EMBEDDER=none
    call 5 '"type":"config_error","message":"embedder' '{"query":"restore"}'
    stdio "${there[@]}" RAG_MCP_EMBEDDER=default
    call 5 '"type":"identity_mismatch"' '{"query":"restore"}'
    stdio "${there[@]}" RAG_MCP_EMBEDDER=bge "RAG_MCP_MODEL_DIR=$WORK/nothing" "HF_HOME=$WORK/nothing"
    call 5 '"type":"embedder_failed"' '{"query":"restore"}'
}

for era in modern legacy auto; do
    printf '== inspector, %s, stdio\n' "$era"
    stdio "RAG_MCP_CORPUS_ROOT=$WORK/corpus" "RAG_MCP_DB_PATH=$WORK/store"
    everything
    printf '== inspector, %s, http\n' "$era"
    to=(--server-url "$URL" --transport http)
    everything
done
for era in modern legacy; do
    printf '== inspector, %s, stdio: settings and stores that are amiss\n' "$era"
    refusals
done
printf 'inspector: %s runs as expected\n' "$runs"
