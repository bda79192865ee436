# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by tests/bench/run: one generator against one fresh responder, and what came of it.
# shellcheck disable=SC2034,SC2154  # variables are shared with the files that source each other

server_kind=responder # or nginx
servers=()
server_count=() # flags of bench-cpu: where the server tells how many requests it has served
measuring=
agents=()
agent_cpus=
failures=0

stop_children() {
    local child
    for child in $measuring "${servers[@]}" "${agents[@]}"; do
        kill "$child" 2>/dev/null || true
    done
    for child in $measuring "${servers[@]}" "${agents[@]}"; do
        wait "$child" 2>/dev/null || true
    done
    servers=()
    measuring=
    agents=()
}

# wait_for FILE PID: until the process has written it; at most 5 s.
wait_for() {
    local waited
    for ((waited = 0; waited < 250; waited++)); do
        [ ! -s "$1" ] || return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.02
    done
    return 1
}

# responder_start CPU FLAG...: its address is then in $address.
responder_start() {
    local cpu=$1 n=${#servers[@]}
    shift
    rm -f "$work/port" "$work/stamps"
    "$bin/bench-responder" --cpu "$cpu" --port-file "$work/port" --lifetime 2m \
        --counter "$work/counter$n" "$@" >"$work/served" 2>"$work/server.log" &
    servers+=($!)
    server_count+=(--counter "$work/counter$n")
    wait_for "$work/port" "${servers[n]}" || return 1
    address=$(cat "$work/port")
}

# One worker that answers out of its memory, on a port that was free a moment ago: nginx takes no
# port 0. Its address is then in $address.
nginx_start() {
    local pid
    "$bin/bench-responder" --port-file "$work/free" --lifetime 10s >"$work/served" &
    pid=$!
    wait_for "$work/free" "$pid" || return 1
    address=$(cat "$work/free")
    kill "$pid" && wait "$pid"
    rm -rf "$work/free" "$work/nginx"
    mkdir "$work/nginx"
    sed "s|@address@|$address|; s|@folder@|$work/nginx|" "$here/script/nginx.conf" >"$work/nginx/conf"
    taskset -c "$server_cpu" nginx -p "$work/nginx" -c conf 2>"$work/server.log" &
    servers=($!)
    server_count=(--status "$address")
    wait_for "$work/nginx/pid" "${servers[0]}" # written once it listens
}

# servers_start FLAG...: a responder on each of $server_cpus, or nginx.
servers_start() {
    local cpu
    servers=()
    server_count=()
    if [ "$server_kind" = nginx ]; then
        nginx_start
        return
    fi
    responder_start "${server_cpus[0]}" "$@" || return 1
    for cpu in "${server_cpus[@]:1}"; do
        responder_start "$cpu" --listen "$address" "$@" || return 1
    done
}

servers_stop() {
    local pid status=0
    for pid in "${servers[@]}"; do
        { kill "$pid" && wait "$pid"; } || status=$?
    done
    servers=()
    return $status
}

# agents_start N: they share the generator's CPU; their addresses are then in $agent_list.
agents_start() {
    local i
    agent_list=
    for ((i = 0; i < $1; i++)); do
        rm -f "$work/agent$i"
        taskset -c "${agent_cpus:-$generator_cpu}" "$bin/hammer-agent" --listen tcp://127.0.0.1:0 \
            --port-file "$work/agent$i" >"$work/agent$i.log" 2>&1 &
        agents+=($!)
        wait_for "$work/agent$i" "${agents[-1]}" || return 1
        agent_list=$agent_list${agent_list:+,}$(cat "$work/agent$i")
    done
}

# agents_stop: the largest memory of the first is then in $agent_rss_kb.
agents_stop() {
    local pid
    agent_rss_kb=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/${agents[0]}/status")
    for pid in "${agents[@]}"; do
        kill "$pid"
        wait "$pid" || true
    done
    agents=()
}

# value NAME FILE: of the first NAME=VALUE there.
value() {
    sed -n "s/^\\(.*[ ]\\)\\{0,1\\}$1=\\([^ ]*\\).*/\\2/p" "$2" | head -n 1
}

# row TOOL METRIC VALUE
row() {
    [ -n "$3" ] || return 0
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$section" "$cell" "$1" "$2" "$round" "$3" >>"$rows"
}

# calc EXPRESSION
calc() {
    awk "BEGIN { printf \"%.6g\", ($1) }" </dev/null
}

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s, %s, %s: %s\n' "$section" "$cell" "$1" "$2" >&2
    tail -n 3 "$work/out" "$work/server.log" 2>/dev/null >&2 || true
    stop_children
    return 1
}

# hammer_can PATTERN: is that flag there?
hammer_can() {
    grep -q -e "$1" "$work/help"
}

# absent TOOL: true, and said once a cell, when this hammer has no such mode.
declare -A told
absent() {
    local why=
    case $1 in
    hammer-closed | hammer-*thread*) hammer_can 'closed.loop\|full speed' || why="not there yet (closed loop)" ;;
    hammer-quantum) hammer_can '--dispatch-quantum' || why="not there yet (--dispatch-quantum)" ;;
    uring)
        why=$("$bin/bench-uring" --check 2>/dev/null) || why="not measured: ${why:-liburing-dev was missing}"
        ;;
    hammer-spin | hammer-sleep) hammer_can '--spin' || why="not there yet (--spin)" ;;
    esac
    [ "$server_kind" = responder ] || command -v nginx >/dev/null || why="nginx is not installed"
    [ -n "$why" ] || return 1
    [ -n "${told[$section$cell$1]-}" ] || say "$section, $cell, $1: $why"
    told[$section$cell$1]=1
}

