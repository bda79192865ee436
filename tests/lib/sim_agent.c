/* SPDX-License-Identifier: MIT */
#include "tests/lib/sim_agent.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

/* Agent's clock in everything below, except where the interface begins. */

enum phase {
    PHASE_PREPARING,
    PHASE_PREPARED,
    PHASE_ARMED,
    PHASE_SENDING,
    PHASE_DRAINING,
    PHASE_ENDED
};

struct run {
    struct sim_agent *agent;
    run_fn fn;
    void *arg;
    enum phase phase;
    struct schedule schedule;
    uint64_t interval_ns;
    uint64_t phase_ns; /* PREPARING, ARMED, DRAINING: ends then */
    uint64_t t0_ns, lease_ns, stopped_ns;
    uint64_t reshare_ns; /* answered then, NS_NEVER = none under way */
    char reshare_problem[128];
    uint64_t sent;    /* of the schedule */
    uint64_t emitted; /* intervals */
    bool started, lease_lost;
    struct counters now, told; /* counted; in snapshots so far */
    struct snapshot *total;
};

struct sim_agent {
    struct sim_agent_config cfg;
    struct policy policy;
    struct control *control;
    struct run *run;
    uint64_t now_ns;
    uint64_t heard_ns; /* from its owner */
    uint64_t sent;
};

/* --- the worker ------------------------------------------------------------------------------- */

static void count_one(struct run *r, uint64_t index)
{
    struct counters *c = &r->now;
    c->sent++;
    r->sent++;
    r->agent->sent++;
    if (index % 11 == 3) {
        c->timeouts++;
    } else {
        c->completed++;
        if (index % 7 == 5)
            c->http_errors++;
        else
            c->ok++;
    }
}

static void send_until(struct run *r, uint64_t now_ns)
{
    struct sim_agent *a = r->agent;
    if (r->phase != PHASE_SENDING)
        return;
    uint64_t due = schedule_due_until(&r->schedule, clock_elapsed(r->t0_ns, now_ns));
    while (r->sent < due) {
        uint64_t index = schedule_index(&r->schedule, r->sent);
        a->cfg.request(a->cfg.arg, index, clock_elapsed(a->heard_ns, now_ns));
        count_one(r, index);
    }
    r->now.scheduled = due;
}

static void minus(struct counters *a, const struct counters *b)
{
    for (size_t i = 0; i < COUNTERS_N; i++)
        counters_set(a, i, counters_get(a, i) - counters_get(b, i));
}

static struct snapshot *since_told(struct run *r)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 0, "");
    one->counters = r->now;
    minus(&one->counters, &r->told);
    if (one->counters.completed > 0)
        hist_record(series_hist(one, HIST_CORRECTED), r->agent->cfg.answer_ns,
                    one->counters.completed);
    s->status[200] = one->counters.ok;
    s->status[503] = one->counters.http_errors;
    r->told = r->now;
    return s;
}

/* Intervals up to `until`; the last one may be a part of one. */
static void emit(struct run *r, uint64_t until, uint64_t to_ns)
{
    struct run_info info = {.snapshot = since_told(r)};
    struct snapshot *s = info.snapshot;
    s->from_ns = r->emitted * r->interval_ns;
    s->to_ns = to_ns > s->from_ns ? to_ns : s->from_ns;
    s->intervals = until > r->emitted ? (uint32_t)(until - r->emitted) : 1;
    r->emitted = until;
    CHECK_MUST(snapshot_add(r->total, s, true) == ERR_OK);
    r->fn(r->arg, RUN_SNAPSHOT, &info);
}

static void end(struct run *r, uint64_t now_ns)
{
    r->phase = PHASE_ENDED;
    r->phase_ns = r->reshare_ns = NS_NEVER;
    if (r->started)
        emit(r, r->emitted + 1, r->stopped_ns - r->t0_ns);
    struct run_info info = {.snapshot = r->total,
                            .ended_ns = now_ns,
                            .started_ns = r->started ? r->t0_ns : 0,
                            .lease_lost = r->lease_lost};
    r->total = NULL;
    r->fn(r->arg, RUN_ENDED, &info);
}

/* Nothing more is sent. What was due and not sent was left by a stop. */
static void stop(struct run *r, uint64_t now_ns, uint64_t drain_ns)
{
    struct sim_agent *a = r->agent;
    if (r->phase >= PHASE_DRAINING)
        return;
    if (r->phase == PHASE_SENDING) {
        r->now.scheduled = schedule_due_until(&r->schedule, clock_elapsed(r->t0_ns, now_ns));
        r->now.unsent_stopped = r->now.scheduled - r->sent;
    }
    r->stopped_ns = now_ns;
    r->phase = PHASE_DRAINING;
    r->phase_ns = clock_add(now_ns, drain_ns < a->cfg.answer_ns ? drain_ns : a->cfg.answer_ns);
}

/* All of its schedule is sent then, should no other be taken over. */
static uint64_t last_due(const struct run *r)
{
    uint64_t n = r->schedule.count;
    return n == 0 ? r->t0_ns : clock_add(r->t0_ns, schedule_due(&r->schedule, n - 1));
}

