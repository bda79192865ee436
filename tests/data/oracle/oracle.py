#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ground-truth oracle for hammer: due times -> c connections (FIFO) -> server with a known
service/pause pattern -> the exact corrected and uncorrected sample sets.

Everything is integer nanoseconds and deterministic.  Our own code.

Client model
  * request i is due at t0 + floor(i * 1e9 * den / num)        (--rate num[/den])
    or, with --arrivals poisson, at the cumulated exponential gaps of a seeded generator
    (splitmix64 -> 53-bit uniform -> -ln(1-u)/rate; not bit-portable across libm, constant is).
  * T threads own c/T connections each; request i belongs to thread i mod T (phase-offset schedules).
  * one request outstanding per connection; due requests wait in the thread's FIFO.
  * send_i = max(due_i, first moment a connection of the thread is free), FIFO.
  * timeout: counted from the actual send; at send+timeout the request is a `timeout`,
    its connection is replaced after --reconnect ns; the server still performs the work.
Server model
  * m identical servers (--servers), one shared FIFO queue, fixed --service ns of work per request.
  * pause (stop-the-world): no work progresses, nothing is started or completed.
      --pause-every K --pause P : when the K-th, 2K-th, ... request is about to be completed
                                  (--pause-pos before: that response also waits; after: it does not)
      --freeze t,len            : absolute window, repeatable
  * --rtt: half before the server sees the request, half before the client sees the response.
Samples
  corrected   = response - due          uncorrected = response - send
  lag         = send - due              late        = send > due