# command_for TOOL: fills $command and $n_agents (0 = the command itself is measured).
command_for() {
    local url=http://$address/
    local -a hammer=(taskset -c "$controller_cpu" "$bin/hammer-ctl" run -q --agents "$agent_list"
        -c "$connections" -d "$duration" -o "$work/report.json")
    case $1 in
    hammer | hammer-2) command=("${hammer[@]}" -r "$rate" "$url") ;;
    hammer-closed) command=("${hammer[@]}" "$url") ;;
    hammer-1-thread) command=("${hammer[@]}" -t 1 "$url") ;;
    hammer-2-threads) command=("${hammer[@]}" -t 2 "$url") ;;
    hammer-100ms) command=("${hammer[@]}" -r "$rate" --interval 100ms "$url") ;;
    hammer-10s) command=("${hammer[@]}" -r "$rate" --interval 10s "$url") ;;
    hammer-quantum) command=("${hammer[@]}" -r "$rate" --dispatch-quantum 250us "$url") ;;
    hammer-sleep) command=("${hammer[@]}" -r "$rate" --spin 0 "$url") ;;
    hammer-spin) command=("${hammer[@]}" -r "$rate" --spin 200us "$url") ;;
    wrk) command=(wrk -t 1 -c "$connections" -d "${duration}s" "$url") ;;
    h2load) command=(h2load --h1 -t 1 -c "$connections" -D "$duration" "$url") ;;
    ab) command=(ab -q -k -c "$connections" -t "$duration" -n $((duration * 400000)) "$url") ;;
    hey) command=(hey -cpus 1 -c "$connections" -z "${duration}s" "$url") ;;
    epoll | uring) command=("$bin/bench-$1" -c "$connections" -d "$duration" "$address") ;;
    spin | wrk2pace)
        command=("$bin/bench-$1" -c "$connections" -d "$duration" -r "$rate" "$address")
        ;;
    esac
}

agents_of() {
    case $1 in
    hammer-2) echo 2 ;;
    hammer*) echo 1 ;;
    *) echo 0 ;;
    esac
}

# run_measured: the command under bench-cpu. The steady state begins $settle_ms after the first request
# and ends as long before the end, with some more room for what the tool does until the first.
settle_ms=300
run_measured() {
    local pid status=0 window
    local -a watch=("${server_count[@]}" --output "$work/cpu")
    for pid in "${servers[@]}"; do
        watch+=(--other "$pid")
    done
    window=$((duration * 1000 - settle_ms * 2))ms
    watch+=(--settle "${settle_ms}ms" --window "$window" --limit $((duration + 30))s)
    if [ ${#agents[@]} -gt 0 ]; then
        for pid in "${agents[@]}"; do
            watch+=(--pid "$pid")
        done
    else
        watch+=(--cpu "$generator_cpu")
    fi
    rm -f "$work/cpu" "$work/report.json"
    "$bin/bench-cpu" "${watch[@]}" -- "${command[@]}" >"$work/out" 2>&1 &
    measuring=$! # its command dies with it; in the background, so that a signal is heard at once
    wait "$measuring" || status=$?
    measuring=
    # hammer-ctl's verdict generator-limited: the figures are there, and the report says so.
    [ ${#agents[@]} -gt 0 ] && [ "$status" -eq 4 ] && status=0
    return "$status"
}

# measure TOOL [RESPONDER FLAG...]: with $rate, $connections, $duration. Leaves cpu, out, served and,
# where asked for, stamps and report.json in $work. 1 = not measured, said why.
measure() {
    local tool=$1 status=0 n
    shift
    ! absent "$tool" || return 1
    if past_limit; then
        return 1
    fi
    servers_start "$@" || {
        fail "$tool" "the server did not start"
        return 1
    }
    n=$(agents_of "$tool")
    agents_start "$n" || {
        fail "$tool" "hammer-agent did not start"
        return 1
    }
    command_for "$tool"
    run_measured || status=$?
    [ "$n" -eq 0 ] || agents_stop
    servers_stop || status=99
    [ "$status" -eq 0 ] || fail "$tool" "ended with $status"
}

# cost_rows TOOL: CPU us per request in the steady state, requests a second, the server's share.
cost_rows() {
    local requests cpu wall server
    requests=$(value steady_requests "$work/cpu")
    cpu=$(value steady_cpu "$work/cpu")
    wall=$(value steady_seconds "$work/cpu")
    server=$(value steady_other_cpu "$work/cpu")
    if [ -z "$requests" ] || [ "$requests" -eq 0 ]; then
        fail "$1" "no steady state: the run was too short"
        return 1
    fi
    row "$1" cpu_us "$(calc "$cpu / $requests * 1e6")"
    row "$1" cpu_percent "$(calc "$cpu / $wall * 100")"
    row "$1" req_per_s "$(calc "$requests / $wall")"
    row "$1" server_cpu_us "$(calc "$server / $requests * 1e6")"
    [ "$server_kind" = responder ] || row "$1" server_cpu_percent "$(calc "$server / $wall * 100")"
}

# reported TOOL CLOCK PERCENTILE: what the tool itself says, us.
reported() {
    case $1 in
    hammer*) jq -r ".latency.$2.percentiles[\"$3\"] / 1000" "$work/report.json" ;;
    *) value "$2_p$3_us" "$work/out" ;;
    esac
}

rss_kb() {
    case $1 in
    hammer*) echo "$agent_rss_kb" ;;
    *) value maxrss_kb "$work/cpu" ;;
    esac
}
