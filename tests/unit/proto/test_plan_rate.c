/* SPDX-License-Identifier: MIT */
/* How many requests a run has, whatever its rate and whoever sends them; --rate-per-agent. */
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

#define AGENTS_MAX 12

static void make_load(struct plan *p)
{
    plan_defaults(p);
    p->url = mem_strdup("http://127.0.0.1:8080/");
    p->method = mem_strdup("GET");
}

START_TEST(test_rate_per_agent)
{
    static const struct {
        struct rate one;
        uint64_t weights;
        struct rate whole;
    } rows[] = {
        {{100, 1}, 1, {100, 1}},   {{100, 1}, 7, {700, 1}},
        {{1, 3600}, 3600, {1, 1}}, {{1, 10}, 4, {2, 5}},
        {{1, 3600}, 7, {7, 3600}}, {{RATE_MAX, 1}, 1, {RATE_MAX, 1}},
        {{1, 3}, 100, {100, 3}},   {{1, RATE_DEN_MAX}, 1u << 31, {1, 4}},
    };
    struct errmsg msg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan p;
        make_load(&p);
        p.rate_per_agent = rows[i].one;
        ck_assert_int_eq(plan_settle_rate(&p, rows[i].weights, &msg), ERR_OK);
        ck_assert_uint_eq(p.rate.num, rows[i].whole.num);
        ck_assert_uint_eq(p.rate.den, rows[i].whole.den);
        ck_assert_int_eq(plan_check(&p, &msg), ERR_OK);
        plan_clear(&p);
    }
    struct plan p;
    make_load(&p);
    ck_assert_int_eq(plan_settle_rate(&p, 5, &msg), ERR_OK); /* not given */
    ck_assert_uint_eq(p.rate.num, 0);
    p.rate_per_agent = (struct rate){RATE_MAX / 2, 1};
    ck_assert_int_eq(plan_settle_rate(&p, 3, &msg), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(msg.text, "on agents of weight 3 in all: accepted is at most"));
    p.rate_set = true;
    p.rate = (struct rate){5, 1};
    ck_assert_int_eq(plan_settle_rate(&p, 1, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "with -r/--rate 5/s: accepted is one of the two"));
    p.n_stages = 1;
    ck_assert_int_eq(plan_settle_rate(&p, 1, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "with --stages: those are rates of the whole run"));
    plan_clear(&p);
}
END_TEST

static struct rate random_rate(uint64_t *rng)
{
    static const struct rate ends[] = {{1, 3600}, {1, 86400}, {RATE_MAX, 1}, {1, 7}, {0, 1}};
    if (check_below(rng, 2) == 0)
        return ends[check_below(rng, 5)];
    return (struct rate){1 + check_below(rng, UINT64_C(1) << check_below(rng, 29)),
                         1 + check_below(rng, 3600)};
}

static void random_load(uint64_t *rng, struct plan *p)
{
    make_load(p);
    p->rate = random_rate(rng);
    p->seed = check_random(rng);
    if (p->rate.num > 0 && check_below(rng, 3) == 0)
        p->arrivals = PLAN_POISSON;
    else if (p->rate.num > 0 && check_below(rng, 2) == 0)
        p->jitter = 1 + (uint32_t)check_below(rng, 1000000000);
    p->requests = 1 + check_below(rng, UINT64_C(1) << check_below(rng, 36));
    if (p->rate.num > 0 && check_below(rng, 2) == 0)
        p->duration_ns = NS_PER_MS + check_below(rng, UINT64_C(1) << (20 + check_below(rng, 24)));
    p->threads = (uint32_t)check_below(rng, 5);
}

/* As coordinator and agents do it: split, and every thread counts its own. */
static uint64_t count_all(uint64_t *rng, const struct plan *p)
{
    uint32_t weights[AGENTS_MAX], cores[AGENTS_MAX];
    struct plan_part parts[AGENTS_MAX];
    struct errmsg msg = {{0}};
    uint64_t sum = 0;
    size_t n = 1 + check_below(rng, AGENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        weights[i] = 1 + (uint32_t)check_below(rng, 9);
        cores[i] = (uint32_t)check_below(rng, 8);
    }
    ck_assert_msg(plan_split(p, weights, cores, n, parts, &msg) == ERR_OK, "%s", msg.text);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t t = 0; t < parts[i].threads; t++) {
            struct share share = {parts[i].total, parts[i].first, parts[i].weight, parts[i].threads,
                                  t};
            struct schedule s;
            ck_assert_int_eq(plan_schedule(p, &share, p->requests, &s, &msg), ERR_OK);
            sum += s.count;
        }
    }
    return sum;
}

/* -n to the request over any agents and threads, unless -d ends it before; then what is due. */
START_TEST(test_the_count_is_exact)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 3000; round++) {
        struct plan p;
        random_load(&rng, &p);
        struct share whole = {1, 0, 1, 1, 0};
        struct schedule single;
        ck_assert_int_eq(plan_schedule(&p, &whole, UINT64_MAX, &single, NULL), ERR_OK);
        uint64_t due = p.duration_ns == NS_NEVER ? UINT64_MAX : single.count;
        CHECK_MUST(count_all(&rng, &p) == (p.requests < due ? p.requests : due));
        if (due != UINT64_MAX && due > 0) {
            CHECK_MUST(plan_due_of_index(&p, due - 1) < p.duration_ns);
            CHECK_MUST(plan_due_of_index(&p, due) >= p.duration_ns);
        }
        plan_clear(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_rate");
    TCase *t = tcase_create("plan_rate");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_rate_per_agent);
    tcase_add_test(t, test_the_count_is_exact);
    suite_add_tcase(s, t);
    return check_main(s);
}
