/* SPDX-License-Identifier: MIT */
#include "tests/bench/session/fake_run.h"

#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/schedule.h"
#include "tests/bench/lib/self.h"

#define DRAWS      FAKE_RUN_DISTINCT_MAX /* latencies that requests take in turn */
#define MEDIAN_NS  20e6
#define SIGMA      0.5
#define SLOW_EVERY 100 /* one of so many is ten times as slow */
#define BYTES      152

struct run {
    struct run_env env;
    struct schedule schedule;
    struct loop_timer *timer;
    run_fn fn;
    void *arg;
    struct plan_part part;
    bool prepared, started;
    uint64_t interval_ns, t0_ns;
    uint64_t to_ns; /* end of the last snapshot, after t0 */
    uint64_t due;   /* requests until then */
    uint64_t seq;
    uint64_t rng;
    struct snapshot *total;
};

static struct {
    struct board *board;
    struct snapshot *sum;
    uint64_t rng;
    uint64_t draws[DRAWS];
    uint32_t distinct; /* of them are used */
    bool vary;         /* each time a little different */
} shared;

static uint64_t next_random(uint64_t *rng) /* splitmix64 */
{
    uint64_t z = (*rng += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(uint64_t *rng)
{
    return ((double)(next_random(rng) >> 11) + 0.5) / 9007199254740992.0;
}

void fake_run_init(struct board *board, struct snapshot *sum, uint64_t seed, uint32_t distinct)
{
    shared.board = board;
    shared.sum = sum;
    shared.rng = seed;
    shared.distinct = distinct > 0 && distinct < DRAWS ? distinct : DRAWS;
    shared.vary = distinct == 0;
    for (size_t i = 0; i < DRAWS; i++) { /* log-normal, by Box and Muller */
        double r = sqrt(-2 * log(uniform(&shared.rng)));
        double z = r * cos(2 * 3.14159265358979 * uniform(&shared.rng));
        double v = MEDIAN_NS * exp(SIGMA * z) * (i % SLOW_EVERY == 0 ? 10 : 1);
        shared.draws[i] = (uint64_t)v;
    }
}

/* --- snapshots -------------------------------------------------------------------------------- */

static void answer(struct run *r, struct series *s, uint64_t n)
{
    struct hist *corrected = series_hist(s, HIST_CORRECTED);
    struct hist *uncorrected = series_hist(s, HIST_UNCORRECTED);
    struct hist *send = series_hist(s, HIST_SEND_LAG), *wait = series_hist(s, HIST_WAIT);
    struct hist *receive = series_hist(s, HIST_RECEIVE);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t random = next_random(&r->rng);
        uint64_t latency = shared.draws[random % shared.distinct];
        uint64_t lag = shared.draws[random % shared.distinct] / 1000;
        if (shared.vary) {
            latency += random >> 48;
            lag = shared.draws[(random >> 16) % DRAWS] / 1000;
        }
        bool waits = (random >> 32) % SLOW_EVERY == 0;
        hist_record(corrected, latency + lag, 1);
        hist_record(uncorrected, latency, 1);
        hist_record(waits ? wait : send, lag, 1);
        hist_record(receive, lag / 2, 1);
        s->counters.waited += waits;
    }
}

static struct snapshot *make_snapshot(struct run *r, uint64_t to_ns, uint64_t due)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 0, "");
    uint64_t n = due - r->due;
    struct counters *c = &one->counters;
    c->scheduled = c->sent = c->completed = c->ok = n;
    c->bytes_in = c->bytes_out = n * BYTES;
    c->connects = r->seq == 0 ? r->part.connections : 0;
    answer(r, one, n);
    s->status[200] = n;
    s->seq = ++r->seq;
    s->from_ns = r->to_ns;
    s->to_ns = to_ns;
    s->intervals = 1;
    s->cpu_ns = (to_ns - r->to_ns) / 10;
    s->cpu_busy_ppm = 100000;
    r->to_ns = to_ns;
    r->due = due;
    return s;
}

static void add(struct snapshot *to, const struct snapshot *from, bool same_agent)
{
    if (snapshot_add(to, from, same_agent) != ERR_OK)
        self_die("a snapshot could not be added");
}

static void tell(struct run *r, enum run_event ev, struct run_info *info)
{
    r->fn(r->arg, ev, info);
}

