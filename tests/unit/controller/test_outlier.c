/* SPDX-License-Identifier: MIT */
/* How often a difference is seen where there is none, and where there is one: simulated runs with a
 * fixed seed, so that the figures in docs/measuring.md are these. */
#include "controller/run/outlier.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define SEED       20261130
#define AGENTS_MAX 8
#define RUNS       150 /* fewer where everything is slow */
#define INTERVALS  40

/* Latencies of one agent: lognormal around the median, a share of them slower. */
struct kind {
    double median_us, sigma;
    double slow_share, slow_factor;
};

struct world {
    size_t agents;
    uint64_t samples; /* an interval and agent */
    bool stalls;      /* of the server: all agents have them in the same intervals */
    bool astray;      /* each agent's path has its own speed in each interval */
    bool wander;      /* the server's speed changes from interval to interval */
    struct kind usual, odd;
    size_t odd_agents; /* the first so many */
};

static int runs(void)
{
    return process_sanitized() ? RUNS / 10 : RUNS;
}

static double uniform(uint64_t *rng)
{
    return ((double)(check_random(rng) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *rng)
{
    return sqrt(-2 * log(uniform(rng))) * cos(2 * acos(-1) * uniform(rng));
}

static uint64_t latency(const struct kind *k, double speed, uint64_t *rng)
{
    double us = k->median_us * speed * exp(k->sigma * normal(rng));
    if (uniform(rng) < k->slow_share)
        us *= k->slow_factor;
    return (uint64_t)(us * 1000);
}

/* In a stall the requests that were due waited for its rest: a fifth of an interval's. */
static void interval(struct outliers *o, const struct world *w, size_t agent, uint64_t k,
                     double speed, bool stalled, struct hist *h, uint64_t *rng)
{
    const struct kind *kind = agent < w->odd_agents ? &w->odd : &w->usual;
    hist_reset(h);
    for (uint64_t i = 0; i < w->samples; i++) {
        uint64_t v = latency(kind, speed, rng);
        if (stalled && i < w->samples / 5)
            v += i * 200 * NS_PER_MS / (w->samples / 5);
        hist_record(h, v, 1);
    }
    outliers_add(o, agent, k * NS_PER_SEC, h);
}

static void run(const struct world *w, struct outlier found[AGENTS_MAX], uint64_t *rng)
{
    struct outliers *o = outliers_new(w->agents, NS_PER_SEC);
    struct hist *h = hist_new_default();
    for (uint64_t k = 0; k < INTERVALS; k++) {
        double speed = w->wander ? exp(0.3 * normal(rng)) : 1;
        bool stalled = w->stalls && check_below(rng, 5) == 0;
        for (size_t a = 0; a < w->agents; a++) {
            double own = w->astray ? exp(0.8 * normal(rng)) : 1;
            interval(o, w, a, k, speed * own, stalled, h, rng);
        }
    }
    outliers_find(o, found);
    hist_free(h);
    outliers_free(o);
}

static size_t named(const struct outlier *found, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t a = from; a < to; a++)
        n += found[a].any;
    return n;
}

static const struct kind calm = {2000, 0.4, 0, 1}, wild = {600, 1.0, 0.02, 20};

/* Runs without a difference in which an agent was named. At most 1 % by design, and chance has its
 * share. */
static void check_false_alarms(struct world w, const char *what)
{
    uint64_t rng = SEED;
    size_t alarms = 0, tested = 0;
    for (int i = 0; i < runs(); i++) {
        struct outlier found[AGENTS_MAX];
        run(&w, found, &rng);
        alarms += named(found, 0, w.agents) > 0;
        tested += found[0].tested;
    }
    printf("%s: %zu false alarms in %d runs\n", what, alarms, runs());
    ck_assert_uint_eq(tested, (size_t)runs());
    ck_assert_uint_le(alarms, 4);
}

START_TEST(test_false_alarms)
{
    check_false_alarms((struct world){3, 50, false, false, false, calm, calm, 0}, "3 agents, calm");
    check_false_alarms((struct world){3, 50, true, false, true, wild, wild, 0}, "3 agents, wild");
    check_false_alarms((struct world){8, 120, true, false, false, wild, wild, 0}, "8 agents, wild");
    check_false_alarms((struct world){3, 50, false, true, false, calm, calm, 0},
                       "3 agents, astray");
    check_false_alarms((struct world){2, 30, true, false, true, wild, wild, 0}, "2 agents, wild");
}
END_TEST

/* Runs in which exactly the odd agents were named. */
static void check_power(struct world w, const char *what, double percentile)
{
    uint64_t rng = SEED;
    size_t right = 0;
    for (int i = 0; i < runs() / 2; i++) {
        struct outlier found[AGENTS_MAX];
        run(&w, found, &rng);
        bool exact = named(found, 0, w.odd_agents) == w.odd_agents &&
                     named(found, w.odd_agents, w.agents) == 0;
        right += exact && (percentile <= 0 || found[0].percentile >= percentile);
        ck_assert(!found[0].any || found[0].here_ns > found[0].others_ns);
    }
    printf("%s: named, and nobody else, in %zu of %d runs\n", what, right, runs() / 2);
    fflush(stdout);
    ck_assert_uint_ge(10 * right, 9 * (size_t)(runs() / 2));
}

START_TEST(test_power)
{
    struct kind slower = calm, tail = calm, wilder = wild;
    slower.median_us = 2800;
    tail.slow_share = 0.05;
    tail.slow_factor = 5;
    wilder.median_us = 1000;
    check_power((struct world){3, 50, false, false, false, calm, slower, 1}, "40 % slower, 3", 0);
    check_power((struct world){8, 50, true, false, true, calm, slower, 1}, "40 % slower, 8, stalls",
                0);
    check_power((struct world){8, 200, false, false, false, calm, tail, 1},
                "5 % are 5 times slower", 90);
    check_power((struct world){5, 100, true, false, true, wild, wilder, 1}, "67 % slower, wild", 0);
    check_power((struct world){8, 50, false, false, false, calm, slower, 2}, "two of 8", 0);
}
END_TEST

/* A difference that is certain but small is no news. */
START_TEST(test_small_differences_are_not_named)
{
    struct kind near = calm, tiny = {50, 0.3, 0, 1}, tiny_odd = {80, 0.3, 0, 1};
    near.median_us = 2300;
    struct outlier found[AGENTS_MAX];
    uint64_t rng = SEED;
    run(&(struct world){4, 1000, false, false, false, calm, near, 1}, found, &rng);
    ck_assert_uint_eq(named(found, 0, 4), 0);
    run(&(struct world){4, 1000, false, false, false, tiny, tiny_odd, 1}, found, &rng);
    ck_assert_uint_eq(named(found, 0, 4), 0);
}
END_TEST

/* Which of two is odd nobody can tell. */
START_TEST(test_two_that_differ)
{
    struct kind slower = calm;
    slower.median_us = 4000;
    struct outlier found[AGENTS_MAX];
    uint64_t rng = SEED;
    run(&(struct world){2, 100, false, false, false, calm, slower, 1}, found, &rng);
    ck_assert(found[0].any && found[1].any && found[0].pair && found[1].pair);
    ck_assert_uint_eq(found[0].here_ns, found[1].others_ns);
    ck_assert_uint_gt(found[0].here_ns, found[1].here_ns);
    ck_assert_double_eq_tol((double)found[0].here_ns / (double)found[1].here_ns, 2, 0.3);
}
END_TEST

/* One agent, few samples, short runs: not tested, nothing named. */
START_TEST(test_too_little)
{
    struct outlier found[AGENTS_MAX];
    uint64_t rng = SEED;
    run(&(struct world){1, 100, false, false, false, calm, calm, 0}, found, &rng);
    ck_assert(!found[0].any);
    run(&(struct world){3, 1, false, false, false, calm, wild, 1}, found, &rng);
    ck_assert(!found[0].any && !found[0].tested);
    struct outliers *o = outliers_new(3, NS_PER_SEC);
    outliers_add(o, 0, 0, NULL);
    outliers_find(o, found);
    ck_assert(!found[0].any && !found[0].tested);
    outliers_free(o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("outlier");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 110);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_false_alarms);
    tcase_add_test(t, test_power);
    tcase_add_test(t, test_small_differences_are_not_named);
    tcase_add_test(t, test_two_that_differ);
    tcase_add_test(t, test_too_little);
    return check_main(s);
}
