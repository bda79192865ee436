/* SPDX-License-Identifier: MIT */
#include "agent/engine/worker.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client/client_null.h"
#include "agent/engine/recorder.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/echo_client.h"
#include "tests/lib/loop_wait.h"

#define MS       NS_PER_MS
#define WORKERS  3
#define INTERVAL (50 * MS)

/* The main loop's side: receives everything, adds the parts up and gives them back. */
struct boss {
    struct loop *loop;
    struct mailbox *reports;
    struct worker *workers[WORKERS];
    uint32_t n;
    uint32_t prepared, started, finals, leases_lost, reshared, not_reshared;
    uint64_t t0_ns;
    uint64_t next[WORKERS]; /* interval each one's next part must begin with */
    uint64_t parts, coarse; /* parts; of them over more than one interval */
    uint64_t to_ns;         /* latest end */
    struct snapshot *sum;
    bool hold, discard;
    struct part *held[RECORDER_PARTS];
    size_t n_held;
};

static void give_held(struct boss *b)
{
    while (b->n_held > 0) {
        struct part *p = b->held[--b->n_held];
        worker_give(b->workers[p->worker], p);
    }
}

static void on_part(struct boss *b, struct part *p)
{
    ck_assert_uint_lt(p->worker, b->n);
    ck_assert_uint_eq(p->first_interval, b->next[p->worker]);
    ck_assert_uint_ge(p->last_interval, p->first_interval);
    ck_assert_uint_eq(p->from_ns, p->first_interval * INTERVAL);
    if (!p->final)
        ck_assert_uint_eq(p->to_ns, (p->last_interval + 1) * INTERVAL);
    ck_assert(p->cpu_ns <= p->wall_ns + 10 * MS);
    ck_assert(p->spin_ns <= p->wall_ns + MS && p->preemptions <= p->context_switches);
    if (b->started == b->n) /* the CPU share is the load's: nothing before t0 dilutes it */
        ck_assert_uint_le(p->wall_ns, clock_mono_ns() - b->t0_ns);
    b->next[p->worker] = p->last_interval + 1;
    b->parts++;
    b->coarse += p->last_interval > p->first_interval;
    b->finals += p->final;
    b->leases_lost += p->lease_lost;
    ck_assert(p->final || !p->lease_lost);
    b->to_ns = p->to_ns > b->to_ns ? p->to_ns : b->to_ns;
    ck_assert_int_eq(part_add_to(p, b->sum), ERR_OK);
    if (b->hold && !p->final)
        b->held[b->n_held++] = p;
    else
        worker_give(b->workers[p->worker], p);
}

static void on_letter(void *arg, struct letter *l)
{
    struct boss *b = arg;
    if (b->discard)
        return;
    struct worker_status *s = (struct worker_status *)(void *)l;
    switch ((enum worker_report)l->kind) {
    case WORKER_PREPARED:
        ck_assert_int_eq(s->fault, -1);
        ck_assert_uint_gt(s->connected, 0);
        b->prepared++;
        break;
    case WORKER_STARTED:
        ck_assert_uint_eq(b->prepared, b->n);
        ck_assert_uint_ge(s->at_ns, b->t0_ns);
        b->started++;
        break;
    case WORKER_RESHARED:
        b->reshared++;
        b->not_reshared += s->failed;
        ck_assert_int_eq(s->failed, s->problem[0] != '\0');
        break;
    case WORKER_PART:
        on_part(b, (struct part *)(void *)l);
        break;
    }
}

struct setting {
    const struct client_ops *ops;
    struct rate rate;
    uint64_t duration_ns;
    uint32_t workers, connections;
    bool half; /* they own every other request only */
    uint64_t timeout_ns;
    uint64_t spin_ns;
};

static void boss_init(struct boss *b, const struct setting *set)
{
    struct errmsg msg = {{0}};
    *b = (struct boss){.loop = loop_wait_new(), .n = set->workers, .sum = snapshot_new()};
    ck_assert_int_eq(mailbox_new(b->loop, on_letter, b, &b->reports, &msg), ERR_OK);
    for (uint32_t k = 0; k < set->workers; k++) {
        struct share share = {set->half ? 2 : 1, 0, 1, set->workers, k};
        struct worker_config cfg = {.number = k,
                                    .ops = set->ops,
                                    .connections = set->connections,
                                    .timeout_ns = set->timeout_ns,
                                    .interval_ns = INTERVAL,
                                    .spin_ns = set->spin_ns,
                                    .reports = b->reports};
        ck_assert_int_eq(
            schedule_init(&cfg.schedule, &set->rate, &share, set->duration_ns, UINT64_MAX, &msg),
            ERR_OK);
        ck_assert_msg(worker_start(&cfg, &b->workers[k], &msg) == ERR_OK, "%s", msg.text);
    }
}

