#!/bin/bash
# SPDX-License-Identifier: MIT
# The agent under the system calls that its unit leaves it: it starts, runs a test to the last request
# and ends when told.
#   check_filter.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail

source=$1
build=$2
command -v systemd-analyze >/dev/null || {
    echo "skipped: systemd-analyze is missing (apt-get install systemd)"
    exit 77
}
dir=$(mktemp -d)
pids=()
cleanup() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$dir"
}
trap cleanup EXIT

# names GROUP: the calls of a group and of the groups in it.
names() {
    local word
    systemd-analyze syscall-filter "$1" | sed -n 's/^ \+\([@a-z0-9_-]*\).*/\1/p' | while read -r word; do
        case $word in
        @*) names "$word" ;;
        ?*) echo "$word" ;;
        esac
    done
}

# The unit's lines, in order: with ~ a line takes away.
: >"$dir/allowed"
while read -r line; do
    for group in ${line#\~}; do
        names "$group"
    done | sort -u >"$dir/line"
    if [[ $line == ~* ]]; then
        comm -23 "$dir/allowed" "$dir/line" >"$dir/next"
    else
        # systemd adds @default to every list of what is allowed.
        names @default | sort -u - "$dir/line" "$dir/allowed" >"$dir/next"
    fi
    mv "$dir/next" "$dir/allowed"
done < <(sed -n 's/^SystemCallFilter=//p' "$source/deploy/systemd/hammer-agent.service")

# wait_for FILE PID
wait_for() {
    local i
    for ((i = 0; i < 1000; i++)); do
        [ -s "$1" ] && return
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.01
    done
    return 1
}

touch "$dir/agent.yml"
"$build/hammer-target" --listen 127.0.0.1:0 --port-file "$dir/target" --lifetime 60s >"$dir/out" &
pids+=($!)
wait_for "$dir/target" $!
"$build/tests/under_filter" "$dir/allowed" "$build/hammer-agent" --listen "ipc://$dir/agent" \
    --config "$dir/agent.yml" --port-file "$dir/agent.url" --log-format json 2>"$dir/log" &
agent=$!
pids+=("$agent")
wait_for "$dir/agent.url" "$agent" || {
    code=0
    wait "$agent" || code=$?
    cat "$dir/log"
    exit "$code"
}
HAMMER_NO_SAVE=1 "$build/hammer-ctl" run --agents "ipc://$dir/agent" -r 500 -d 1s -c 10 --json \
    "http://$(cat "$dir/target")/" >"$dir/report" || [ $? -eq 4 ] # busy machines send late
kill -HUP "$agent"
kill "$agent"
wait "$agent"
grep -q '"ok": *500\b' "$dir/report" || {
    cat "$dir/report" "$dir/log"
    exit 1
}
echo "$(wc -l <"$dir/allowed") system calls are enough"