static void one_interval(struct run *r, uint64_t to_ns, uint64_t due)
{
    struct run_info info = {.snapshot = make_snapshot(r, to_ns, due)};
    add(r->total, info.snapshot, true);
    atomic_fetch_add(&shared.board->snapshots, 1);
    tell(r, RUN_SNAPSHOT, &info);
}

static void end(struct run *r)
{
    struct run_info info = {.snapshot = snapshot_copy(r->total), .ended_ns = clock_mono_ns()};
    info.snapshot->cumulative = true;
    info.snapshot->seq = 0;
    add(shared.sum, r->total, false);
    loop_timer_at(r->timer, NS_NEVER);
    atomic_fetch_add(&shared.board->ended, 1);
    tell(r, RUN_ENDED, &info);
}

/* --- the life of a run ------------------------------------------------------------------------ */

static void prepared(struct run *r)
{
    struct run_info info = {.connections = r->part.connections, .threads = r->part.threads};
    snprintf(info.address, sizeof info.address, "simulated");
    r->prepared = true;
    uint64_t none = 0;
    atomic_compare_exchange_strong(&shared.board->prepared_ns, &none, clock_mono_ns());
    tell(r, RUN_PREPARED, &info);
}

static void started(struct run *r)
{
    struct run_info info = {.started_ns = clock_mono_ns()};
    r->started = true;
    atomic_fetch_add(&shared.board->started, 1);
    loop_timer_at(r->timer, r->t0_ns + r->interval_ns);
    tell(r, RUN_STARTED, &info);
}

static void interval_over(struct run *r)
{
    const struct schedule *s = &r->schedule;
    uint64_t to_ns = r->to_ns + r->interval_ns;
    bool last = to_ns >= s->duration_ns;
    if (last)
        to_ns = s->duration_ns;
    uint64_t next_ns = clock_add(r->t0_ns, clock_add(to_ns, r->interval_ns));
    loop_timer_at(r->timer, last ? NS_NEVER : next_ns);
    one_interval(r, to_ns, last ? s->count : schedule_due_until(s, to_ns - 1));
    if (last)
        end(r);
}

static void on_timer(void *arg)
{
    struct run *r = arg;
    if (!r->prepared)
        prepared(r);
    else if (!r->started)
        started(r);
    else
        interval_over(r);
}

static enum err fake_prepare(const struct run_env *env, const struct plan *plan,
                             const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                             struct errmsg *msg)
{
    struct run *r = mem_calloc(1, sizeof *r);
    struct share share = {part->total, part->first, part->weight, 1, 0};
    enum err e =
        schedule_init(&r->schedule, &plan->rate, &share, plan->duration_ns, plan->requests, msg);
    if (e == ERR_OK && (r->schedule.count == UINT64_MAX || schedule_is_closed(&r->schedule)))
        e = errmsg_set(msg, ERR_INVALID, "a simulated agent needs a rate and an end");
    if (e != ERR_OK) {
        mem_free(r);
        return e;
    }
    r->env = *env;
    r->part = *part;
    r->fn = fn;
    r->arg = arg;
    r->interval_ns = plan->interval_ns;
    r->rng = next_random(&shared.rng);
    r->total = snapshot_new();
    r->timer = loop_timer_new(env->loop, on_timer, r);
    loop_timer_at(r->timer, clock_mono_ns());
    *out = r;
    return ERR_OK;
}

static void fake_arm(struct run *r, uint64_t t0_ns)
{
    r->t0_ns = t0_ns;
    loop_timer_at(r->timer, t0_ns);
}

static void fake_halt(struct run *r, uint64_t drain_ns)
{
    (void)drain_ns;
    end(r);
}

static void fake_lease(struct run *r, uint64_t until_ns)
{
    (void)r, (void)until_ns;
}

static enum err fake_reshare(struct run *r, uint64_t from, const struct plan_part *part,
                             struct errmsg *msg)
{
    (void)r, (void)from, (void)part;
    return errmsg_set(msg, ERR_STATE, "a simulated agent keeps its share");
}

static void fake_free(struct run *r)
{
    loop_timer_free(r->timer);
    snapshot_free(r->total);
    mem_free(r);
}

const struct run_ops *fake_run_ops(void)
{
    static const struct run_ops ops = {.prepare = fake_prepare,
                                       .arm = fake_arm,
                                       .halt = fake_halt,
                                       .lease = fake_lease,
                                       .reshare = fake_reshare,
                                       .free = fake_free};
    return &ops;
}
