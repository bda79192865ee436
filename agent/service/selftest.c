/* SPDX-License-Identifier: MIT */
#include "agent/service/selftest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/service/responder.h"
#include "agent/service/run.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"

#define STEPS       16 /* a usual search: the total time is cut for so many */
#define STEP_MAX_NS NS_PER_SEC
#define STEP_MIN_NS (100 * NS_PER_MS)
#define AROUND_NS   (200 * NS_PER_MS) /* opening, starting and draining a step */
#define LATE_NS     (3 * NS_PER_SEC)  /* a step that has not ended by then never will */
#define LEAD_NS     (20 * NS_PER_MS)
#define TIMEOUT_NS                                                                                 \
    (300 * NS_PER_MS) /* what is due at the end is still sent: a short one ends it                 \
                       */
#define THREADS_MAX 4
#define CONNECTIONS 50

/* One step under way. */
struct stepper {
    struct loop *loop;
    struct loop_timer *timer;
    struct policy policy;
    struct run_env env;
    struct run *run;
    uint64_t step_ns;
    bool prepared, refused, ended, expired;
    struct errmsg msg;
    uint64_t cpu_ppm;
    struct snapshot *total;
};

static void on_timer(void *arg)
{
    struct stepper *st = arg;
    st->expired = true;
}

/* The sliver at the end of a run says nothing about the worker. */
static void note_cpu(struct stepper *st, const struct snapshot *s)
{
    if (s->to_ns - s->from_ns >= st->step_ns / 2 && s->cpu_busy_ppm > st->cpu_ppm)
        st->cpu_ppm = s->cpu_busy_ppm;
}

static void on_run(void *arg, enum run_event ev, struct run_info *info)
{
    struct stepper *st = arg;
    if (ev == RUN_PREPARED) {
        st->prepared = true;
    } else if (ev == RUN_REFUSED) {
        st->refused = true;
        (void)errmsg_set(&st->msg, ERR_SYSTEM, "%s", info->problem);
    } else if (ev == RUN_SNAPSHOT) {
        note_cpu(st, info->snapshot);
        snapshot_free(info->snapshot);
    } else if (ev == RUN_ENDED) {
        st->ended = true;
        st->total = info->snapshot;
    }
}

static enum err make_plan(struct plan *p, uint16_t port, uint64_t rate, uint64_t step_ns,
                          struct errmsg *msg)
{
    char url[48];
    plan_defaults(p);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)port);
    p->url = mem_strdup(url);
    p->rate = (struct rate){rate, 1};
    p->rate_set = true;
    p->duration_ns = p->interval_ns = step_ns;
    p->duration_set = true;
    p->timeout_ns = TIMEOUT_NS;
    return plan_check(p, msg);
}

/* Turns the loop until *flag, a refusal or the step's end; false = that did not come. */
static bool turn_until(struct stepper *st, const bool *flag)
{
    while (!*flag && !st->refused && !st->expired)
        loop_turn(st->loop, 1);
    return *flag;
}

static uint64_t percentile(const struct snapshot *s, enum hist_kind kind, double p, uint64_t *max)
{
    struct hist *h = snapshot_hist(s, kind);
    uint64_t value = hist_value_at_percentile(h, p);
    if (max != NULL)
        *max = hist_max(h);
    hist_free(h);
    return value;
}

static void read_total(const struct stepper *st, struct selftest_step *out)
{
    const struct snapshot *s = st->total;
    struct counters c = snapshot_counters(s);
    uint64_t span_ns = s->to_ns > st->step_ns ? s->to_ns : st->step_ns;
    out->scheduled = c.scheduled;
    out->completed = c.completed;
    out->waited = c.waited;
    out->achieved = (uint64_t)((unsigned __int128)c.completed * NS_PER_SEC / span_ns);
    out->send_p50_ns = percentile(s, HIST_SEND_LAG, 50, NULL);
    out->send_p99_ns = percentile(s, HIST_SEND_LAG, 99, &out->send_max_ns);
    out->receive_p99_ns = percentile(s, HIST_RECEIVE, 99, NULL);
    out->cpu_percent = (uint32_t)((st->cpu_ppm + 5000) / 10000);
}

