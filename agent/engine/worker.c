/* SPDX-License-Identifier: MIT */
#include "agent/engine/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "agent/engine/engine.h"
#include "agent/engine/recorder.h"
#include "agent/engine/spin.h"
#include "common/clock.h"
#include "common/loop.h"
#include "common/mem.h"

#define THREAD_NAME 16 /* the kernel's limit, with the NUL */
#define GAPS_SEEN   1000

/* Commands are small heap objects, because a halt may come several times: the thread frees them. A
 * part comes home as its own letter. */
enum command_kind {
    COMMAND_ARM,
    COMMAND_HALT,
    COMMAND_LEASE,
    COMMAND_RESHARE,
    COMMAND_QUIT,
    COMMAND_GIVE,
    COMMANDS
};

struct command {
    struct letter letter; /* first: the letter is the command */
    uint64_t ns;          /* ARM: t0; HALT: drain; LEASE: until; RESHARE: from this index */
    struct share share;   /* RESHARE */
};

/* What the thread has used up so far. */
struct usage {
    uint64_t wall_ns, cpu_ns, spin_ns;
    uint64_t waits, preemptions; /* context switches: it gave up its core, or was made to */
};

struct worker {
    struct worker_config cfg;
    struct loop *loop;
    struct mailbox *commands;
    struct loop_timer *timer;
    struct recorder *recorder;
    struct engine *engine;
    struct spin spin;
    pthread_t thread;
    bool joined; /* main thread's; everything below is the worker's own */

    bool quit;
    bool prepared, started, final;       /* reported */
    bool lease_lost, overran, forbidden; /* why it ended */
    uint64_t lease_ns;
    uint64_t t0_ns;          /* NS_NEVER = not armed */
    uint64_t limit_ns;       /* nothing is sent from then on; NS_NEVER = no limit, or it is over */
    uint64_t first_interval; /* where the current part begins */
    uint64_t next_interval;  /* the first one whose end has not come yet */
    struct usage usage;      /* at the begin of the current part */
    struct worker_status status_prepared, status_started, status_reshared;
};

/* --- reports ---------------------------------------------------------------------------------- */

static void post_status(struct worker *w, struct worker_status *s, enum worker_report kind)
{
    s->letter.kind = (int)kind;
    s->worker = w->cfg.number;
    s->connected = engine_connected(w->engine);
    s->fault = engine_fault(w->engine, &s->fault_code);
    s->at_ns = clock_mono_ns();
    mailbox_post(w->cfg.reports, &s->letter);
}

static struct usage usage_now(const struct worker *w)
{
    struct rusage r = {0};
    getrusage(RUSAGE_THREAD, &r);
    return (struct usage){.wall_ns = clock_mono_ns(),
                          .cpu_ns = clock_thread_cpu_ns(),
                          .spin_ns = w->spin.spent_ns,
                          .waits = (uint64_t)r.ru_nvcsw,
                          .preemptions = (uint64_t)r.ru_nivcsw};
}

static void fill_usage(struct worker *w, struct part *p)
{
    struct usage before = w->usage;
    w->usage = usage_now(w);
    p->cpu_ns = w->usage.cpu_ns - before.cpu_ns;
    p->wall_ns = w->usage.wall_ns - before.wall_ns;
    p->spin_ns = w->usage.spin_ns - before.spin_ns;
    p->preemptions = w->usage.preemptions - before.preemptions;
    p->context_switches = p->preemptions + w->usage.waits - before.waits;
}

/* Fills in what the recorder does not know, and sends the part away. */
static void post_part(struct worker *w, struct part *p, uint64_t last_interval, uint64_t to_ns)
{
    p->letter.kind = WORKER_PART;
    p->first_interval = w->first_interval;
    p->last_interval = last_interval;
    p->from_ns = w->first_interval * w->cfg.interval_ns;
    p->to_ns = to_ns;
    if (p->first_ns != 0)
        p->first_ns = clock_elapsed(w->t0_ns, p->first_ns);
    p->backlog = engine_backlog(w->engine);
    p->in_flight = engine_in_flight(w->engine);
    fill_usage(w, p);
    w->first_interval = last_interval + 1;
    mailbox_post(w->cfg.reports, &p->letter);
}

