/* SPDX-License-Identifier: MIT */
#include "agent/service/refresh.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

/* How often is looked whether the resolver has come back. */
#define LOOK_NS (100 * NS_PER_MS)

enum state {
    OUT,      /* the thread has it */
    DONE,     /* nobody has: the next look takes it */
    ABANDONED /* the thread frees it */
};

struct name {
    struct run_target_name asked;
    enum err err;
    uint64_t took_ns;
    struct target found;
    struct errmsg msg;
};

/* What the thread works on; it shares nothing else with the run, which may end first. */
struct job {
    _Atomic int state;
    size_t n;
    struct name names[];
};

struct refresh {
    struct loop_timer *timer;
    struct run_targets *targets;
    uint64_t interval_ns, due_ns;
    struct job *job;          /* NULL = none is out */
    uint64_t lookups, errors; /* names */
    struct hist *times;
    bool complained; /* one line a run, not one a second */
};

static void *look_up(void *arg)
{
    struct job *j = arg;
    for (size_t i = 0; i < j->n && atomic_load(&j->state) != ABANDONED; i++) {
        struct name *n = &j->names[i];
        uint64_t began_ns = clock_mono_ns();
        n->err = target_route(&n->asked.route, n->asked.family, &n->found, &n->msg);
        n->took_ns = clock_elapsed(began_ns, clock_mono_ns());
    }
    if (atomic_exchange(&j->state, DONE) == ABANDONED)
        mem_free(j);
    return NULL;
}

static bool start_thread(struct job *j)
{
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
              pthread_create(&thread, &attr, look_up, j) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

static void begin(struct refresh *r)
{
    size_t n = run_targets_names(r->targets);
    struct job *j = mem_calloc(1, sizeof *j + n * sizeof j->names[0]);
    j->n = n;
    atomic_init(&j->state, OUT);
    for (size_t i = 0; i < n; i++)
        run_targets_name(r->targets, i, &j->names[i].asked);
    if (start_thread(j)) {
        r->job = j;
        return;
    }
    r->errors += n;
    mem_free(j);
}

static void complain(struct refresh *r, const struct errmsg *why)
{
    r->errors++;
    if (!r->complained)
        log_warn("run", "--dns-refresh: %s; the addresses stay as they are", why->text);
    r->complained = true;
}

static void take(struct refresh *r, struct job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        struct name *n = &j->names[i];
        enum err e = n->err;
        r->lookups++;
        hist_record(r->times, n->took_ns, 1);
        if (e == ERR_OK)
            e = run_targets_adopt(r->targets, n->asked.target, &n->found, &n->msg);
        if (e != ERR_OK)
            complain(r, &n->msg);
    }
    mem_free(j);
}

static void on_timer(void *arg)
{
    struct refresh *r = arg;
    uint64_t now_ns = clock_mono_ns();
    if (r->job != NULL && atomic_load(&r->job->state) == DONE) {
        take(r, r->job);
        r->job = NULL;
        r->due_ns = clock_add(now_ns, r->interval_ns);
    }
    if (r->job == NULL && now_ns >= r->due_ns)
        begin(r);
    loop_timer_at(r->timer, r->job != NULL ? clock_add(now_ns, LOOK_NS) : r->due_ns);
}

enum err refresh_new(struct loop *loop, struct run_targets *targets, uint64_t interval_ns,
                     struct refresh **out, struct errmsg *msg)
{
    struct refresh *r = mem_calloc(1, sizeof *r);
    r->targets = targets;
    r->interval_ns = interval_ns;
    r->due_ns = clock_add(clock_mono_ns(), interval_ns);
    r->times = hist_new_default();
    r->timer = loop_timer_new(loop, on_timer, r);
    if (r->timer == NULL || r->times == NULL) {
        refresh_free(r);
        return errmsg_set(msg, ERR_NOMEM, "out of memory for a timer");
    }
    loop_timer_at(r->timer, r->due_ns);
    *out = r;
    return ERR_OK;
}

static void add(const struct refresh *r, struct series *to)
{
    to->counters.lookups += r->lookups;
    to->counters.lookup_errors += r->errors;
    if (hist_add(series_hist(to, HIST_DNS), r->times) != ERR_OK)
        log_error("run", "times of look-ups could not be added"); /* same geometry: never */
}

void refresh_take(struct refresh *r, struct series *interval, struct series *total)
{
    if (r == NULL || r->lookups + r->errors == 0)
        return;
    add(r, interval);
    add(r, total);
    hist_reset(r->times);
    r->lookups = r->errors = 0;
}

void refresh_free(struct refresh *r)
{
    if (r == NULL)
        return;
    if (r->job != NULL && atomic_exchange(&r->job->state, ABANDONED) == DONE)
        mem_free(r->job);
    loop_timer_free(r->timer);
    hist_free(r->times);
    mem_free(r);
}
