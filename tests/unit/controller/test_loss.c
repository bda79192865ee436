/* SPDX-License-Identifier: MIT */
/* The ledger of lost agents against an owner of every single request, worked out by hand. */
#include "controller/run/loss.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define AGENTS_MAX   6
#define REQUESTS_MAX 3000
#define ROUNDS       400

struct world {
    uint64_t rng;
    struct plan plan;
    size_t n;
    struct loss_agent agents[AGENTS_MAX];
    uint64_t total;
    size_t owner[REQUESTS_MAX];
};

static void make_parts(struct world *w)
{
    uint32_t total = 0;
    w->n = 1 + check_below(&w->rng, AGENTS_MAX);
    for (size_t i = 0; i < w->n; i++) {
        w->agents[i] = (struct loss_agent){.taken_over_from = UINT64_MAX};
        if (w->n > 1 && check_below(&w->rng, 8) == 0)
            continue; /* left out */
        w->agents[i].part.weight = 1 + (uint32_t)check_below(&w->rng, 3);
        w->agents[i].part.first = total;
        total += w->agents[i].part.weight;
    }
    for (size_t i = 0; i < w->n; i++)
        w->agents[i].part.total = total;
}

/* Requests from..to by the agents that are left, in turn. */
static void own(struct world *w, const bool *left, uint64_t from, uint64_t to)
{
    size_t turn[AGENTS_MAX * 3], total = 0;
    for (size_t i = 0; i < w->n; i++)
        for (uint32_t k = 0; left[i] && k < w->agents[i].part.weight; k++)
            turn[total++] = i;
    for (uint64_t i = from; i < to && total > 0; i++)
        w->owner[i] = turn[(i - from) % total];
}

/* Agents are lost one after the other; the share of some of them is taken over. */
static void lose(struct world *w)
{
    bool left[AGENTS_MAX];
    uint64_t from = 0;
    for (size_t i = 0; i < w->n; i++)
        left[i] = w->agents[i].part.weight > 0;
    for (size_t i = 0; i < w->n; i++) {
        struct loss_agent *a = &w->agents[i];
        if (!left[i] || check_below(&w->rng, 2) == 0)
            continue;
        a->lost = true;
        a->at_ns = check_below(&w->rng, w->plan.duration_ns);
        if (check_below(&w->rng, 3) == 0)
            continue; /* nobody takes over */
        uint64_t at = from + check_below(&w->rng, w->total - from);
        own(w, left, from, at);
        left[i] = false;
        a->taken_over_from = from = at;
    }
    own(w, left, from, w->total);
}

static void world_make(struct world *w)
{
    w->plan = (struct plan){.rate = {1 + check_below(&w->rng, 500), 1 + check_below(&w->rng, 3)},
                            .duration_ns = (1 + check_below(&w->rng, 5000)) * NS_PER_MS,
                            .requests = UINT64_MAX};
    if (check_below(&w->rng, 3) == 0)
        w->plan.requests = 1 + check_below(&w->rng, 500);
    if (check_below(&w->rng, 2) == 0) { /* a step, then a ramp up to the same rate */
        w->plan.n_stages = 2;
        w->plan.stages[0] = (struct stage){w->plan.duration_ns / 3 + 1, w->plan.rate, w->plan.rate};
        w->plan.stages[1] = (struct stage){
            w->plan.duration_ns - w->plan.stages[0].duration_ns, {0, 1}, w->plan.rate};
    }
    make_parts(w);
    w->total = loss_missing(&w->plan, 0);
    ck_assert_uint_le(w->total, REQUESTS_MAX);
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        w->owner[i] = SIZE_MAX;
    lose(w);
}

static uint64_t count_owned(const struct world *w, size_t agent)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < w->total; i++)
        n += w->owner[i] == agent;
    return n;
}

static void check_schedules(struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct schedule s;
        if (w->agents[i].part.weight == 0)
            continue;
        ck_assert_int_eq(loss_schedule(&w->plan, w->agents, w->n, i, &s), ERR_OK);
        CHECK_MUST(s.count == count_owned(w, i));
        uint64_t k = 0;
        for (uint64_t index = 0; index < w->total; index++)
            if (w->owner[index] == i)
                CHECK_MUST(schedule_index(&s, k++) == index);
    }
}

/* Nobody is left at the end of some worlds: then only those that are count as the others. */
static bool anyone_left(const struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->agents[i].part.weight > 0 && !w->agents[i].lost)
            return true;
    return false;
}

static void schedule_some(struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct loss_agent *a = &w->agents[i];
        uint64_t all = count_owned(w, i);
        a->scheduled = a->lost ? check_below(&w->rng, all + 1) : all;
    }
}

/* known + missing + the others' = the schedule. */
static void check_union(struct world *w)
{
    uint64_t horizon = loss_horizon(&w->plan, w->agents, w->n), sum = 0;
    ck_assert_uint_eq(horizon, w->plan.duration_ns);
    for (size_t i = 0; i < w->n; i++) {
        struct loss_agent *a = &w->agents[i];
        struct loss l = {0};
        sum += a->scheduled;
        if (!a->lost)
            continue;
        loss_assess(&w->plan, w->agents, w->n, i, horizon, &l);
        ck_assert(l.any && l.at_ns == a->at_ns);
        CHECK_MUST(l.count == count_owned(w, i) - a->scheduled);
        uint64_t seen = 0;
        for (uint64_t k = 0; k < w->total; k++) {
            bool known = w->owner[k] == i && seen++ < a->scheduled;
            bool inside = l.count > 0 && k >= l.first_index && k <= l.last_index;
            CHECK_MUST(w->owner[k] != i || inside == !known);
        }
        CHECK_MUST(l.count == 0 || (w->owner[l.first_index] == i && w->owner[l.last_index] == i));
        sum += l.count;
    }
    ck_assert_uint_eq(sum, w->total);
}

