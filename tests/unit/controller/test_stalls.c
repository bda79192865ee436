/* SPDX-License-Identifier: MIT */
/* Simulated agents, request by request: what their intervals tell against what really happened. */
#include "controller/run/stalls.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define AGENTS_MAX 5
#define FREEZES    2
#define REQUESTS   20000
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 60 /* the same arithmetic, ten times as slow */
#else
#define ROUNDS 300
#endif

struct freeze {
    uint64_t begin_ns, end_ns;
    bool of[AGENTS_MAX]; /* by agent: does it see it? */
};

struct world {
    uint64_t rng;
    size_t agents, freezes;
    uint64_t rate[AGENTS_MAX]; /* per second */
    uint64_t interval_ns, length_ns, service_ns;
    uint64_t timeout_ns; /* 0 = none */
    double capacity;     /* of the rate; above 1 = enough */
    uint64_t slow_every; /* every so many answers take 20 intervals; 0 = none */
    bool coalesced;
    struct freeze freeze[FREEZES];
};

struct agent_run {
    size_t n;
    uint64_t due[REQUESTS], done[REQUESTS];
    bool lost[REQUESTS];
};

static uint64_t answered(const struct world *w, size_t agent, uint64_t k, uint64_t due_ns,
                         uint64_t *free_ns)
{
    uint64_t gap = NS_PER_SEC / w->rate[agent];
    uint64_t start = due_ns > *free_ns ? due_ns : *free_ns;
    uint64_t done = start + w->service_ns;
    if (w->capacity < 1)
        *free_ns = start + (uint64_t)((double)gap / w->capacity);
    if (w->slow_every > 0 && k % w->slow_every == 0)
        done += 20 * w->interval_ns;
    for (size_t i = 0; i < w->freezes; i++) {
        const struct freeze *f = &w->freeze[i];
        if (f->of[agent] && done >= f->begin_ns && done < f->end_ns) {
            done = f->end_ns + (done - f->begin_ns) / 1000; /* as fast as it can, in order */
        }
    }
    return done;
}

static void simulate(const struct world *w, size_t agent, struct agent_run *r)
{
    uint64_t free_ns = 0;
    r->n = 0;
    for (uint64_t k = 0; r->n < REQUESTS; k++) {
        uint64_t due = k * NS_PER_SEC / w->rate[agent] + agent * 12345;
        if (due >= w->length_ns)
            break;
        uint64_t done = answered(w, agent, k, due, &free_ns);
        bool lost = w->timeout_ns > 0 && done > due + w->timeout_ns;
        r->lost[r->n] = lost;
        r->due[r->n] = due;
        r->done[r->n++] = lost ? due + w->timeout_ns : done;
    }
}

static struct stall_fact fact_of(const struct agent_run *r, uint64_t from, uint64_t to)
{
    struct stall_fact f = {.from_ns = from, .to_ns = to, .intervals = 1};
    for (size_t i = 0; i < r->n && r->due[i] < to; i++) {
        f.due += r->due[i] >= from;
        f.waiting += r->done[i] >= to;
        if (r->done[i] < from || r->done[i] >= to)
            continue;
        f.lost += r->lost[i];
        f.completed += !r->lost[i];
        if (!r->lost[i] && r->done[i] - r->due[i] > f.max_ns)
            f.max_ns = r->done[i] - r->due[i];
    }
    return f;
}

static struct stall *run(struct world *w, size_t *n)
{
    struct stalls *s = stalls_new(w->agents, w->interval_ns);
    struct agent_run *r = mem_calloc(1, sizeof *r);
    uint64_t usual[AGENTS_MAX];
    for (size_t a = 0; a < w->agents; a++) {
        usual[a] = w->service_ns;
        simulate(w, a, r);
        for (uint64_t at = 0; at < w->length_ns;) {
            uint32_t m = w->coalesced ? 1 + (uint32_t)check_below(&w->rng, 3) : 1;
            struct stall_fact f = fact_of(r, at, at + m * w->interval_ns);
            f.intervals = m;
            stalls_add(s, a, &f);
            at += m * w->interval_ns;
        }
        struct stall_fact rest = fact_of(r, w->length_ns, 2 * w->length_ns);
        stalls_add(s, a, &rest);
    }
    struct stall *list = stalls_list(s, usual, n);
    ck_assert_uint_eq(stalls_dropped(s), 0);
    stalls_free(s);
    mem_free(r);
    return list;
}