static void boss_arm(struct boss *b)
{
    LOOP_WAIT(b->loop, b->prepared == b->n);
    b->t0_ns = clock_mono_ns() + 20 * MS;
    for (uint32_t k = 0; k < b->n; k++)
        worker_arm(b->workers[k], b->t0_ns);
}

static void boss_halt(struct boss *b, uint64_t drain_ns)
{
    for (uint32_t k = 0; k < b->n; k++)
        worker_halt(b->workers[k], drain_ns);
}

static void boss_fini(struct boss *b)
{
    for (uint32_t k = 0; k < b->n; k++)
        worker_join(b->workers[k]);
    b->discard = true;
    mailbox_free(b->reports);
    for (uint32_t k = 0; k < b->n; k++)
        worker_free(b->workers[k]);
    snapshot_free(b->sum);
    loop_free(b->loop);
}

/* The added parts; the ledger must hold. */
static struct counters ledger(const struct boss *b)
{
    struct counters c = snapshot_counters(b->sum);
    struct errmsg msg = {{0}};
    ck_assert_msg(counters_check(&c, &msg) == ERR_OK, "%s", msg.text);
    struct hist *h = snapshot_hist(b->sum, HIST_CORRECTED);
    ck_assert_uint_eq(hist_count(h), c.completed);
    hist_free(h);
    return c;
}

static const struct setting two_thousand = {.rate = {2000, 1},
                                            .duration_ns = 500 * MS,
                                            .workers = WORKERS,
                                            .connections = 8,
                                            .timeout_ns = 5 * NS_PER_SEC};

START_TEST(test_a_run_adds_up)
{
    struct setting set = two_thousand;
    set.ops = echo_client_ops();
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == b.n);
    struct counters c = ledger(&b);
    ck_assert_uint_eq(b.started, b.n);
    ck_assert_uint_eq(c.scheduled, 1000);
    ck_assert_uint_eq(c.ok, 1000);
    ck_assert_uint_eq(c.connects, 3 * 8);
    ck_assert_uint_eq(b.sum->status[200], 1000);
    ck_assert_uint_gt(b.parts, WORKERS);
    ck_assert_uint_ge(b.to_ns, 499 * MS);
    struct hist *h = snapshot_hist(b.sum, HIST_UNCORRECTED);
    ck_assert_uint_ge(hist_min(h), ECHO_DELAY_NS);
    hist_free(h);
    boss_fini(&b);
}
END_TEST

/* A worker that never sleeps, one that does as it sees fit, one that never spins: all serve their
 * sockets, and what was spent on it is told. The echo comes in the middle of a spin. */
START_TEST(test_spinning_serves_sockets)
{
    static const uint64_t settings[] = {NS_PER_SEC, UINT64_MAX, 0};
    struct setting set = two_thousand;
    set.ops = echo_client_ops();
    set.rate = (struct rate){300, 1};
    set.workers = 1;
    set.spin_ns = settings[_i];
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == b.n);
    struct counters c = ledger(&b);
    ck_assert_uint_eq(c.ok, 150);
    ck_assert_uint_gt(b.sum->context_switches, 0);
    uint64_t spun = b.sum->spin_ns;
    ck_assert(_i == 0 ? spun > 50 * MS : _i == 1 ? spun > 0 && spun < 60 * MS : spun == 0);
    boss_fini(&b);
}
END_TEST

/* A server that never answers, a run without an end: halts at once, or after the drain. */
START_TEST(test_halts_in_time)
{
    static const uint64_t drains[] = {0, 100 * MS};
    struct setting set = two_thousand;
    set.ops = client_null_ops();
    set.duration_ns = NS_NEVER;
    set.timeout_ns = 3600 * NS_PER_SEC;
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.parts >= 2 * b.n);
    uint64_t drain = drains[_i], asked = clock_mono_ns();
    boss_halt(&b, drain);
    boss_halt(&b, drain);
    LOOP_WAIT(b.loop, b.finals == b.n);
    ck_assert_uint_ge(clock_mono_ns() - asked, drain);
    ck_assert_uint_lt(clock_mono_ns() - asked, drain + 2 * NS_PER_SEC);
    struct counters c = ledger(&b);
    ck_assert_uint_eq(c.unfinished, 3 * 8);
    ck_assert_uint_eq(c.sent, 3 * 8);
    ck_assert_uint_eq(c.unsent_stopped, c.scheduled - 3 * 8);
    ck_assert_uint_ge(c.scheduled, 150);
    boss_halt(&b, 0); /* nobody listens any more, nothing happens */
    boss_fini(&b);
}
END_TEST

