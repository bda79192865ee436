/* SPDX-License-Identifier: MIT */
#include "agent/service/run.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/client/client_h1.h"
#include "agent/engine/recorder.h"
#include "agent/engine/spin.h"
#include "agent/engine/worker.h"
#include "agent/service/policy_caps.h"
#include "agent/service/refresh.h"
#include "agent/service/resolving.h"
#include "agent/service/run_dump.h"
#include "agent/service/run_rules.h"
#include "agent/service/run_targets.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/log.h"
#include "common/mailbox.h"
#include "common/mem.h"
#include "common/sm.h"
#include "proto/preflight.h"

/*
 *   RESOLVING --> OPENING --> PREPARED --> ARMED --> RUNNING --> ENDED
 *       |            |            |          |          ^
 *       +--> ENDED <-+------------+----------+----------+     (halt, or a refusal)
 */
enum run_state {
    RUN_STATE_RESOLVING,
    RUN_STATE_OPENING,
    RUN_STATE_PREPARED,
    RUN_STATE_ARMED,
    RUN_STATE_RUNNING,
    RUN_STATE_ENDED,
    RUN_STATES
};

static const struct sm_state states[RUN_STATES] = {
    [RUN_STATE_RESOLVING] = {"resolving", SM_BIT(RUN_STATE_OPENING) | SM_BIT(RUN_STATE_ENDED)},
    [RUN_STATE_OPENING] = {"opening", SM_BIT(RUN_STATE_PREPARED) | SM_BIT(RUN_STATE_ENDED)},
    [RUN_STATE_PREPARED] = {"prepared", SM_BIT(RUN_STATE_ARMED) | SM_BIT(RUN_STATE_ENDED)},
    [RUN_STATE_ARMED] = {"armed", SM_BIT(RUN_STATE_RUNNING) | SM_BIT(RUN_STATE_ENDED)},
    [RUN_STATE_RUNNING] = {"running", SM_BIT(RUN_STATE_ENDED)},
    [RUN_STATE_ENDED] = {"ended", 0},
};

/* Letter of the resolver thread, beside enum worker_report. */
#define LETTER_RESOLVED 100

/* What the snapshots know of one worker. */
struct progress {
    struct worker *worker;
    uint64_t reported; /* intervals 0 .. reported-1 are complete; UINT64_MAX after the final part */
    bool prepared, started;
};

struct run {
    struct sm sm;
    struct loop *loop;
    run_fn fn;
    void *arg;
    struct policy policy; /* as it was at PREPARE */
    struct placement placement;
    uint64_t spin_ns; /* the workers' setting */
    struct plan plan;
    struct plan_part part;
    struct reqset *requests;
    struct series_map series;
    struct run_targets *targets;
    struct refresh *refresh; /* NULL = names are not looked up again */
    struct mailbox *reports;
    struct run_dump *dump; /* NULL = nobody wants single requests */

    pthread_t resolver;
    struct letter resolved; /* the resolver's answer */
    struct resolving *among;
    enum err resolve_err;
    struct errmsg resolve_msg;
    bool resolving;
    bool orphan; /* freed while the resolver was still out */

    struct progress *workers;
    uint32_t n_workers;
    uint32_t connected;
    int fault, fault_code; /* of the last failed connection attempt */
    uint64_t started_ns;
    uint64_t lease_ns; /* 0 = none so far */
    bool lease_lost;
    struct errmsg breach; /* why the policy ended the run; empty = it did not */
    uint32_t resharing;   /* workers that have not answered yet */
    char reshare_problem[128];
    STAILQ_HEAD(, letter) waiting; /* parts whose interval is not complete on all workers */
    uint64_t emitted;              /* intervals already handed out */
    uint64_t last_to_ns;
    struct snapshot *total;
};

static void on_letter(void *arg, struct letter *l);

static void tell(struct run *r, enum run_event ev, struct run_info *info)
{
    if (r->fn != NULL)
        r->fn(r->arg, ev, info);
    else
        snapshot_free(info->snapshot);
}

static void refuse(struct run *r, const char *why, bool policy)
{
    struct run_info info = {.policy = policy};
    snprintf(info.problem, sizeof info.problem, "%s", why);
    sm_move(&r->sm, RUN_STATE_ENDED);
    tell(r, RUN_REFUSED, &info);
}

/* --- preparing ------------------------------------------------------------------------------ */