static void world_make(struct world *w, uint64_t interval_ns)
{
    uint64_t rng = w->rng;
    *w = (struct world){.rng = rng, .interval_ns = interval_ns, .capacity = 2};
    w->agents = 1 + check_below(&w->rng, AGENTS_MAX);
    w->length_ns = 100 * interval_ns;
    w->service_ns = 1 + check_below(&w->rng, interval_ns / 4);
    uint64_t least = 8 * NS_PER_SEC / interval_ns; /* 8 requests an interval and agent */
    for (size_t a = 0; a < w->agents; a++)
        w->rate[a] = least + check_below(&w->rng, 15 * least);
}

static void add_freeze(struct world *w, uint64_t begin_ns, uint64_t length_ns)
{
    struct freeze *f = &w->freeze[w->freezes++];
    f->begin_ns = begin_ns;
    f->end_ns = begin_ns + length_ns;
    bool all = check_below(&w->rng, 2) == 0;
    size_t only = check_below(&w->rng, w->agents);
    for (size_t a = 0; a < w->agents; a++)
        f->of[a] = all || a == only || check_below(&w->rng, 3) == 0;
}

static void check_stall(const struct world *w, const struct stall *s, const struct freeze *f)
{
    uint64_t slack = w->interval_ns + w->interval_ns / 4;
    uint32_t seen_by = 0;
    double due = 0, length = (double)(f->end_ns - f->begin_ns);
    for (size_t a = 0; a < w->agents; a++) {
        seen_by += f->of[a];
        due += f->of[a] ? length * (double)w->rate[a] / 1e9 : 0;
    }
    ck_assert_msg(s->begin_ns + slack > f->begin_ns && s->begin_ns < f->begin_ns + slack,
                  "began at %lu, not %lu", s->begin_ns, f->begin_ns);
    ck_assert_msg(s->length_ns + slack > f->end_ns - f->begin_ns &&
                      s->length_ns < f->end_ns - f->begin_ns + slack,
                  "lasted %lu, not %lu", s->length_ns, f->end_ns - f->begin_ns);
    ck_assert_uint_eq(s->seen_by, seen_by);
    ck_assert_uint_eq(s->of, w->agents);
    ck_assert_uint_eq(s->n_agents, seen_by);
    for (uint32_t i = 0; i < s->n_agents; i++)
        ck_assert(f->of[s->agents[i]]);
    ck_assert_double_eq_tol((double)s->due, due, 0.35 * due + 2 * (double)w->agents);
    ck_assert(!s->open);
}

/* Begin and length within an interval, and who saw it; also where intervals came added together. */
START_TEST(test_each_freeze_is_found_and_nothing_else)
{
    struct world w = {.rng = check_seed()};
    for (int round = 0; round < ROUNDS; round++) {
        world_make(&w, 100 * NS_PER_MS);
        uint64_t at = (5 + check_below(&w.rng, 20)) * w.interval_ns;
        for (int i = 0; i < FREEZES; i++) {
            uint64_t length = (30 + check_below(&w.rng, 70)) * w.interval_ns / 10;
            w.coalesced = round % 4 == 0;
            length += w.coalesced ? 3 * w.interval_ns : 0;
            at += check_below(&w.rng, w.interval_ns);
            add_freeze(&w, at, length);
            at += length + 15 * w.interval_ns;
        }
        size_t n;
        struct stall *list = run(&w, &n);
        ck_assert_msg(n == w.freezes, "round %d: %zu stalls", round, n);
        for (size_t i = 0; i < n; i++)
            check_stall(&w, &list[i], &w.freeze[i]);
        mem_free(list);
    }
}
END_TEST

static void expect_none(struct world *w, const char *what)
{
    size_t n;
    struct stall *list = run(w, &n);
    ck_assert_msg(n == 0, "%s: %zu stalls, the first at %lu for %lu, %u of %u", what, n,
                  list[0].begin_ns, list[0].length_ns, list[0].seen_by, list[0].of);
    mem_free(list);
}

/* Slow is not stalled. */
START_TEST(test_no_stall_where_answers_come)
{
    struct world w = {.rng = check_seed()};
    for (int round = 0; round < ROUNDS; round++) {
        world_make(&w, 100 * NS_PER_MS);
        expect_none(&w, "healthy");
        w.slow_every = 3 + check_below(&w.rng, 100);
        expect_none(&w, "some slow answers");
        w.slow_every = 0;
        w.capacity = 0.5 + (double)check_below(&w.rng, 50) / 100;
        expect_none(&w, "overload");
        w.coalesced = true;
        expect_none(&w, "overload, intervals added together");
        w.capacity = 2;
        w.service_ns = (1 + check_below(&w.rng, 200)) * w.interval_ns / 10;
        w.coalesced = false;
        expect_none(&w, "long answers, none at first");
    }
}
END_TEST