"""
import argparse, heapq, json, math, sys
from collections import deque

M64 = (1 << 64) - 1

def mix(seed):
    s = seed & M64
    while True:
        s = (s + 0x9E3779B97F4A7C15) & M64
        z = s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        yield z ^ (z >> 31)

def due_times(n, num, den, arrivals, seed):
    if arrivals == "constant":
        return [i * 1_000_000_000 * den // num for i in range(n)]
    g, t, out = mix(seed), 0.0, []
    for _ in range(n):
        u = (next(g) >> 11) * (1.0 / (1 << 53))
        t += -math.log(1.0 - u) * 1e9 * den / num
        out.append(int(t))
    return out

def simulate(dues, conns, threads, service, servers, rtt, pause, every, pos, freezes, timeout, reconnect, horizon):
    """returns list of (due, send, done|None, outcome)"""
    n = len(dues)
    half_in, half_out = rtt // 2, rtt - rtt // 2
    freezes = sorted(freezes)
    base, rem = divmod(conns, threads)
    free = [base + (1 if k < rem else 0) for k in range(threads)]
    pend = [deque() for _ in range(threads)]
    send, done, outcome = [None] * n, [None] * n, [None] * n
    ev, seq = [], 0                      # (time, prio, seq, kind, arg)
    # priorities: server completion < client response < connection free < arrival at server < due ; all FIFO by seq
    def push(t, prio, kind, arg):
        nonlocal seq
        seq += 1
        heapq.heappush(ev, (t, prio, seq, kind, arg))
    queue, busy = deque(), {}            # busy: req -> [finish, version]
    idle, completed, stw_until, version = servers, 0, -1, 0

    def thaw(t):
        """first instant >= t at which work may progress"""
        while True:
            moved = False
            if t < stw_until: t, moved = stw_until, True
            for a, l in freezes:
                if a <= t < a + l: t, moved = a + l, True
            if not moved: return t
    def finish_after(t, work):
        """work ns of unfrozen time after t (absolute windows; count-triggered pauses shift later)"""
        t = thaw(t)
        while True:
            nxt = min((a for a, l in freezes if a > t), default=None)
            if nxt is None or t + work <= nxt: return t + work
            work -= nxt - t
            t = thaw(nxt)
    def start(t):
        nonlocal idle, version
        while idle and queue:
            i = queue.popleft(); idle -= 1; version += 1
            f = finish_after(t, service)
            busy[i] = [f, version]
            push(f, 0, "fin", (i, version))
    def dispatch(k, t):
        while free[k] and pend[k]:
            i = pend[k].popleft(); free[k] -= 1
            send[i] = t
            push(t + half_in, 3, "arr", i)
            if timeout: push(t + timeout, 1, "tmo", i)

    for i, d in enumerate(dues): push(d, 4, "due", i)
    paused_for = set()
    while ev:
        t, _, _, kind, a = heapq.heappop(ev)
        if horizon is not None and t > horizon: break
        if kind == "due":
            pend[a % threads].append(a); dispatch(a % threads, t)
        elif kind == "arr":
            queue.append(a); start(t)
        elif kind == "fin":
            i, v = a
            if i not in busy or busy[i][1] != v: continue
            if every and pos == "before" and (completed + 1) % every == 0 and (completed + 1) not in paused_for:
                paused_for.add(completed + 1)
                stw_until = t + pause
                for j in busy:                      # everything in service is frozen, incl. this one
                    version += 1; busy[j][0] += pause; busy[j][1] = version
                    push(busy[j][0], 0, "fin", (j, version))
                continue
            del busy[i]; idle += 1; completed += 1
            push(t + half_out, 1, "rsp", i)
            if every and pos == "after" and completed % every == 0:
                stw_until = t + pause
                for j in busy:
                    version += 1; busy[j][0] += pause; busy[j][1] = version
                    push(busy[j][0], 0, "fin", (j, version))
            start(t)
        elif kind == "rsp":
            if outcome[a] is None:
                outcome[a], done[a] = "ok", t
                push(t, 2, "free", a % threads)
        elif kind == "tmo":
            if outcome[a] is None:
                outcome[a], done[a] = "timeout", t
                push(t + reconnect, 2, "free", a % threads)
        elif kind == "free":
            free[a] += 1; dispatch(a, t)
    return send, done, outcome

def nearest_rank(s, p):
    if not s: return None
    k = max(1, math.ceil(p * len(s) / 100 - 1e-9))
    return s[min(k, len(s)) - 1]

P = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 100]

def summary(x):
    s = sorted(x)
    n = len(s)
    if not n: return {"count": 0}
    m = sum(s) / n
    return {"count": n, "mean": m, "stddev": math.sqrt(sum((v - m) ** 2 for v in s) / n),
            "percentiles": {("p%g" % p): nearest_rank(s, p) for p in P}}

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rate", default="2000", help="num or num/den, requests per second")
    ap.add_argument("--duration", type=float, default=10.0)
    ap.add_argument("--requests", type=int)
    ap.add_argument("--arrivals", choices=["constant", "poisson"], default="constant")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--connections", type=int, default=20)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--service", type=int, default=50_000)
    ap.add_argument("--servers", type=int, default=1)
    ap.add_argument("--rtt", type=int, default=0)
    ap.add_argument("--pause", type=int, default=0)
    ap.add_argument("--pause-every", type=int, default=0)
    ap.add_argument("--pause-pos", choices=["before", "after"], default="before")
    ap.add_argument("--freeze", action="append", default=[], help="start_ns,length_ns")
    ap.add_argument("--timeout", type=int, default=0)
    ap.add_argument("--reconnect", type=int, default=0)
    ap.add_argument("--samples", help="write one line per request: i due send done outcome corrected uncorrected")
    ap.add_argument("--json", help="write the summary here")
    a = ap.parse_args()
    num, _, den = a.rate.partition("/")
    num, den = int(num), int(den or 1)
    n = a.requests or int(round(a.duration * num / den))
    fr = [tuple(int(v) for v in f.split(",")) for f in a.freeze]
    dues = due_times(n, num, den, a.arrivals, a.seed)
    send, done, outc = simulate(dues, a.connections, a.threads, a.service, a.servers, a.rtt, a.pause,
                                a.pause_every, a.pause_pos, fr, a.timeout, a.reconnect, None)
    ok = [i for i in range(n) if outc[i] == "ok"]
    corr = [done[i] - dues[i] for i in ok]
    unc = [done[i] - send[i] for i in ok]
    lag = [send[i] - dues[i] for i in range(n)]
    late = [l for l in lag if l > 0]
    end = max(done)
    out = {"format": "hammer-oracle/1",
           "model": {k: v for k, v in vars(a).items() if k not in ("json", "samples")},
           "requests": n, "ok": len(ok), "timeouts": sum(1 for o in outc if o == "timeout"),
           "finished_at_ns": end, "achieved_rps": n * 1e9 / max(end, n * 10**9 * den // num),
           "lag": {"late": len(late), "late_over_1ms": sum(1 for l in lag if l > 1_000_000), "mean_all": sum(lag) / n, "max": max(lag)},
           "corrected": summary(corr), "uncorrected": summary(unc),
           "censored_corrected": sorted(done[i] - dues[i] for i in range(n) if outc[i] == "timeout")[:50]}
    if a.json: open(a.json, "w").write(json.dumps(out, indent=1) + "\n")
    if a.samples:
        with open(a.samples, "w") as f:
            f.write("#i due send done outcome corrected uncorrected\n")
            for i in range(n): f.write(f"{i} {dues[i]} {send[i]} {done[i]} {outc[i]} {done[i]-dues[i]} {done[i]-send[i]}\n")
    def u(v):
        return "-" if v is None else (f"{v/1e3:.2f}us" if v < 1e6 else f"{v/1e6:.2f}ms" if v < 1e9 else f"{v/1e9:.3f}s")
    print(f"requests {n} ok {len(ok)} timeout {out['timeouts']}  late {len(late)} ({100*len(late)/n:.1f}%)  lag mean {u(out['lag']['mean_all'])} max {u(out['lag']['max'])}  finished {end/1e9:.4f}s")
    print("| percentile | corrected | uncorrected | ratio |\n|---|---|---|---|")
    for p in P:
        k = "p%g" % p
        c, w = out["corrected"]["percentiles"][k], out["uncorrected"]["percentiles"][k]
        print(f"| {p:g}% | {u(c)} | {u(w)} | {c/w:.1f}x |")
    print(f"mean {u(out['corrected']['mean'])} / {u(out['uncorrected']['mean'])}   stddev {u(out['corrected']['stddev'])} / {u(out['uncorrected']['stddev'])}")

if __name__ == "__main__":
    main()