/* getaddrinfo blocks as long as it likes; the control loop must not. */
static void *resolver_main(void *arg)
{
    struct run *r = arg;
    r->resolve_err = run_targets_resolve(r->targets, &r->resolve_msg);
    mailbox_post(r->reports, &r->resolved);
    return NULL;
}

static enum err start_resolver(struct run *r, struct errmsg *msg)
{
    sigset_t all, old;
    if (!resolving_enter(r->among))
        return errmsg_set(
            msg, ERR_BUSY,
            "the names of runs that were given up are still being looked up; try again "
            "in some seconds");
    r->resolved.kind = LETTER_RESOLVED;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&r->resolver, NULL, resolver_main, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        resolving_leave(r->among);
        return errmsg_set(msg, ERR_SYSTEM, "cannot start a thread: %s", strerror(rc));
    }
    r->resolving = true;
    return ERR_OK;
}

static struct share share_of(const struct run *r, const struct plan_part *part, uint32_t worker)
{
    return (struct share){.total = part->total,
                          .first = part->first,
                          .weight = part->weight,
                          .threads = r->n_workers,
                          .thread = worker};
}

static enum err worker_begin(struct run *r, uint32_t i, struct errmsg *msg)
{
    struct share share = share_of(r, &r->part, i);
    struct worker_config cfg = {
        .number = i,
        .ops = client_h1_ops(),
        .targets = run_targets_list(r->targets),
        .requests = r->requests,
        .series = &r->series,
        .rules = run_rules(&r->plan, &r->part, r->n_workers, i),
        .connections = run_rules_part(r->part.connections, r->n_workers, i),
        .drop = r->plan.on_full == PLAN_DROP,
        .from_send = r->plan.closed_loop,
        .timeout_ns = r->plan.timeout_ns,
        .interval_ns = r->plan.interval_ns,
        .spin_ns = r->spin_ns,
        .quantum_ns = r->plan.dispatch_quantum_ns,
        .placement = r->placement,
        .lease_ns = r->lease_ns,
        .send_limit_ns = policy_send_limit(&r->policy, r->plan.timeout_ns),
        .reports = r->reports,
        .dump = run_dump_ring(r->dump, i),
    };
    enum err e = plan_schedule(&r->plan, &share, r->plan.requests, &cfg.schedule, msg);
    if (e == ERR_OK)
        e = worker_start(&cfg, &r->workers[i].worker, msg);
    return e;
}

/* The default must not take a core from somebody who needs it; what the user asks for is done. */
static uint64_t choose_spin(const struct run *r)
{
    if (r->plan.rate.num == 0)
        return 0; /* nothing is due at an instant */
    if (r->plan.spin_ns != PLAN_SPIN_AUTO)
        return r->plan.spin_ns;
    bool server_here = run_targets_here(r->targets);
    uint32_t allowed = placement_cores(&r->placement, host_cores());
    bool cores = spin_has_cores(r->n_workers, allowed, host_cores_online(), server_here);
    return cores ? SPIN_AUTO : 0;
}

static enum err check_ports(const struct run *r, struct errmsg *msg)
{
    uint64_t addresses = run_targets_addresses(r->targets);
    uint32_t ports = run_targets_use_ports(r->targets) ? host_local_ports() : 0;
    enum err e = preflight_ports(plan_part_most(&r->part), addresses, ports, msg);
    if (e == ERR_OK)
        e = preflight_fresh_ports(&r->plan, &r->part, addresses, run_targets_here(r->targets),
                                  ports, msg);
    return e;
}

static void on_resolved(struct run *r)
{
    pthread_join(r->resolver, NULL);
    r->resolving = false;
    resolving_leave(r->among);
    if (r->orphan || sm_state(&r->sm) == RUN_STATE_ENDED)
        return;
    struct errmsg msg = r->resolve_msg;
    enum err e = r->resolve_err;
    bool policy = false;
    if (e == ERR_OK)
        e = run_targets_admit(r->targets, &policy, &msg);
    if (e == ERR_OK)
        e = check_ports(r, &msg);
    if (e != ERR_OK) {
        refuse(r, msg.text, policy);
        return;
    }
    sm_move(&r->sm, RUN_STATE_OPENING);
    r->spin_ns = choose_spin(r);
    for (uint32_t i = 0; i < r->n_workers && e == ERR_OK; i++)
        e = worker_begin(r, i, &msg);
    if (e == ERR_OK && r->plan.dns_refresh_ns > 0 && run_targets_names(r->targets) > 0)
        e = refresh_new(r->loop, r->targets, r->plan.dns_refresh_ns, &r->refresh, &msg);
    if (e != ERR_OK)
        refuse(r, msg.text, false);
}