/* The figures of a frozen server go on: what became due is counted in its interval. */
START_TEST(test_frozen_server_still_counts_what_is_due)
{
    struct setting set = two_thousand;
    set.ops = client_null_ops();
    set.duration_ns = NS_NEVER;
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.next[0] > 0 && b.next[1] > 0 && b.next[2] > 0);
    uint64_t intervals = b.next[0] + b.next[1] + b.next[2];
    struct counters c = snapshot_counters(b.sum);
    /* 100 an interval for all three: 33.3 each. */
    ck_assert_uint_ge(3 * c.scheduled + 9, 100 * intervals);
    ck_assert_uint_le(3 * c.scheduled, 100 * intervals + 9);
    boss_halt(&b, 0);
    LOOP_WAIT(b.loop, b.finals == b.n);
    ledger(&b);
    boss_fini(&b);
}
END_TEST

/* Nobody halts them: they do it themselves, at the latest instant they were told. */
START_TEST(test_a_lease_ends_the_load)
{
    struct setting set = two_thousand;
    set.ops = client_null_ops();
    set.duration_ns = NS_NEVER;
    set.timeout_ns = 3600 * NS_PER_SEC;
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    uint64_t until = b.t0_ns + 150 * MS;
    for (uint32_t k = 0; k < b.n; k++) {
        worker_lease(b.workers[k], b.t0_ns + 50 * MS);
        worker_lease(b.workers[k], until);
    }
    LOOP_WAIT(b.loop, b.finals == b.n);
    ck_assert_uint_ge(clock_mono_ns(), until);
    ck_assert_uint_eq(b.leases_lost, b.n);
    ck_assert_uint_ge(b.to_ns, 150 * MS);
    struct counters c = ledger(&b);
    ck_assert_uint_gt(c.unsent_stopped, 0);
    ck_assert_uint_eq(c.unfinished, c.sent);
    boss_fini(&b);
}
END_TEST

static void boss_reshare(struct boss *b, uint64_t from)
{
    b->reshared = b->not_reshared = 0;
    for (uint32_t k = 0; k < b->n; k++) {
        struct share share = {1, 0, 1, b->n, k};
        worker_reshare(b->workers[k], from, &share);
    }
    LOOP_WAIT(b->loop, b->reshared == b->n);
}

/* The second half of the run is theirs alone; what has passed cannot be taken over. */
START_TEST(test_workers_take_over)
{
    struct setting set = two_thousand;
    set.ops = echo_client_ops();
    set.half = true;
    set.duration_ns = 2 * NS_PER_SEC;
    struct boss b;
    boss_init(&b, &set);
    boss_arm(&b);
    boss_reshare(&b, 2000);
    ck_assert_uint_eq(b.not_reshared, 0);
    LOOP_WAIT(b.loop, clock_mono_ns() > b.t0_ns + 1100 * MS);
    boss_reshare(&b, 2100);
    ck_assert_uint_eq(b.not_reshared, b.n);
    LOOP_WAIT(b.loop, b.finals == b.n);
    ck_assert_uint_eq(ledger(&b).scheduled, 1000 + 2000);
    boss_reshare(&b, UINT64_MAX);
    ck_assert_uint_eq(b.not_reshared, b.n);
    boss_fini(&b);
}
END_TEST

START_TEST(test_halt_before_arm)
{
    struct setting set = two_thousand;
    set.ops = echo_client_ops();
    struct boss b;
    boss_init(&b, &set);
    boss_halt(&b, NS_PER_SEC);
    LOOP_WAIT(b.loop, b.finals == b.n);
    ck_assert_uint_eq(b.started, 0);
    ck_assert_uint_eq(ledger(&b).scheduled, 0);
    boss_fini(&b);
}
END_TEST

/* Freed at any moment, whatever is under way. */
START_TEST(test_free_at_any_moment)
{
    struct setting set = two_thousand;
    uint64_t rng = check_seed();
    for (int round = 0; round < 8; round++) {
        set.ops = round % 2 == 0 ? echo_client_ops() : client_null_ops();
        struct boss b;
        boss_init(&b, &set);
        if (round >= 2) {
            boss_arm(&b);
            uint64_t until = clock_mono_ns() + check_below(&rng, 80 * MS);
            LOOP_WAIT(b.loop, clock_mono_ns() >= until);
        }
        if (round >= 6)
            boss_halt(&b, 10 * MS);
        boss_fini(&b);
    }
}
END_TEST

