# SPDX-License-Identifier: MIT
# Rows of tests/bench/run (section, cell, tool, metric, round, value) -> the table, and JSON in the file
# `json` if that is set. Medians and quartiles over the rounds; a ratio is formed within each round,
# that of hammer (or of the bare epoll
# loop, where hammer has none) by the tool's, and then the median taken. `bars` names the file of bars.
BEGIN {
    FS = "\t"
    while ((getline line < bars) > 0)
        if (line !~ /^(#|$)/) {
            split(line, f, "\t")
            bar[f[1], f[2], f[3], f[4], f[6]] = f[5]
        }
}
function remember(list, key) {
    if (!((list, key) in seen_in)) {
        seen_in[list, key] = 1
        order[list, ++size[list]] = key
    }
}
{
    block = $1 FS $2 FS $4
    remember("blocks", block)
    remember(block, $3)
    v[block, $3, $5] = $6
    if ($5 > rounds)
        rounds = $5
}
function sort(a, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = a[i]
        for (j = i - 1; j > 0 && a[j] > t; j--)
            a[j + 1] = a[j]
        a[j + 1] = t
    }
}
# The q-quantile of a[1..n], sorted; between two of them on the line.
function quantile(a, n, q,    at, low) {
    at = 1 + (n - 1) * q
    low = int(at)
    return low < n ? a[low] + (a[low + 1] - a[low]) * (at - low) : a[n]
}
# Into out["m" "q1" "q3" "n"]: values of the tool, or with base its values divided by the tool's.
function judge(block, tool, base, out,    r, n, a) {
    n = 0
    for (r = 1; r <= rounds; r++) {
        if (!((block, tool, r) in v))
            continue
        if (base == "")
            a[++n] = v[block, tool, r] + 0
        else if (((block, base, r) in v) && v[block, tool, r] + 0 != 0)
            a[++n] = v[block, base, r] / v[block, tool, r]
    }
    sort(a, n)
    out["n"] = n
    if (n == 0)
        return 0
    out["m"] = quantile(a, n, 0.5)
    out["q1"] = quantile(a, n, 0.25)
    out["q3"] = quantile(a, n, 0.75)
    return 1
}
function base_of(block,    i, n, tools) {
    n = split("hammer-100ms hammer-2-threads hammer-quantum hammer-closed hammer epoll", tools, " ")
    for (i = 1; i <= n; i++)
        if ((block, tools[i]) in seen_in)
            return tools[i]
    return ""
}
function number(x) {
    return sprintf((x >= 1000 || x <= -1000) ? "%.0f" : "%.4g", x)
}
function cells(out) {
    if (out["n"] == 1)
        return number(out["m"])
    return sprintf("%s [%s, %s]", number(out["m"]), number(out["q1"]), number(out["q3"]))
}
function verdict(value, limit) {
    return sprintf("%s %s", limit, value <= limit + 0 ? "met" : "MISSED")
}
function verdict_least(value, limit) {
    return sprintf("%s %s", limit, value >= limit + 0 ? "met" : "MISSED")
}
# A difference has no ratio, and neither has what should be 0.
function has_ratio(metric) {
    return metric !~ /_off_us$|_worst$|lost_or_gained|server_cpu_us|^corrected|^uncorrected/
}
# The table leaves to the JSON what only explains another figure.
function is_detail(section, metric) {
    if (section == "dispatch" && metric ~ /^(cpu_us|req_per_s|server_cpu_us|corrected_p50_us)$/)
        return 1
    if (section == "quantum" && metric !~ /^(cpu_us|error_p50_us|lost_or_gained)$/)
        return 1
    return metric ~ /^uncorrected_p|_p(50|99)_off_us$|_p99\.9_/
}
# The bar of this cell, or of all cells; "" = there is none.
function bar_of(f, tool, kind) {
    if ((f[1], f[3], tool, kind, f[2]) in bar)
        return bar[f[1], f[3], tool, kind, f[2]]
    return ((f[1], f[3], tool, kind, "") in bar) ? bar[f[1], f[3], tool, kind, ""] : ""
}
function object(out) {
    return sprintf("{\"median\":%.6g,\"q1\":%.6g,\"q3\":%.6g,\"rounds\":%d}", out["m"], out["q1"],
        out["q3"], out["n"])
}
function emit(f, tool, base, values, ratio, limit) {
    if (json == "")
        return
    printf "%s\n{\"section\":\"%s\",\"cell\":\"%s\",\"metric\":\"%s\",\"tool\":\"%s\",\"value\":%s",
        emitted++ ? "," : "", f[1], f[2], f[3], tool, object(values) > json
    if (ratio["n"] > 0)
        printf ",\"ratio_of\":\"%s\",\"ratio\":%s", base, object(ratio) > json
    if (limit != "")
        printf ",\"bar\":%s", limit > json
    printf "}" > json
}
function print_tool(f, block, tool, base,    values, ratio, against, limit, mark) {
    judge(block, tool, "", values)
    ratio["n"] = 0
    against = ""
    if (base != "" && tool != base && has_ratio(f[3]) && judge(block, tool, base, ratio))
        against = cells(ratio)
    mark = limit = ""
    if (ratio["n"] > 0 && base ~ /^hammer/)
        limit = bar_of(f, tool, "ratio")
    if (limit != "")
        mark = verdict(ratio["m"], limit)
    else if (ratio["n"] > 0 && (limit = bar_of(f, tool, "ratio_least")) != "")
        mark = verdict_least(ratio["m"], limit)
    else if ((limit = bar_of(f, tool, "value")) != "") {
        mark = verdict(values["m"] < 0 ? -values["m"] : values["m"], limit)
    }
    if (!is_detail(f[1], f[3]))
        printf "    %-20s %-28s %-28s %s\n", tool, cells(values), against, mark
    emit(f, tool, base, values, ratio, limit)
}
END {
    if (json != "")
        printf "{%s,\"results\":[", ENVIRON["head"] > json
    for (b = 1; b <= size["blocks"]; b++) {
        block = order["blocks", b]
        split(block, f, FS)
        base = base_of(block)
        if (f[1] FS f[2] != last)
            printf "\n== %s, %s\n", f[1], f[2]
        last = f[1] FS f[2]
        if (!is_detail(f[1], f[3]))
            printf "  %-22s %-28s %-28s %s\n", f[3], "median [quartiles]",
                (has_ratio(f[3]) && base != "") ? base "/tool" : "", "bar"
        for (i = 1; i <= size[block]; i++)
            print_tool(f, block, order[block, i], base)
    }
    if (json != "")
        printf "\n]}\n" > json
}