static void release(struct run *r)
{
    refresh_free(r->refresh);
    run_dump_free(r->dump);
    reqset_free(r->requests);
    plan_clear(&r->plan);
    run_targets_free(r->targets);
    snapshot_free(r->total);
    mem_free(r->workers);
    mem_free(r);
}

static enum err run_prepare(const struct run_env *env, const struct plan *plan,
                            const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                            struct errmsg *msg)
{
    struct run *r = mem_calloc(1, sizeof *r);
    sm_init(&r->sm, states, RUN_STATES, RUN_STATE_RESOLVING, "run");
    r->fn = fn;
    r->arg = arg;
    r->policy = *env->policy;
    r->among = env->resolving;
    r->loop = env->loop;
    if (env->placement != NULL)
        r->placement = *env->placement;
    r->part = *part;
    r->fault = -1;
    r->n_workers = part->threads;
    r->workers = mem_calloc(part->threads, sizeof *r->workers);
    r->total = snapshot_new();
    r->total->cumulative = true;
    STAILQ_INIT(&r->waiting);
    enum err e = plan_copy(&r->plan, plan);
    if (plan->headers.n + plan->n_entries + plan->n_env > 0 || plan->key != NULL)
        host_no_core_files(); /* only the controller knows which of them are secrets */
    if (e == ERR_OK)
        e = preflight_part(&r->plan, part, host_fd_limit(), msg);
    if (e == ERR_OK)
        e = reqset_new(&r->plan, &r->requests, msg);
    if (e == ERR_OK)
        e = series_map_init(&r->series, &r->plan, r->requests, msg);
    if (e == ERR_OK)
        e = run_targets_new(&r->plan, r->requests, &r->policy, &r->targets, msg);
    if (e == ERR_OK && r->plan.dump)
        r->dump = run_dump_new(r->n_workers, DUMP_RING_RECORDS, &r->series);
    if (e == ERR_OK)
        e = mailbox_new(env->loop, on_letter, r, &r->reports, msg);
    if (e != ERR_OK)
        goto fail;
    e = start_resolver(r, msg);
    if (e == ERR_OK) {
        *out = r;
        return ERR_OK;
    }
    mailbox_free(r->reports);
fail:
    release(r);
    return e;
}

static void on_prepared(struct run *r, const struct worker_status *s)
{
    r->workers[s->worker].prepared = true;
    r->connected += s->connected;
    if (s->fault >= 0) {
        r->fault = s->fault;
        r->fault_code = s->fault_code;
    }
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (!r->workers[i].prepared)
            return;
    if (sm_state(&r->sm) != RUN_STATE_OPENING)
        return;
    struct run_info info = {.connections = r->connected, .threads = r->n_workers};
    run_targets_text(r->targets, info.address, sizeof info.address);
    if (r->fault >= 0)
        run_targets_fault(r->targets, r->fault, r->fault_code, info.problem, sizeof info.problem);
    sm_move(&r->sm, RUN_STATE_PREPARED);
    tell(r, RUN_PREPARED, &info);
}

static void on_started(struct run *r, const struct worker_status *s)
{
    r->workers[s->worker].started = true;
    if (s->at_ns > r->started_ns)
        r->started_ns = s->at_ns;
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (!r->workers[i].started)
            return;
    if (sm_state(&r->sm) != RUN_STATE_ARMED)
        return;
    struct run_info info = {.started_ns = r->started_ns};
    sm_move(&r->sm, RUN_STATE_RUNNING);
    tell(r, RUN_STARTED, &info);
}

static void on_reshared(struct run *r, const struct worker_status *s)
{
    if (s->failed)
        snprintf(r->reshare_problem, sizeof r->reshare_problem, "%s", s->problem);
    if (--r->resharing > 0)
        return;
    struct run_info info = {0};
    snprintf(info.problem, sizeof info.problem, "%s", r->reshare_problem);
    tell(r, RUN_RESHARED, &info);
}

/* --- snapshots ------------------------------------------------------------------------------ */