/* Few requests: one of them on an interval's edge is no stall. */
START_TEST(test_low_rates)
{
    struct world w = {.rng = check_seed()};
    for (int round = 0; round < ROUNDS; round++) {
        world_make(&w, 100 * NS_PER_MS);
        for (size_t a = 0; a < w.agents; a++)
            w.rate[a] = 1 + check_below(&w.rng, 20);
        expect_none(&w, "low rate");
    }
}
END_TEST

/* Requests that time out meanwhile take nothing away from the length. */
START_TEST(test_timeouts_in_a_stall)
{
    struct world w = {.rng = check_seed()};
    for (int round = 0; round < ROUNDS; round++) {
        world_make(&w, 100 * NS_PER_MS);
        w.timeout_ns = (13 + check_below(&w.rng, 50)) * w.interval_ns / 10;
        add_freeze(&w, 2 * NS_PER_SEC + check_below(&w.rng, w.interval_ns), 2 * NS_PER_SEC);
        size_t n;
        struct stall *list = run(&w, &n);
        ck_assert_uint_eq(n, 1);
        check_stall(&w, &list[0], &w.freeze[0]);
        ck_assert_uint_lt(list[0].begin_ns, w.freeze[0].begin_ns + w.interval_ns / 2);
        mem_free(list);
    }
}
END_TEST

/* The server never comes back: at least as long as it was watched. */
START_TEST(test_until_the_end)
{
    struct world w = {.rng = check_seed()};
    world_make(&w, 100 * NS_PER_MS);
    w.timeout_ns = NS_PER_SEC;
    add_freeze(&w, 8 * NS_PER_SEC, 3600 * NS_PER_SEC);
    memset(w.freeze[0].of, true, sizeof w.freeze[0].of);
    size_t n;
    struct stall *list = run(&w, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert(list[0].open);
    ck_assert_uint_ge(list[0].length_ns, 2 * NS_PER_SEC - w.interval_ns);
    ck_assert_uint_eq(list[0].seen_by, w.agents);
    mem_free(list);
}
END_TEST

/* An agent that is gone, or has hardly any load, is no witness. */
START_TEST(test_only_witnesses_are_counted)
{
    struct stalls *s = stalls_new(3, NS_PER_SEC);
    for (uint64_t k = 0; k < 10; k++) {
        uint64_t from = k * NS_PER_SEC, to = from + NS_PER_SEC;
        bool stalled = k == 6 || k == 7;
        struct stall_fact f = {.from_ns = from,
                               .to_ns = to,
                               .intervals = 1,
                               .due = 100,
                               .completed = stalled  ? 0
                                            : k == 8 ? 300
                                                     : 100,
                               .waiting = k == 6   ? 100
                                          : k == 7 ? 200
                                                   : 0,
                               .max_ns = k == 8 ? 2 * NS_PER_SEC : NS_PER_MS};
        stalls_add(s, 0, &f);
        f.due = f.completed = k % 2;
        f.waiting = 0;
        stalls_add(s, 1, &f);
        f.due = f.completed = 100;
        if (k < 4)
            stalls_add(s, 2, &f);
    }
    size_t n;
    uint64_t usual[3] = {0};
    struct stall *list = stalls_list(s, usual, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(list[0].begin_ns, 6 * NS_PER_SEC);
    ck_assert_uint_eq(list[0].length_ns, 2 * NS_PER_SEC);
    ck_assert_uint_eq(list[0].due, 200);
    ck_assert_uint_eq(list[0].seen_by, 1);
    ck_assert_uint_eq(list[0].of, 1);
    mem_free(list);
    stalls_free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stalls");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 110);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_each_freeze_is_found_and_nothing_else);
    tcase_add_test(t, test_no_stall_where_answers_come);
    tcase_add_test(t, test_low_rates);
    tcase_add_test(t, test_timeouts_in_a_stall);
    tcase_add_test(t, test_until_the_end);
    tcase_add_test(t, test_only_witnesses_are_counted);
    return check_main(s);
}
