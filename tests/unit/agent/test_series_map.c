/* SPDX-License-Identifier: MIT */
#include "agent/engine/series_map.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"

static struct request requests[] = {{.name = 0}, {.name = 1}, {.name = 1}};
static char *names[] = {"a", "b"};
static const struct reqset two = {.n = 3,
                                  .requests = requests,
                                  .pick = {.order = PLAN_ORDER_SEQUENTIAL, .n = 3},
                                  .n_names = 2,
                                  .names = names};

static struct plan staged(uint32_t n, uint64_t each_ns, uint64_t warmup_ns)
{
    struct plan p;
    plan_defaults(&p);
    p.n_stages = n;
    for (uint32_t i = 0; i < n; i++)
        p.stages[i] = (struct stage){each_ns, {1, 1}, {1, 1}};
    p.warmup_ns = warmup_ns;
    return p;
}

START_TEST(test_one_row)
{
    struct plan p;
    struct series_map m;
    plan_defaults(&p);
    ck_assert_int_eq(series_map_init(&m, &p, NULL, NULL), ERR_OK);
    ck_assert_uint_eq(m.n, 1);
    ck_assert_uint_eq(series_map_one()->n, 1);
    const struct series_map *both[] = {&m, series_map_one()};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(series_map_row(both[i], 7, 0), 0);
        ck_assert_uint_eq(series_map_find(both[i], 7, UINT64_MAX - 1), 0);
        ck_assert_uint_eq(series_map_until(both[i], 0), NS_NEVER);
        ck_assert_uint_eq(series_map_stage(both[i], 0), 0);
        ck_assert_str_eq(series_map_name(both[i], 0), "");
        ck_assert_uint_eq(both[i]->warmup, UINT32_MAX);
    }
}
END_TEST

/* Three stages of 10 ns, two names, a warm-up of 12 ns: that one is last, whatever it covers. */
START_TEST(test_stages_names_and_warmup)
{
    struct plan p = staged(3, 10, 12);
    struct series_map m;
    ck_assert_int_eq(series_map_init(&m, &p, &two, NULL), ERR_OK);
    ck_assert_uint_eq(m.n, 7);
    ck_assert_uint_eq(m.warmup, 6);
    ck_assert_uint_eq(series_map_row(&m, 0, 0), 6);
    ck_assert_uint_eq(series_map_row(&m, 1, 11), 6);
    ck_assert_uint_eq(series_map_until(&m, 3), 12);
    ck_assert_uint_eq(series_map_row(&m, 3, 12), 2); /* stage 1, "a" */
    ck_assert_uint_eq(series_map_row(&m, 4, 19), 3);
    ck_assert_uint_eq(series_map_until(&m, 12), 20);
    ck_assert_uint_eq(series_map_row(&m, 5, 20), 5);
    ck_assert_uint_eq(series_map_row(&m, 6, 1000), 4); /* nothing is due behind the last stage */
    ck_assert_uint_eq(series_map_until(&m, 20), NS_NEVER);
    ck_assert_uint_eq(series_map_stage(&m, 6), SERIES_STAGE_WARMUP);
    ck_assert_str_eq(series_map_name(&m, 6), "");
    ck_assert_uint_eq(series_map_stage(&m, 5), 2);
    ck_assert_str_eq(series_map_name(&m, 5), "b");
    ck_assert_str_eq(series_map_name(&m, 4), "a");
}
END_TEST

/* The same as looking through all stages. */
START_TEST(test_any_number_of_stages)
{
    uint64_t rng = check_seed();
    for (uint32_t n = 1; n <= PROFILE_STAGES_MAX; n++) {
        struct plan p = staged(n, 1 + check_below(&rng, 1000), 0);
        struct series_map m;
        ck_assert_int_eq(series_map_init(&m, &p, NULL, NULL), ERR_OK);
        for (int i = 0; i < 200; i++) {
            uint64_t ns = check_below(&rng, n * p.stages[0].duration_ns + 10);
            ck_assert_uint_eq(series_map_row(&m, 0, ns), plan_stage_at(&p, ns));
            uint64_t end = series_map_until(&m, ns);
            ck_assert(ns < end);
            ck_assert(end == NS_NEVER || plan_stage_at(&p, end) == plan_stage_at(&p, ns) + 1);
        }
    }
}
END_TEST

START_TEST(test_too_many_rows)
{
    struct series_map m;
    struct errmsg msg = {{0}};
    struct plan p = staged(32, 10, 0);
    ck_assert_int_eq(series_map_init(&m, &p, &two, &msg), ERR_OK);
    ck_assert_uint_eq(m.n, 64);
    p.warmup_ns = 5;
    ck_assert_int_eq(series_map_init(&m, &p, &two, &msg), ERR_INVALID);
    ck_assert_str_eq(msg.text, "32 stages x 2 request names + the warm-up = 65 rows of figures: "
                               "accepted is at most 64");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("series_map");
    TCase *tc = tcase_create("series_map");
    tcase_add_test(tc, test_one_row);
    tcase_add_test(tc, test_stages_names_and_warmup);
    tcase_add_test(tc, test_any_number_of_stages);
    tcase_add_test(tc, test_too_many_rows);
    suite_add_tcase(s, tc);
    return check_main(s);
}