/* First interval that is not yet complete on every worker. */
static uint64_t complete_until(const struct run *r)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].reported < least)
            least = r->workers[i].reported;
    return least;
}

static void consume(struct run *r, struct part *p, struct snapshot *into)
{
    /* Added up apart from the deltas, so that comparing proves something. The map's rows bound the
     * series: adding cannot fail. */
    if (part_add_to(p, into) != ERR_OK || part_add_to(p, r->total) != ERR_OK)
        log_error("run", "a part of worker %" PRIu32 " could not be added", p->worker);
    r->last_to_ns = p->to_ns > r->last_to_ns ? p->to_ns : r->last_to_ns;
    worker_give(r->workers[p->worker].worker, p);
}

/* One snapshot from every waiting part that lies wholly before interval `until`. */
static void emit(struct run *r, uint64_t until)
{
    struct snapshot *s = snapshot_new();
    STAILQ_HEAD(, letter) rest = STAILQ_HEAD_INITIALIZER(rest);
    bool final = until == UINT64_MAX;
    struct letter *l;
    while ((l = STAILQ_FIRST(&r->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&r->waiting, link);
        struct part *p = (struct part *)(void *)((char *)l - offsetof(struct part, letter));
        if (final || p->last_interval < until)
            consume(r, p, s);
        else
            STAILQ_INSERT_TAIL(&rest, l, link);
    }
    STAILQ_CONCAT(&r->waiting, &rest);
    const char *first = r->requests->names[0]; /* another row might be one too many */
    refresh_take(r->refresh, snapshot_series(s, 0, first), snapshot_series(r->total, 0, first));
    s->from_ns = r->emitted * r->plan.interval_ns;
    s->to_ns = final ? r->last_to_ns : until * r->plan.interval_ns;
    if (s->to_ns < s->from_ns)
        s->to_ns = s->from_ns;
    uint64_t span = s->to_ns - s->from_ns;
    s->intervals = (uint32_t)((span + r->plan.interval_ns - 1) / r->plan.interval_ns);
    if (s->intervals == 0)
        s->intervals = 1;
    r->total->intervals += s->intervals;
    r->total->backlog = s->backlog; /* gauges: the last word, not the sum over parts */
    r->total->in_flight = s->in_flight;
    r->emitted = until;
    struct run_info info = {.snapshot = s};
    tell(r, RUN_SNAPSHOT, &info);
}

static void finish(struct run *r)
{
    struct run_info info = {.snapshot = r->total,
                            .ended_ns = clock_mono_ns(),
                            .started_ns = r->started_ns,
                            .lease_lost = r->lease_lost,
                            .policy = r->breach.text[0] != '\0'};
    snprintf(info.problem, sizeof info.problem, "%.*s", (int)sizeof info.problem - 1,
             r->breach.text);
    if (r->total->intervals > 0)
        r->total->to_ns = r->last_to_ns;
    r->total = NULL;
    sm_move(&r->sm, RUN_STATE_ENDED);
    tell(r, RUN_ENDED, &info);
}

static void halt_workers(struct run *r, uint64_t drain_ns)
{
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].worker != NULL)
            worker_halt(r->workers[i].worker, drain_ns);
}

/* To the target each hop of a redirect is one more. */
static uint64_t sent_so_far(const struct run *r)
{
    struct counters c = snapshot_counters(r->total);
    return c.sent + c.redirects;
}

/* What the workers said of themselves, and what was counted: the first breach is the reason. */
static void check_breach(struct run *r, const struct part *p)
{
    if (r->breach.text[0] != '\0')
        return;
    if (p->forbidden)
        (void)errmsg_set(&r->breach, ERR_REFUSED,
                         "this agent's policy forbids an address that a connection was to go to");
    else if (p->overran)
        policy_overran(&r->policy, &r->breach);
    if (p->forbidden) /* the others as well; who is over time has its requests in flight answered */
        halt_workers(r, 0);
}

static void check_sent(struct run *r)
{
    if (r->breach.text[0] == '\0' &&
        policy_check_sent(&r->policy, sent_so_far(r), r->last_to_ns, &r->breach) != ERR_OK)
        halt_workers(r, 0);
}