/* The main loop keeps the parts for itself: the worker goes on in the current one. */
START_TEST(test_slow_main_loop_loses_nothing)
{
    struct setting set = two_thousand;
    set.workers = 1;
    set.ops = echo_client_ops();
    struct boss b;
    boss_init(&b, &set);
    b.hold = true;
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.n_held == RECORDER_PARTS - 1);
    uint64_t until = b.t0_ns + (b.next[0] + 2) * INTERVAL + 10 * MS;
    LOOP_WAIT(b.loop, clock_mono_ns() > until);
    ck_assert_uint_eq(b.n_held, RECORDER_PARTS - 1);
    b.hold = false;
    give_held(&b);
    LOOP_WAIT(b.loop, b.finals == 1);
    ck_assert_uint_ge(b.coarse, 1);
    ck_assert_uint_eq(ledger(&b).ok, 1000);
    boss_fini(&b);
}
END_TEST

START_TEST(test_start_says_what_is_wrong)
{
    struct boss b = {.loop = loop_wait_new()};
    struct worker *w = NULL;
    struct errmsg msg = {{0}};
    struct worker_config cfg = {.ops = client_null_ops(), .interval_ns = INTERVAL};
    ck_assert_int_eq(worker_start(&cfg, &w, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "connections"));
    ck_assert_ptr_null(w);
    worker_free(NULL);
    loop_free(b.loop);
}
END_TEST

/* The blocked signals of the thread of that name, as the kernel prints them. */
static bool blocked_signals(const char *name, uint64_t *mask)
{
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (const struct dirent *d = readdir(tasks); d != NULL; d = readdir(tasks)) {
        char path[320], line[128], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/status", d->d_name);
        FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f == NULL)
            continue;
        while (fgets(line, sizeof line, f) != NULL) {
            sscanf(line, "Name: %31s", comm);
            if (strcmp(comm, name) == 0 && sscanf(line, "SigBlk: %" SCNx64, mask) == 1)
                found = true;
        }
        fclose(f);
    }
    closedir(tasks);
    return found;
}

START_TEST(test_the_thread_is_named_and_takes_no_signals)
{
    struct setting set = two_thousand;
    set.ops = echo_client_ops();
    struct boss b;
    boss_init(&b, &set);
    LOOP_WAIT(b.loop, b.prepared == b.n);
    uint64_t mask = 0;
    ck_assert(blocked_signals("hammer-w2", &mask));
    static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        ck_assert((mask >> (signals[i] - 1) & 1) != 0);
    sigset_t mine; /* and the main thread still takes them */
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    ck_assert_int_eq(sigismember(&mine, SIGTERM), 0);
    boss_fini(&b);
}
END_TEST

/* --- allocations ------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT_ALLOCATIONS 0
#else
#define COUNT_ALLOCATIONS 1
static atomic_ullong allocations; /* of other threads than the test's own: check allocates */
static _Thread_local bool not_counted;

static void count_allocation(void)
{
    if (!not_counted)
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    count_allocation();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count_allocation();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count_allocation();
    return __libc_realloc(p, n);
}

/* 100 000 requests, from the start of the worker to its end. */
START_TEST(test_steady_state_does_not_allocate)
{
    struct setting set = {.ops = echo_client_ops(),
                          .rate = {100000, 1},
                          .duration_ns = NS_PER_SEC,
                          .workers = 1,
                          .connections = 50,
                          .timeout_ns = 10 * NS_PER_SEC};
    struct boss b;
    void *volatile seen = malloc(1);
    ck_assert_msg(atomic_load(&allocations) > 0, "allocations are not seen at all");
    free(seen);
    not_counted = true;
    unsigned long long before = atomic_load(&allocations);
    boss_init(&b, &set);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == 1);
    unsigned long long n = atomic_load(&allocations) - before;
    ck_assert_uint_eq(ledger(&b).ok, 100000);
    ck_assert_msg(n < 20, "%llu allocations", n);
    boss_fini(&b);
}
END_TEST
#endif

int main(void)
{
    Suite *s = suite_create("worker");
    TCase *tc = tcase_create("worker");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_a_run_adds_up);
    tcase_add_loop_test(tc, test_spinning_serves_sockets, 0, 3);
    tcase_add_loop_test(tc, test_halts_in_time, 0, 2);
    tcase_add_test(tc, test_frozen_server_still_counts_what_is_due);
    tcase_add_test(tc, test_a_lease_ends_the_load);
    tcase_add_test(tc, test_workers_take_over);
    tcase_add_test(tc, test_halt_before_arm);
    tcase_add_test(tc, test_free_at_any_moment);
    tcase_add_test(tc, test_slow_main_loop_loses_nothing);
    tcase_add_test(tc, test_start_says_what_is_wrong);
    tcase_add_test(tc, test_the_thread_is_named_and_takes_no_signals);
#if COUNT_ALLOCATIONS
    tcase_add_test(tc, test_steady_state_does_not_allocate);
#endif
    suite_add_tcase(s, tc);
    return check_main(s);
}
