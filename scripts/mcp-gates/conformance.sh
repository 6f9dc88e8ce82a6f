#!/usr/bin/env bash
# The scenarios of the conformance suite that say something about this server; run.sh starts the server and this.
#
# Left out: what calls fixtures (tools, resources, prompts named test_...), completion, subscriptions, protocol logging
# and tasks, which the server does not have and does not claim to have.
# A scenario that was not run is no pass, though the suite ends with 0; nor is one in which nothing was checked.
set -euo pipefail
cd "${WORK:?is set by run.sh}"
runs=0 passed=0

wrong() { printf '%s\n' "mcp-gates: conformance: $1" "$(cat log.txt)" >&2; exit 1; }

run() { # VERSION SCENARIO
    code=0
    node "$GATES/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$URL" \
        --scenario "$2" --spec-version "$1" -o "out/$1/$2" >log.txt 2>&1 || code=$?
    ! grep -q 'SKIPPED: scenario' log.txt || wrong "$1 $2 does not apply, so it was not run"
    checks=$(sed -nE 's|^Passed: ([0-9]+)/[0-9]+, .*|\1|p' log.txt)
    [[ -n $checks ]] || wrong "$1 $2 came to no result"
    runs=$((runs + 1)) passed=$((passed + checks))
    printf '%s %s: %s\n' "$1" "$2" "$(grep '^Passed: ' log.txt)"
}

gate() { # VERSION SCENARIO...: each passes, and has looked at something
    for scenario in "${@:2}"; do
        run "$1" "$scenario"
        [[ $code == 0 ]] || wrong "$1 $scenario failed"
        [[ $checks != 0 ]] || wrong "$1 $scenario passed without a single check"
    done
}

without_sessions() { # VERSION SCENARIO...: about sessions, which this server does not keep: no check may fail
    for scenario in "${@:2}"; do
        run "$1" "$scenario"
        [[ $code == 0 && $checks == 0 ]] || wrong "$1 $scenario: no failure and no check were expected"
    done
}

but_for_fixtures() { # VERSION SCENARIO: what fails is only what the suite calls untestable without its fixtures
    run "$1" "$2"
    [[ $checks != 0 ]] || wrong "$1 $2 passed not a single check"
    "$PY" - "out/$1/$2" <<'END' || wrong "$1 $2 failed"
import json, pathlib, sys

(place,) = pathlib.Path(sys.argv[1]).rglob("checks.json")
failed = [check for check in json.loads(place.read_text("utf-8")) if check["status"] == "FAILURE"]
sys.exit(any(not check.get("details", {}).get("untestable") for check in failed))
END
}

printf '== conformance\n'
gate 2025-11-25 server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection
without_sessions 2025-11-25 server-session-lifecycle server-sse-multiple-streams
gate 2026-07-28 tools-list resources-list prompts-list dns-rebinding-protection server-sse-multiple-streams caching \
    http-header-validation sep-2164-resource-not-found input-required-result-unsupported-methods
! grep -rlF --include=checks.json 'Unknown tool' out >log.txt || wrong "a pass that rests on a tool that is not there"
but_for_fixtures 2026-07-28 server-stateless
printf 'conformance: %s scenarios, %s checks passed\n' "$runs" "$passed"