static void on_part(struct run *r, struct part *p)
{
    struct progress *w = &r->workers[p->worker];
    w->reported = p->final ? UINT64_MAX : p->last_interval + 1;
    r->lease_lost = r->lease_lost || p->lease_lost;
    check_breach(r, p);
    STAILQ_INSERT_TAIL(&r->waiting, &p->letter, link);
    if (sm_state(&r->sm) == RUN_STATE_ENDED)
        return;
    if (sm_state(&r->sm) == RUN_STATE_OPENING && r->breach.text[0] != '\0') {
        refuse(r, r->breach.text, true);
        return;
    }
    uint64_t until = complete_until(r);
    if (until > r->emitted) {
        emit(r, until);
        check_sent(r);
    }
    if (until == UINT64_MAX)
        finish(r);
}

static const struct worker_status *status_of(const struct letter *l)
{
    return (const struct worker_status *)(const void *)((const char *)l -
                                                        offsetof(struct worker_status, letter));
}

static void on_letter(void *arg, struct letter *l)
{
    struct run *r = arg;
    if (l->kind == LETTER_RESOLVED) {
        on_resolved(r);
        if (r->orphan) {
            mailbox_free(r->reports);
            release(r);
        }
        return;
    }
    if (r->orphan)
        return;
    if (l->kind == WORKER_PART)
        on_part(r, (struct part *)(void *)((char *)l - offsetof(struct part, letter)));
    else if (l->kind == WORKER_PREPARED)
        on_prepared(r, status_of(l));
    else if (l->kind == WORKER_STARTED)
        on_started(r, status_of(l));
    else if (l->kind == WORKER_RESHARED)
        on_reshared(r, status_of(l));
}

/* --- commands ------------------------------------------------------------------------------- */

static void run_arm(struct run *r, uint64_t t0_ns)
{
    sm_move(&r->sm, RUN_STATE_ARMED);
    run_dump_start(r->dump, t0_ns);
    for (uint32_t i = 0; i < r->n_workers; i++)
        worker_arm(r->workers[i].worker, t0_ns);
}

static void run_halt(struct run *r, uint64_t drain_ns)
{
    if (sm_state(&r->sm) == RUN_STATE_RESOLVING) {
        finish(r);
        return;
    }
    halt_workers(r, drain_ns);
}

static void run_lease(struct run *r, uint64_t until_ns)
{
    r->lease_ns = until_ns;
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].worker != NULL)
            worker_lease(r->workers[i].worker, until_ns);
}

static enum err run_reshare(struct run *r, uint64_t from, const struct plan_part *part,
                            struct errmsg *msg)
{
    if (r->resharing > 0)
        return errmsg_set(msg, ERR_BUSY, "the workers have not answered the last change yet");
    if (sm_state(&r->sm) != RUN_STATE_ARMED && sm_state(&r->sm) != RUN_STATE_RUNNING)
        return errmsg_set(msg, ERR_STATE, "the run is not going on");
    struct plan_part more = r->part; /* a larger share is a higher rate */
    more.total = part->total;
    more.first = part->first;
    more.weight = part->weight;
    enum err e = plan_part_check(&more, msg); /* it came over the wire */
    if (e == ERR_OK)
        e = policy_check_plan(&r->policy, &r->plan, &more, msg);
    if (e != ERR_OK)
        return e;
    r->reshare_problem[0] = '\0';
    r->resharing = r->n_workers;
    for (uint32_t i = 0; i < r->n_workers; i++) {
        struct share share = share_of(r, part, i);
        worker_reshare(r->workers[i].worker, from, &share);
    }
    return ERR_OK;
}

static struct run_dump *dump_of(struct run *r)
{
    return r->dump;
}

static void run_free(struct run *r)
{
    if (r == NULL)
        return;
    r->fn = NULL;
    if (r->resolving) {
        /* It cannot be cancelled, but asks for no further name; then its answer frees the run. */
        run_targets_give_up(r->targets);
        r->orphan = true;
        return;
    }
    for (uint32_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].worker != NULL)
            worker_join(r->workers[i].worker);
    r->orphan = true; /* letters that were already under way are dropped unread */
    mailbox_free(r->reports);
    for (uint32_t i = 0; i < r->n_workers; i++)
        worker_free(r->workers[i].worker);
    release(r);
}

static const struct run_ops ops = {
    .prepare = run_prepare,
    .arm = run_arm,
    .halt = run_halt,
    .lease = run_lease,
    .reshare = run_reshare,
    .dump = dump_of,
    .free = run_free,
};

const struct run_ops *run_ops(void)
{
    return &ops;
}