START_TEST(test_nothing_is_counted_twice_or_forgotten)
{
    struct world *w = mem_calloc(1, sizeof *w);
    w->rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        world_make(w);
        check_schedules(w);
        schedule_some(w);
        if (anyone_left(w))
            check_union(w);
    }
    mem_free(w);
}
END_TEST

/* 100/s over two agents, half each; the second is lost at 3.2 s, known until 2 s. */
static void two_agents(struct plan *p, struct loss_agent a[2])
{
    *p = (struct plan){.rate = {100, 1}, .duration_ns = 10 * NS_PER_SEC, .requests = UINT64_MAX};
    for (uint32_t i = 0; i < 2; i++)
        a[i] = (struct loss_agent){.part = {.total = 2, .first = i, .weight = 1},
                                   .taken_over_from = UINT64_MAX};
    a[0].scheduled = 500;
    a[1].lost = true;
    a[1].at_ns = 3200 * NS_PER_MS;
    a[1].scheduled = 100;
}

START_TEST(test_the_others_go_on)
{
    struct plan p;
    struct loss_agent a[2];
    struct loss l = {0};
    two_agents(&p, a);
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 400);
    ck_assert_uint_eq(l.first_index, 201);
    ck_assert_uint_eq(l.last_index, 999);
    ck_assert_double_eq(l.share, 0.5);
    ck_assert_uint_eq(l.taken_ns, UINT64_MAX);
    ck_assert_uint_eq(loss_missing(&p, 600), 400);
}
END_TEST

/* Only what was due until the others stopped is missing. */
START_TEST(test_the_others_are_stopped)
{
    struct plan p;
    struct loss_agent a[2];
    struct loss l = {0};
    two_agents(&p, a);
    a[0].scheduled = 163; /* until 3.24 s */
    ck_assert_uint_eq(loss_horizon(&p, a, 2), 3240 * NS_PER_MS + 1);
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 62);
    ck_assert_uint_eq(l.last_index, 323);
    a[0].lost = true; /* nobody is left: until the last loss */
    a[0].at_ns = 4 * NS_PER_SEC;
    ck_assert_uint_eq(loss_horizon(&p, a, 2), 4 * NS_PER_SEC);
}
END_TEST

START_TEST(test_the_others_take_over)
{
    struct plan p;
    struct loss_agent a[2];
    struct loss l = {0};
    two_agents(&p, a);
    a[1].taken_over_from = 530;
    a[0].scheduled = 265 + 470;
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 165);
    ck_assert_uint_eq(l.last_index, 529);
    ck_assert_uint_eq(l.taken_ns, 5300 * NS_PER_MS);
    ck_assert_uint_eq(100 + l.count + a[0].scheduled, 1000);
    l.last_to_ns = 2 * NS_PER_SEC;
    ck_assert(!loss_lacks(&l, NS_PER_SEC, 2 * NS_PER_SEC));
    ck_assert(loss_lacks(&l, 2 * NS_PER_SEC, 3 * NS_PER_SEC));
    ck_assert(loss_lacks(&l, 5 * NS_PER_SEC, 6 * NS_PER_SEC));
    ck_assert(!loss_lacks(&l, 6 * NS_PER_SEC, 7 * NS_PER_SEC));
    /* It was stopped, and what became due meanwhile it counted when it woke up. */
    a[1].scheduled = 270;
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_uint_eq(l.overlap, 5);
    ck_assert_uint_eq(a[1].scheduled - l.overlap + a[0].scheduled, 1000);
}
END_TEST

START_TEST(test_it_had_done_all)
{
    struct plan p;
    struct loss_agent a[2];
    struct loss l = {0};
    two_agents(&p, a);
    a[1].scheduled = 500;
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_uint_eq(l.first_index, UINT64_MAX);
}
END_TEST

/* A closed loop bounded by time has no schedule to be missing of; one bounded by count has. */
START_TEST(test_closed_loop)
{
    struct plan p;
    struct loss_agent a[2];
    struct loss l = {0};
    two_agents(&p, a);
    p.rate = (struct rate){0, 1};
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, UINT64_MAX);
    ck_assert_uint_eq(loss_missing(&p, 600), UINT64_MAX);
    p.requests = 1000;
    loss_assess(&p, a, 2, 1, loss_horizon(&p, a, 2), &l);
    ck_assert_uint_eq(l.count, 400);
    ck_assert_uint_eq(loss_missing(&p, 600), 400);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loss");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_nothing_is_counted_twice_or_forgotten);
    tcase_add_test(t, test_the_others_go_on);
    tcase_add_test(t, test_the_others_are_stopped);
    tcase_add_test(t, test_the_others_take_over);
    tcase_add_test(t, test_it_had_done_all);
    tcase_add_test(t, test_closed_loop);
    return check_main(s);
}