static uint64_t boundary(const struct worker *w)
{
    if (w->t0_ns == NS_NEVER || w->final)
        return NS_NEVER;
    return clock_add(w->t0_ns, (w->next_interval + 1) * w->cfg.interval_ns);
}

/* Closes the intervals that are over. Without a spare part the current one goes on. */
static void close_intervals(struct worker *w, uint64_t now_ns)
{
    if (now_ns < boundary(w))
        return;
    w->next_interval = (now_ns - w->t0_ns) / w->cfg.interval_ns;
    uint64_t to_ns = w->next_interval * w->cfg.interval_ns;
    /* What was due inside the interval counts there; what is due at its end does not. */
    engine_pump(w->engine, w->t0_ns + to_ns - 1);
    if (engine_phase(w->engine) == ENGINE_ENDED)
        return;
    engine_collect(w->engine, w->t0_ns + to_ns);
    struct part *p = recorder_take(w->recorder, false);
    if (p != NULL)
        post_part(w, p, w->next_interval - 1, to_ns);
}

static void post_final(struct worker *w, uint64_t now_ns)
{
    uint64_t to_ns = w->t0_ns == NS_NEVER ? 0 : clock_elapsed(w->t0_ns, now_ns);
    uint64_t last = to_ns / w->cfg.interval_ns;
    if (last < w->first_interval)
        last = w->first_interval;
    w->final = true;
    struct part *p = recorder_take(w->recorder, true);
    p->lease_lost = w->lease_lost;
    p->overran = w->overran;
    p->forbidden = w->forbidden;
    post_part(w, p, last, to_ns);
}

