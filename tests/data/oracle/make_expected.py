#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes case_*.tsv, what tests/sim/test_oracle.c compares with: the parameters, the summary, an
FNV-1a hash over every sample (due, send, done as 8 bytes little-endian, then 1 byte: 0 ok,
1 timeout) and every 97th sample in full. Run once, results are committed:

    cd tests/data/oracle && ./make_expected.py
"""
import math
import struct
import sys

sys.dont_write_bytecode = True
import oracle  # noqa: E402

S = 1_000_000_000
BASE = dict(num=2000, den=1, seconds=10, connections=20, threads=1, service=50_000, servers=1, rtt=0,
            pause=0, every=0, freezes=[], timeout=0, reconnect=0)
CASES = {
    "case_a_2000rps_50us": dict(pause=200_000_000, every=3000),
    "case_a_2000rps_189us": dict(service=189_000, pause=200_000_000, every=3000),
    "case_b_200rps_20w": dict(num=200, seconds=5, service=550_000, servers=20, freezes=[(2 * S, S)]),
    "case_b_200rps_2w": dict(num=200, seconds=5, service=550_000, servers=20, connections=2,
                             freezes=[(2 * S, S)]),
    "case_c_midgap": dict(num=200, seconds=5, service=100_000, freezes=[(2_002_500_000, S)]),
    "case_d_timeout500ms": dict(num=200, seconds=5, service=550_000, servers=20, freezes=[(2 * S, S)],
                                timeout=500_000_000, reconnect=100_000),
    # Beyond the published cases: a rate that no gap in whole ns can hold, three threads, a round
    # trip, pauses and two freezes at once, timeouts of requests the server still works on.
    "case_e_odd_rate": dict(num=1999, den=3, seconds=12, connections=7, threads=3, service=2_300_017,
                            servers=2, rtt=120_001, pause=41_000_003, every=701,
                            freezes=[(1_000_000_007, 300_000_011), (7_000_000_001, 90_000_003)],
                            timeout=97_000_001, reconnect=1_000_003),
}
PERCENTILES = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 100]


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def write(name, c):
    n = math.ceil(c["seconds"] * c["num"] / c["den"])
    dues = oracle.due_times(n, c["num"], c["den"], "constant", 1)
    send, done, outcome = oracle.simulate(dues, c["connections"], c["threads"], c["service"],
                                          c["servers"], c["rtt"], c["pause"], c["every"], "before",
                                          c["freezes"], c["timeout"], c["reconnect"], None)
    samples = [(dues[i], send[i], done[i], 0 if outcome[i] == "ok" else 1) for i in range(n)]
    ok = [s for s in samples if s[3] == 0]
    with open(name + ".tsv", "w") as f:
        def row(*values):
            f.write("\t".join(str(v) for v in values) + "\n")
        row("rate", c["num"], c["den"])
        for key, unit in (("connections", ""), ("threads", ""), ("servers", ""), ("service", "_ns"),
                          ("rtt", "_ns"), ("pause", "_ns"), ("every", ""), ("timeout", "_ns"),
                          ("reconnect", "_ns")):
            row(key + unit, c[key])
        row("duration_ns", c["seconds"] * S)
        for at, length in c["freezes"]:
            row("freeze_ns", at, length)
        row("requests", n)
        row("ok", len(ok))
        row("timeouts", n - len(ok))
        row("waited", sum(1 for s in samples if s[1] > s[0]))
        row("lag_max_ns", max(s[1] - s[0] for s in samples))
        row("fnv", fnv(b"".join(struct.pack("<QQQB", *s) for s in samples)))
        corrected = sorted(s[2] - s[0] for s in ok)
        uncorrected = sorted(s[2] - s[1] for s in ok)
        for p in PERCENTILES:
            row("percentile", p, oracle.nearest_rank(corrected, p), oracle.nearest_rank(uncorrected, p))
        for i in range(0, n, 97):
            row("sample", i, *samples[i])
    print(name, n, len(ok))


for case, changes in CASES.items():
    write(case, {**BASE, **changes})