static uint64_t next_interval(const struct run *r)
{
    return r->t0_ns + (r->emitted + 1) * r->interval_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t run_deadline(const struct run *r)
{
    uint64_t at = earlier(r->phase_ns, r->reshare_ns);
    if (r->phase == PHASE_SENDING)
        at = earlier(at, earlier(earlier(next_interval(r), r->lease_ns), last_due(r)));
    return at;
}

static void tell(struct run *r, enum run_event ev, struct run_info *info)
{
    r->fn(r->arg, ev, info);
}

static void phase_over(struct run *r, uint64_t now_ns)
{
    struct run_info info = {.connections = r->agent->cfg.connections, .threads = 1};
    r->phase_ns = NS_NEVER;
    if (r->phase == PHASE_PREPARING) {
        r->phase = PHASE_PREPARED;
        snprintf(info.address, sizeof info.address, "127.0.0.1:8080");
        tell(r, RUN_PREPARED, &info);
    } else if (r->phase == PHASE_ARMED) {
        r->phase = PHASE_SENDING;
        r->started = true;
        info.started_ns = r->t0_ns;
        tell(r, RUN_STARTED, &info);
    } else if (r->phase == PHASE_DRAINING) {
        end(r, now_ns);
    }
}

static void answer_reshare(struct run *r)
{
    struct run_info info = {0};
    snprintf(info.problem, sizeof info.problem, "%s", r->reshare_problem);
    r->reshare_ns = NS_NEVER;
    tell(r, RUN_RESHARED, &info);
}

/* Everything that happens in the run up to now, in its order. */
static void run_until(struct run *r, uint64_t now_ns)
{
    uint64_t at;
    while (r != NULL && (at = run_deadline(r)) <= now_ns) {
        send_until(r, at);
        if (r->phase == PHASE_SENDING && at >= r->lease_ns) {
            r->lease_lost = true;
            stop(r, at, 0);
        } else if (at == r->reshare_ns) {
            answer_reshare(r);
        } else if (r->phase == PHASE_SENDING && at == next_interval(r)) {
            emit(r, r->emitted + 1, (r->emitted + 1) * r->interval_ns);
        } else if (r->phase == PHASE_SENDING && at == last_due(r)) {
            stop(r, at, NS_NEVER);
        } else {
            phase_over(r, at);
        }
    }
    if (r != NULL)
        send_until(r, now_ns);
}

/* --- struct run_ops --------------------------------------------------------------------------- */

static enum err sim_prepare(const struct run_env *env, const struct plan *plan,
                            const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                            struct errmsg *msg)
{
    struct sim_agent *a = (struct sim_agent *)(void *)env->loop; /* nobody else looks at it */
    struct run *r = mem_calloc(1, sizeof *r);
    struct share share = {part->total, part->first, part->weight, 1, 0};
    *r = (struct run){.agent = a,
                      .fn = fn,
                      .arg = arg,
                      .phase_ns = a->now_ns + a->cfg.prepare_ns,
                      .lease_ns = NS_NEVER,
                      .reshare_ns = NS_NEVER,
                      .interval_ns = plan->interval_ns,
                      .total = snapshot_new()};
    r->total->cumulative = true;
    enum err e = plan_schedule(plan, &share, plan->requests, &r->schedule, msg);
    ck_assert_int_eq(e, ERR_OK);
    a->run = *out = r;
    a->sent = 0;
    return ERR_OK;
}

static void sim_arm(struct run *r, uint64_t t0_ns)
{
    ck_assert_int_eq(r->phase, PHASE_PREPARED);
    r->phase = PHASE_ARMED;
    r->phase_ns = r->t0_ns = t0_ns;
}

static void sim_halt(struct run *r, uint64_t drain_ns)
{
    run_until(r, r->agent->now_ns);
    stop(r, r->agent->now_ns, drain_ns);
    if (r->phase == PHASE_DRAINING) /* of two stops the earlier end counts */
        r->phase_ns = earlier(r->phase_ns, clock_add(r->agent->now_ns, drain_ns));
}

static void sim_lease(struct run *r, uint64_t until_ns)
{
    r->lease_ns = until_ns;
}

static enum err sim_reshare(struct run *r, uint64_t from, const struct plan_part *part,
                            struct errmsg *msg)
{
    struct sim_agent *a = r->agent;
    struct share share = {part->total, part->first, part->weight, 1, 0};
    struct errmsg why = {{0}};
    if (r->phase != PHASE_ARMED && r->phase != PHASE_SENDING)
        return errmsg_set(msg, ERR_STATE, "the run is not going on");
    run_until(r, a->now_ns);
    r->reshare_problem[0] = '\0';
    if (r->phase > PHASE_SENDING) {
        snprintf(r->reshare_problem, sizeof r->reshare_problem, "its last request is sent");
    } else if (a->now_ns >= r->t0_ns + schedule_due_at(&r->schedule, from)) {
        snprintf(r->reshare_problem, sizeof r->reshare_problem, "the index was due");
    } else if (schedule_reshare(&r->schedule, from, &share, &why) != ERR_OK) {
        snprintf(r->reshare_problem, sizeof r->reshare_problem, "%.120s", why.text);
    }
    r->reshare_ns = a->now_ns + a->cfg.reshare_ns;
    return ERR_OK;
}

static void sim_free(struct run *r)
{
    r->agent->run = NULL;
    snapshot_free(r->total);
    mem_free(r);
}

static const struct run_ops sim_ops = {.prepare = sim_prepare,
                                       .arm = sim_arm,
                                       .halt = sim_halt,
                                       .lease = sim_lease,
                                       .reshare = sim_reshare,
                                       .free = sim_free};

/* --- the agent -------------------------------------------------------------------------------- */

static void set_now(struct sim_agent *a, uint64_t world_ns)
{
    a->now_ns = world_ns + (uint64_t)a->cfg.offset_ns;
}

static uint64_t on_now(void *arg)
{
    return ((struct sim_agent *)arg)->now_ns;
}

static bool on_send(void *arg, void *conn, const struct msg *m)
{
    struct sim_agent *a = arg;
    return a->cfg.send(a->cfg.arg, conn, m);
}

static void on_close(void *arg, void *conn)
{
    struct sim_agent *a = arg;
    a->cfg.close(a->cfg.arg, conn);
}

struct sim_agent *sim_agent_new(const struct sim_agent_config *cfg, uint64_t seed)
{
    struct sim_agent *a = mem_calloc(1, sizeof *a);
    a->cfg = *cfg;
    policy_loopback_only(&a->policy);
    struct control_config cc = {.env = {.policy = &a->policy, .loop = (struct loop *)(void *)a},
                                .run = &sim_ops,
                                .cores = 1,
                                .lease_ns = 10 * NS_PER_SEC,
                                .arg = a,
                                .send = on_send,
                                .close = on_close,
                                .now = on_now};
    snprintf(cc.agent, sizeof cc.agent, "%s", cfg->name);
    snprintf(cc.boot_id, sizeof cc.boot_id, "%s", cfg->boot_id);
    memcpy(cc.epoch, &seed, sizeof seed);
    a->control = control_new(&cc);
    return a;
}

void sim_agent_free(struct sim_agent *a)
{
    if (a == NULL)
        return;
    control_free(a->control);
    mem_free(a);
}

void sim_agent_message(struct sim_agent *a, void *conn, const struct msg *m, uint64_t now_ns)
{
    set_now(a, now_ns);
    run_until(a->run, a->now_ns);
    control_message(a->control, conn, m, a->now_ns);
    if (control_is_owner(a->control, conn))
        a->heard_ns = a->now_ns;
}

void sim_agent_gone(struct sim_agent *a, void *conn, uint64_t now_ns)
{
    set_now(a, now_ns);
    run_until(a->run, a->now_ns);
    control_gone(a->control, conn, a->now_ns);
}

void sim_agent_tick(struct sim_agent *a, uint64_t now_ns)
{
    set_now(a, now_ns);
    run_until(a->run, a->now_ns);
    control_tick(a->control, a->now_ns);
}

uint64_t sim_agent_deadline(const struct sim_agent *a)
{
    uint64_t at = control_deadline(a->control);
    if (a->run != NULL)
        at = earlier(at, run_deadline(a->run));
    return at == NS_NEVER ? NS_NEVER : at - (uint64_t)a->cfg.offset_ns;
}

bool sim_agent_shutdown(struct sim_agent *a, uint64_t now_ns)
{
    set_now(a, now_ns);
    run_until(a->run, a->now_ns);
    return control_shutdown(a->control, a->now_ns);
}

void sim_agent_freeze(struct sim_agent *a, uint64_t now_ns)
{
    set_now(a, now_ns);
    run_until(a->run, a->now_ns);
}

/* Its worker looks at the lease before it sends what has become due meanwhile. */
void sim_agent_thaw(struct sim_agent *a, uint64_t now_ns)
{
    struct run *r = a->run;
    set_now(a, now_ns);
    if (r == NULL)
        return;
    bool armed = r->phase == PHASE_ARMED || r->phase == PHASE_SENDING;
    if (armed && a->now_ns >= r->lease_ns) {
        r->lease_lost = true;
        stop(r, a->now_ns, 0);
    } else if (r->phase == PHASE_SENDING) {
        send_until(r, a->now_ns);
        uint64_t whole = (a->now_ns - r->t0_ns) / r->interval_ns;
        if (whole > r->emitted)
            emit(r, whole, whole * r->interval_ns);
    }
}

const struct control *sim_agent_control(const struct sim_agent *a)
{
    return a->control;
}

uint64_t sim_agent_sent(const struct sim_agent *a)
{
    return a->sent;
}

bool sim_agent_sending(const struct sim_agent *a)
{
    return a->run != NULL && a->run->phase == PHASE_SENDING;
}