static void report(struct worker *w, uint64_t now_ns)
{
    enum engine_phase phase = engine_phase(w->engine);
    if (w->final || phase < ENGINE_READY)
        return;
    if (!w->prepared && phase != ENGINE_ENDED) {
        w->prepared = true;
        post_status(w, &w->status_prepared, WORKER_PREPARED);
    }
    if (!w->started && phase >= ENGINE_SENDING && now_ns >= w->t0_ns) {
        w->started = true;
        w->usage = usage_now(w); /* preparing and waiting are not part of the load */
        post_status(w, &w->status_started, WORKER_STARTED);
    }
    if (phase == ENGINE_ENDED)
        post_final(w, now_ns);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void do_arm(struct worker *w, const struct command *c)
{
    engine_start(w->engine, c->ns);
    if (w->t0_ns != NS_NEVER || engine_phase(w->engine) != ENGINE_WAITING)
        return;
    w->t0_ns = c->ns;
    if (w->cfg.send_limit_ns != 0)
        w->limit_ns = clock_add(c->ns, w->cfg.send_limit_ns);
}

static void do_halt(struct worker *w, const struct command *c)
{
    engine_stop(w->engine, clock_mono_ns(), c->ns);
}

static void do_lease(struct worker *w, const struct command *c)
{
    w->lease_ns = c->ns;
}

static void do_reshare(struct worker *w, const struct command *c)
{
    struct errmsg msg = {{0}};
    struct worker_status *s = &w->status_reshared;
    s->failed = engine_reshare(w->engine, c->ns, &c->share, clock_mono_ns(), &msg) != ERR_OK;
    snprintf(s->problem, sizeof s->problem, "%.*s", (int)sizeof s->problem - 1, msg.text);
    post_status(w, s, WORKER_RESHARED);
}

static void do_quit(struct worker *w, const struct command *c)
{
    (void)c;
    w->quit = true;
}

static void (*const commands[COMMANDS])(struct worker *w, const struct command *c) = {
    [COMMAND_ARM] = do_arm,         [COMMAND_HALT] = do_halt, [COMMAND_LEASE] = do_lease,
    [COMMAND_RESHARE] = do_reshare, [COMMAND_QUIT] = do_quit,
};

static void on_letter(void *arg, struct letter *l)
{
    struct worker *w = arg;
    if (l->kind == COMMAND_GIVE) {
        recorder_give(w->recorder, (struct part *)(void *)l);
        return;
    }
    struct command *c = (struct command *)(void *)l;
    if (!w->quit)
        commands[l->kind](w, c);
    mem_free(c);
}
_Static_assert(offsetof(struct part, letter) == 0, "a part's letter is the part");

static void on_timer(void *arg)
{
    (void)arg; /* it only ends the wait */
}

/* Each way to wait returns when it was over: one reading of the clock a turn. */

static uint64_t sleep_until(struct worker *w, const struct spin_step *step, uint64_t now_ns)
{
    loop_timer_at(w->timer, step->until_ns);
    loop_turn(w->loop, 1);
    now_ns = clock_mono_ns();
    spin_slept(&w->spin, step->until_ns, now_ns);
    return now_ns;
}

static uint64_t poll_sockets(struct worker *w, const struct spin_step *step, uint64_t now_ns)
{
    loop_turn(w->loop, 0);
    uint64_t over_ns = clock_mono_ns();
    spin_polled(&w->spin, step, now_ns, over_ns);
    return over_ns;
}

static uint64_t watch_clock(struct worker *w, const struct spin_step *step, uint64_t now_ns)
{
    uint64_t last_ns = now_ns, jump_ns = 0;
    while (last_ns < step->until_ns) {
        uint64_t at_ns = clock_mono_ns();
        if (at_ns - last_ns > jump_ns)
            jump_ns = at_ns - last_ns;
        last_ns = at_ns;
    }
    spin_watched(&w->spin, now_ns, last_ns, jump_ns);
    return last_ns;
}

static uint64_t (*const waits[])(struct worker *w, const struct spin_step *step,
                                 uint64_t now_ns) = {
    [SPIN_SLEEP] = sleep_until,
    [SPIN_POLL] = poll_sockets,
    [SPIN_WATCH] = watch_clock,
};

static uint64_t wait_for_work(struct worker *w)
{
    uint64_t wake_ns = engine_wake(w->engine);
    uint64_t boundary_ns = boundary(w);
    if (wake_ns > boundary_ns)
        wake_ns = boundary_ns;
    if (wake_ns > w->limit_ns)
        wake_ns = w->limit_ns;
    if (wake_ns > w->lease_ns && !w->final)
        wake_ns = w->lease_ns;
    uint64_t now_ns = clock_mono_ns();
    struct spin_step step = spin_next(&w->spin, now_ns, engine_due(w->engine), wake_ns);
    return waits[step.action](w, &step, now_ns);
}

static void check_lease(struct worker *w, uint64_t now_ns)
{
    if (now_ns < w->lease_ns || engine_phase(w->engine) == ENGINE_ENDED)
        return;
    w->lease_lost = true;
    engine_stop(w->engine, now_ns, 0);
}

/* After the pump: a plan that ends at the limit itself has ended by now. */
static void check_policy(struct worker *w, uint64_t now_ns)
{
    if (now_ns >= w->limit_ns) {
        w->limit_ns = NS_NEVER;
        w->overran = engine_phase(w->engine) < ENGINE_DRAINING;
        /* While it drains too: redirects and retries would go on being sent. */
        engine_stop(w->engine, now_ns, w->cfg.timeout_ns);
    }
    if (engine_forbidden(w->engine) && !w->forbidden) {
        w->forbidden = true;
        engine_stop(w->engine, now_ns, 0); /* does nothing where it has ended */
    }
}

/* Weighted shares have uneven gaps, and with stages the rate changes: over the whole run. */
static uint64_t mean_gap(const struct schedule *s)
{
    uint64_t n = s->count == UINT64_MAX ? GAPS_SEEN : s->count > 0 ? s->count - 1 : 0;
    if (n == 0 || schedule_is_closed(s))
        return NS_NEVER;
    return (schedule_due(s, n) - schedule_due(s, 0)) / n;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    char name[32];
    snprintf(name, sizeof name, "hammer-w%u", (unsigned)w->cfg.number);
    name[THREAD_NAME - 1] = '\0';
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1UL);
    placement_apply(&w->cfg.placement, w->cfg.number);
    w->usage = usage_now(w);
    /* Who gives away precision for CPU time does not want it back at that price. */
    uint64_t spin_ns = w->cfg.quantum_ns > 0 ? 0 : w->cfg.spin_ns;
    spin_init(&w->spin, spin_ns, mean_gap(&w->cfg.schedule), w->usage.wall_ns);
    uint64_t now_ns = w->usage.wall_ns;
    engine_open(w->engine, now_ns);
    while (!w->quit) {
        close_intervals(w, now_ns);
        check_lease(w, now_ns);
        engine_pump(w->engine, now_ns);
        check_policy(w, now_ns);
        report(w, now_ns);
        now_ns = wait_for_work(w);
    }
    return NULL;
}

