# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by tests/bench/run: one function a section, called once a round. Within a round the tools
# follow each other, so that a ratio compares neighbours in time.
# shellcheck disable=SC2034,SC2154  # variables are shared with the files that source each other

# What a request costs at full speed.
section_closed() {
    local tool
    cell="50 connections"
    connections=50
    for tool in hammer-closed wrk h2load ab hey epoll uring; do
        measure "$tool" && cost_rows "$tool"
    done
    # A common server costs more than its client: it is the bottleneck, and the clients look alike.
    local server_kind=nginx
    cell="50 connections, one nginx worker"
    for tool in hammer-closed wrk; do
        measure "$tool" && cost_rows "$tool"
    done
}

# Does a second load thread send as much again? Each has a core of its own where there are four: two
# serve. With fewer all share what there is, which says nothing about hammer.
section_threads() {
    local agent_cpus=$generator_cpu
    local -a server_cpus=("$server_cpu" "$server_cpu")
    connections=50
    cell="not judged: ${#cores[@]} of 4 cores"
    if [ ${#cores[@]} -ge 4 ]; then
        cell="2 cores serve, 2 send"
        server_cpus=("${cores[@]:0:2}")
        agent_cpus=${cores[2]}
    fi
    measure hammer-1-thread --shared && cost_rows hammer-1-thread
    agent_cpus=$server_cpu,$generator_cpu
    [ ${#cores[@]} -lt 4 ] || agent_cpus=${cores[2]},${cores[3]}
    measure hammer-2-threads --shared && cost_rows hammer-2-threads
}

# dispatch_cell TOOL...: how far from the schedule the server saw the requests.
dispatch_cell() {
    local tool skip meant=$((rate * duration))
    local -a flags=(--stamp "$work/stamps" --stamp-kernel --stamps-max $((meant * 2)))
    # A server that sleeps is woken at the sender's expense: at high rates that would be measured.
    [ "$rate" -lt 10000 ] || flags+=(--busy-poll)
    for tool in "$@"; do
        measure "$tool" "${flags[@]}" || continue
        skip=0ms
        [ "$tool" != wrk2pace ] || skip=$((connections * 5 + 100))ms # until all have started
        "$bin/bench-dispatch" --rate "$rate" --skip "$skip" "$work/stamps" >"$work/dispatch" || {
            fail "$tool" "the arrivals cannot be judged"
            continue
        }
        row "$tool" error_p50_us "$(value error_p50_us "$work/dispatch")"
        row "$tool" error_p99_us "$(value error_p99_us "$work/dispatch")"
        row "$tool" gap_cv "$(value gap_cv "$work/dispatch")"
        row "$tool" corrected_p50_us "$(reported "$tool" corrected 50)"
        [ "$tool" = wrk2pace ] ||
            row "$tool" lost_or_gained "$(calc "$meant - $(value served "$work/served")")"
        cost_rows "$tool"
    done
}

section_dispatch() {
    connections=20
    for rate in 100 1000 10000; do
        cell="$rate/s"
        dispatch_cell hammer hammer-2 hammer-sleep hammer-spin wrk2pace spin
    done
    rate=50000
    connections=50
    cell="$rate/s"
    dispatch_cell hammer hammer-sleep hammer-spin wrk2pace spin
}

# Every due request its own wake-up, or several at a time.
section_quantum() {
    connections=50
    for rate in 20000 50000; do
        cell="$rate/s"
        dispatch_cell hammer hammer-quantum wrk2pace
        measure wrk && cost_rows wrk # at saturation
    done
}

# worse SAID TRUE WORST: the larger of WORST and their difference in units of what is allowed.
worse() {
    awk -v said="$1" -v true="$2" -v worst="$3" 'BEGIN {
        off = said > true ? said - true : true - said
        allowed = true * 0.01 > 300 ? true * 0.01 : 300
        printf "%.4g", (off / allowed > worst ? off / allowed : worst)
    }'
}

# deviation_rows TOOL CLOCK: reported less true, us, and the worst of them in units of what is
# allowed: 1 % or 0.3 ms, the larger. The truth of wrk2pace's run is not i/R: it gets the last other one's.
deviation_rows() {
    local tool=$1 clock=$2 p true_us said worst=0
    for p in 50 90 99 99.9; do
        true_us=$(value "${clock}_p${p}_us" "$work/truth")
        said=$(reported "$tool" "$clock" "$p")
        if [ -z "$true_us" ] || [ -z "$said" ]; then
            continue
        fi
        row "$tool" "${clock}_p${p}_us" "$said"
        row "$tool" "${clock}_p${p}_off_us" "$(calc "$said - $true_us")"
        worst=$(worse "$said" "$true_us" "$worst")
    done
    row "$tool" "${clock}_worst" "$worst"
}

# truth_cell RESPONDER FLAG...: latencies as reported against what the server's stamps say.
truth_cell() {
    local tool
    rate=2000
    connections=20
    rm -f "$work/truth"
    for tool in hammer spin wrk2pace; do
        measure "$tool" --stamp "$work/stamps" --stamp-kernel "$@" || continue
        [ "$tool" = wrk2pace ] ||
            "$bin/bench-dispatch" --rate "$rate" --truth "$work/stamps" >"$work/truth"
        deviation_rows "$tool" corrected
        [ "$tool" = wrk2pace ] || deviation_rows "$tool" uncorrected
    done
}

# A few slow responses among many connections: who waits behind them? 1.2 % puts p99 well inside.
section_queue() {
    cell="1.2 % take 100 ms"
    truth_cell --slow 1.2%:100ms
}

# The whole server stands still. Long runs, so every fifth round only.
section_truth() {
    [ $((round % 5)) -eq 1 ] || return 0
    local duration=9
    cell="200 ms every 2 s"
    truth_cell --freeze-at 1s --freeze-for 200ms --freeze-every 2s
    cell="1 s every 4 s"
    truth_cell --freeze-at 2s --freeze-for 1s --freeze-every 4s
}

# memory_row TOOL: user memory a connection, from two sizes of the same run.
declare -A rss_small
memory_row() {
    [ -n "${rss_small[$1]-}" ] || return 0
    row "$1" bytes_per_connection \
        "$(calc "($(rss_kb "$1") - ${rss_small[$1]}) * 1024 / ($connections - 50)")"
}

# Every third round: opening so many takes a while.
section_connections() {
    [ $((round % 3)) -eq 1 ] || return 0
    local tool many=10000 settle_ms=1000 duration=$((duration + 2))
    if [ "$(ulimit -n)" -lt $((many + 100)) ]; then
        say "connections: not measured, the limit of open files is $(ulimit -n)"
        return 0
    fi
    rate=20000
    for tool in hammer hammer-closed wrk h2load; do
        cell="$many connections, full speed"
        [ "$tool" != hammer ] || cell="$many connections, $rate/s"
        connections=50
        if [ -z "${rss_small[$tool]-}" ]; then
            measure "$tool" || continue
            rss_small[$tool]=$(rss_kb "$tool")
        fi
        connections=$many
        measure "$tool" && cost_rows "$tool" && memory_row "$tool"
    done
}

section_bodies() {
    local tool
    cell="1 MB"
    connections=50
    for tool in hammer-closed wrk h2load epoll; do
        measure "$tool" --body-size 1000000 && cost_rows "$tool"
    done
}

# Does handing out a snapshot every 100 ms disturb requests? Judge it over 9 rounds or more.
section_interval() {
    local tool
    rate=2000
    connections=20
    cell="$rate/s"
    for tool in hammer-100ms hammer-10s; do
        measure "$tool" || continue
        row "$tool" send_p99_us "$(jq '.lag.send.percentiles["99"] / 1000' "$work/report.json")"
        cost_rows "$tool"
    done
}