/* A step that does not come to its end is one in which nothing was answered. */
static enum err run_step(struct stepper *st, const struct plan *plan, uint32_t threads,
                         struct selftest_step *out, struct errmsg *msg)
{
    struct plan_part part = {
        .total = 1, .weight = 1, .connections = CONNECTIONS, .threads = threads};
    st->prepared = st->refused = st->ended = st->expired = false;
    st->cpu_ppm = 0;
    loop_timer_at(st->timer, clock_add(clock_mono_ns(), st->step_ns + LATE_NS));
    enum err e = run_ops()->prepare(&st->env, plan, &part, on_run, st, &st->run, msg);
    if (e != ERR_OK)
        return e;
    if (turn_until(st, &st->prepared)) {
        run_ops()->arm(st->run, clock_add(clock_mono_ns(), LEAD_NS));
        if (turn_until(st, &st->ended))
            read_total(st, out);
    }
    run_ops()->free(st->run);
    snapshot_free(st->total);
    st->total = NULL;
    return st->refused ? errmsg_set(msg, ERR_SYSTEM, "%s", st->msg.text) : ERR_OK;
}

static enum err search(struct stepper *st, const struct responder *responder, uint64_t until_ns,
                       selftest_step_fn fn, void *arg, struct selftest_result *r,
                       struct errmsg *msg)
{
    struct selftest_search s;
    enum err e = ERR_OK;
    selftest_search_init(&s);
    while (s.rate != 0 && r->n < SELFTEST_TRIES && e == ERR_OK &&
           (r->n == 0 || clock_mono_ns() + st->step_ns + AROUND_NS < until_ns)) {
        struct selftest_step *step = &r->steps[r->n];
        struct plan plan;
        *step = (struct selftest_step){.rate = s.rate};
        e = make_plan(&plan, responder_port(responder), s.rate, st->step_ns, msg);
        if (e == ERR_OK)
            e = run_step(st, &plan, r->workers, step, msg);
        plan_clear(&plan);
        if (e != ERR_OK)
            break;
        r->n++;
        selftest_search_result(&s, selftest_judge(step) == SELFTEST_HELD);
        if (fn != NULL)
            fn(arg, step);
    }
    r->tested_rate = s.held;
    r->complete = s.rate == 0;
    return e;
}

void selftest_describe(struct selftest_result *r)
{
    *r = (struct selftest_result){
        .date_ns = clock_wall_ns(), .cores = host_cores(), .connections = CONNECTIONS};
    host_name(r->host, sizeof r->host);
    host_boot_id(r->boot_id, sizeof r->boot_id);
    r->workers = r->cores > THREADS_MAX ? THREADS_MAX : r->cores > 1 ? r->cores - 1 : 1;
}

static uint64_t step_of(uint64_t total_ns)
{
    uint64_t step_ns = total_ns / STEPS;
    if (step_ns > STEP_MAX_NS)
        return STEP_MAX_NS;
    return step_ns > STEP_MIN_NS ? step_ns : STEP_MIN_NS;
}

enum err selftest_run(uint64_t total_ns, selftest_step_fn fn, void *arg, struct selftest_result *r,
                      struct errmsg *msg)
{
    struct stepper st = {.step_ns = step_of(total_ns)};
    struct responder *responder = NULL;
    uint64_t until_ns = clock_add(clock_mono_ns(), total_ns);
    policy_loopback_only(&st.policy);
    enum err e = loop_new(&st.loop, msg);
    if (e != ERR_OK)
        return e;
    st.timer = loop_timer_new(st.loop, on_timer, &st);
    st.env = (struct run_env){.loop = st.loop, .policy = &st.policy};
    e = responder_start(clock_add(total_ns, 2 * LATE_NS), &responder, msg);
    if (e == ERR_OK)
        e = search(&st, responder, until_ns, fn, arg, r, msg);
    responder_stop(responder);
    loop_timer_free(st.timer);
    loop_free(st.loop);
    return e;
}