/* --- main thread ------------------------------------------------------------------------------ */

static enum err build(struct worker *w, struct errmsg *msg)
{
    const struct worker_config *cfg = &w->cfg;
    if (cfg->interval_ns == 0)
        return errmsg_set(msg, ERR_INVALID, "interval 0: accepted is at least 1 ns");
    enum err e = loop_new_exact(&w->loop, msg);
    if (e == ERR_OK)
        e = mailbox_new(w->loop, on_letter, w, &w->commands, msg);
    if (e != ERR_OK)
        return e;
    w->timer = loop_timer_new(w->loop, on_timer, w);
    w->recorder = recorder_new(cfg->number, cfg->series != NULL ? cfg->series : series_map_one());
    struct engine_config ec = {.schedule = cfg->schedule,
                               .ops = cfg->ops,
                               .env = {.loop = w->loop,
                                       .targets = cfg->targets,
                                       .requests = cfg->requests,
                                       .rules = cfg->rules,
                                       .connections = cfg->connections},
                               .recorder = w->recorder,
                               .dump = cfg->dump,
                               .timeout_ns = cfg->timeout_ns,
                               .quantum_ns = cfg->quantum_ns,
                               .drop = cfg->drop,
                               .from_send = cfg->from_send,
                               .now = clock_mono_ns};
    return engine_new(&ec, &w->engine, msg);
}

static void destroy(struct worker *w)
{
    engine_free(w->engine);
    mailbox_free(w->commands);
    loop_timer_free(w->timer);
    loop_free(w->loop);
    recorder_free(w->recorder);
    mem_free(w);
}

/* The thread inherits the mask: signals are the main thread's business. */
static int create_thread(struct worker *w)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

enum err worker_start(const struct worker_config *cfg, struct worker **out, struct errmsg *msg)
{
    struct worker *w = mem_calloc(1, sizeof *w);
    w->cfg = *cfg;
    w->t0_ns = w->limit_ns = NS_NEVER;
    w->lease_ns = cfg->lease_ns != 0 ? cfg->lease_ns : NS_NEVER;
    enum err e = build(w, msg);
    int rc = e == ERR_OK ? create_thread(w) : 0;
    if (rc != 0)
        e = errmsg_set(msg, ERR_SYSTEM, "cannot start thread hammer-w%u: %s", (unsigned)cfg->number,
                       strerror(rc));
    if (e != ERR_OK) {
        destroy(w);
        return e;
    }
    *out = w;
    return ERR_OK;
}

static void command(struct worker *w, enum command_kind kind, uint64_t ns)
{
    struct command *c = mem_calloc(1, sizeof *c);
    c->letter.kind = (int)kind;
    c->ns = ns;
    mailbox_post(w->commands, &c->letter);
}

void worker_arm(struct worker *w, uint64_t t0_ns)
{
    command(w, COMMAND_ARM, t0_ns);
}

void worker_halt(struct worker *w, uint64_t drain_ns)
{
    command(w, COMMAND_HALT, drain_ns);
}

void worker_lease(struct worker *w, uint64_t until_ns)
{
    command(w, COMMAND_LEASE, until_ns);
}

void worker_reshare(struct worker *w, uint64_t from, const struct share *share)
{
    struct command *c = mem_calloc(1, sizeof *c);
    c->letter.kind = COMMAND_RESHARE;
    c->ns = from;
    c->share = *share;
    mailbox_post(w->commands, &c->letter);
}

void worker_give(struct worker *w, struct part *p)
{
    p->letter.kind = COMMAND_GIVE;
    mailbox_post(w->commands, &p->letter);
}

void worker_join(struct worker *w)
{
    if (w->joined)
        return;
    command(w, COMMAND_QUIT, 0);
    pthread_join(w->thread, NULL);
    w->quit = true; /* letters that still come are only freed */
    w->joined = true;
}

void worker_free(struct worker *w)
{
    if (w == NULL)
        return;
    worker_join(w);
    destroy(w);
}
