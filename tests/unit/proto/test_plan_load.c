/* SPDX-License-Identifier: MIT */
/* --warmup, --on-full, --max-connections, --closed-loop, --think, and the parts of agents. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

#define WORDS_MAX 10

static enum err make(struct plan *p, char *const words[WORDS_MAX], struct errmsg *msg)
{
    size_t n, n_rest = 0;
    const char *rest[2];
    const struct option_row *rows = plan_options(&n);
    int argc = 0;
    while (argc < WORDS_MAX && words[argc] != NULL)
        argc++;
    plan_defaults(p);
    enum err e = option_parse(rows, n, argc, words, p, rest, 2, &n_rest, msg);
    if (e != ERR_OK)
        return e;
    p->url = mem_strdup("http://127.0.0.1/");
    return plan_check(p, msg);
}

static void made(struct plan *p, char *const words[WORDS_MAX])
{
    struct errmsg msg = {{0}};
    ck_assert_msg(make(p, words, &msg) == ERR_OK, "%s", msg.text);
}

START_TEST(test_what_is_accepted)
{
    struct plan p;
    made(&p, (char *[WORDS_MAX]){"run", "-r9", "--warmup", "5", "--on-full=grow",
                                 "--max-connections=50", "--closed-loop", "-c50"});
    ck_assert_uint_eq(p.warmup_ns, 5 * NS_PER_SEC);
    ck_assert_uint_eq(p.on_full, PLAN_GROW);
    ck_assert_str_eq(plan_on_full_name(&p), "grow");
    ck_assert_uint_eq(p.max_connections, 50);
    ck_assert(p.closed_loop);
    plan_clear(&p);
    made(&p, (char *[WORDS_MAX]){"run", "--think", "100ms..2s", "--on-full=wait", "--seed=3"});
    ck_assert_uint_eq(p.think_min_ns, 100 * NS_PER_MS);
    ck_assert_uint_eq(p.think_max_ns, 2 * NS_PER_SEC);
    plan_clear(&p);
    made(&p, (char *[WORDS_MAX]){"run", "--think", "0.5", "--warmup=9999ms"});
    ck_assert_uint_eq(p.think_min_ns, NS_PER_SEC / 2);
    ck_assert_uint_eq(p.think_max_ns, NS_PER_SEC / 2);
    plan_clear(&p);
    made(&p, (char *[WORDS_MAX]){"run", "--stages=1s@5,1s@6", "--on-full=drop", "--warmup=1"});
    ck_assert_str_eq(plan_on_full_name(&p), "drop");
    plan_clear(&p);
    made(&p, (char *[WORDS_MAX]){"run", "-r10", "-n11", "--warmup=1"}); /* the last one is left */
    plan_clear(&p);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        char *words[WORDS_MAX];
        const char *text;
    } cases[] = {
        {{"run", "--on-full=grew"}, "--on-full grew: accepted is wait, grow or drop"},
        {{"run", "--on-full=drop"}, "--on-full drop without a rate: in a closed loop nothing"},
        {{"run", "-r5", "--on-full=grow"},
         "--on-full grow without a bound: accepted is with --max"},
        {{"run", "-r5", "--max-connections=9"}, "--max-connections 9 without --on-full grow"},
        {{"run", "-r5", "--on-full=drop", "--max-connections=9"}, "--max-connections 9 without"},
        {{"run", "-r5", "--on-full=grow", "--max-connections=9", "-c10"},
         "--max-connections 9 with --connections 10: accepted is at least as many"},
        {{"run", "-r5", "--on-full=grow", "--max-connections=0"}, "--max-connections 0: accepted"},
        {{"run", "--warmup=10"}, "--warmup 10s in a run of 10s: accepted is less than"},
        {{"run", "--warmup=x"}, "--warmup x: accepted is"},
        {{"run", "--warmup=25h"}, "--warmup 25h: accepted is"},
        {{"run", "-r10", "-n10", "--warmup=1"}, "--warmup 1s with -n/--requests 10: all of them"},
        {{"run", "--stages=1s@5,1s@6", "--warmup=2"}, "--warmup 2s in a run of 2s"},
        {{"run", "--think=2s..1s"}, "--think 2s..1s: accepted is a time of at most 1h"},
        {{"run", "--think=2h"}, "--think 2h: accepted is"},
        {{"run", "--think=1.."}, "--think 1..: accepted is"},
        {{"run", "--think=1", "-r5"}, "--think 1s with a rate: with -r/--rate or --stages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        ck_assert_int_ne(make(&p, cases[i].words, &msg), ERR_OK);
        ck_assert_msg(strncmp(msg.text, cases[i].text, strlen(cases[i].text)) == 0,
                      "%s\ninstead of: %s", msg.text, cases[i].text);
        plan_clear(&p);
    }
}
END_TEST

/* What no user's words can make, but the wire can. */
START_TEST(test_foreign_values)
{
    struct plan p, bad;
    struct errmsg msg = {{0}};
    made(&p, (char *[WORDS_MAX]){"run", "-r5", "-c5"});
    bad = p;
    bad.on_full = 3;
    ck_assert_int_ne(plan_validate(&bad, &msg), ERR_OK);
    bad = p;
    bad.rate.num = 0;
    bad.think_min_ns = 1;
    ck_assert_int_ne(plan_validate(&bad, &msg), ERR_OK);
    bad.think_max_ns = 2;
    ck_assert_int_eq(plan_validate(&bad, &msg), ERR_OK);
    bad.think_max_ns = UINT64_MAX;
    ck_assert_int_ne(plan_validate(&bad, &msg), ERR_OK);
    plan_clear(&p);
}
END_TEST

/* By weight, to the last one, and no agent gets fewer than it begins with. */
START_TEST(test_growth_is_split)
{
    enum {
        AGENTS = 8,
        ROUNDS = 500
    };
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct plan p;
        struct plan_part parts[AGENTS];
        uint32_t weights[AGENTS], cores[AGENTS], sum = 0;
        size_t n = 1 + check_below(&rng, AGENTS);
        plan_defaults(&p);
        p.connections = (uint32_t)(n + check_below(&rng, 100));
        p.max_connections = p.connections + (uint32_t)check_below(&rng, 1000);
        for (size_t i = 0; i < n; i++) {
            weights[i] = 1 + (uint32_t)check_below(&rng, 5);
            cores[i] = (uint32_t)check_below(&rng, 5);
        }
        struct errmsg msg = {{0}};
        ck_assert_msg(plan_split(&p, weights, cores, n, parts, &msg) == ERR_OK, "%s", msg.text);
        for (size_t i = 0; i < n; i++) {
            uint32_t more = parts[i].max_connections - parts[i].connections;
            ck_assert_uint_ge(parts[i].max_connections, parts[i].connections);
            uint64_t exact = (uint64_t)(p.max_connections - p.connections) * weights[i];
            ck_assert_uint_ge(more, exact / parts[0].total);
            ck_assert_uint_le(more, exact / parts[0].total + 1);
            ck_assert_int_eq(plan_part_check(&parts[i], &msg), ERR_OK);
            sum += parts[i].max_connections;
        }
        ck_assert_uint_eq(sum, p.max_connections);
    }
}
END_TEST

/* Stages, names and the warm-up have rows in the report, and those are bounded. */
START_TEST(test_the_warmup_is_a_row)
{
    struct plan p;
    char stages[PROFILE_STAGES_MAX * 5 + 1] = "";
    struct errmsg msg = {{0}};
    for (int i = 0; i < PROFILE_STAGES_MAX; i++)
        strcat(stages, i == 0 ? "1s@5" : ",1s@5");
    made(&p, (char *[WORDS_MAX]){"run", "--stages", stages});
    plan_clear(&p);
    ck_assert_int_ne(make(&p, (char *[WORDS_MAX]){"run", "--stages", stages, "--warmup=1"}, &msg),
                     ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "64 stages and the warm-up are 65 rows in the report"));
    plan_clear(&p);
}
END_TEST

START_TEST(test_growth_below_the_default_is_refused)
{
    struct plan p;
    struct plan_part part;
    struct errmsg msg = {{0}};
    plan_defaults(&p);
    p.max_connections = 49;
    ck_assert_int_eq(plan_split(&p, (uint32_t[]){1}, (uint32_t[]){1}, 1, &part, &msg), ERR_INVALID);
    ck_assert_str_eq(msg.text, "--max-connections 49 with 50 connections: accepted is at least as "
                               "many");
    p.max_connections = 0;
    ck_assert_int_eq(plan_split(&p, (uint32_t[]){1}, (uint32_t[]){1}, 1, &part, &msg), ERR_OK);
    ck_assert_uint_eq(part.max_connections, 0);
}
END_TEST

START_TEST(test_parts_from_the_wire_are_checked)
{
    static const struct plan_part bad[] = {
        {0, 0, 1, 4, 1, 0}, {2, 2, 1, 4, 1, 0},       {2, 1, 2, 4, 1, 0},
        {2, 0, 0, 4, 1, 0}, {1, 0, 1, 4, 0, 0},       {1, 0, 1, 4, 5, 0},
        {1, 0, 1, 0, 0, 0}, {1, 0, 1, 1 << 30, 1, 0}, {1, 0, 1, 999, 257, 0},
        {1, 0, 1, 4, 1, 3}, {1, 0, 1, 4, 1, 1 << 30}};
    struct errmsg msg;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        msg.text[0] = '\0';
        ck_assert_int_eq(plan_part_check(&bad[i], &msg), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(msg.text, "accepted is"));
    }
    struct plan_part good = {3, 1, 2, 8, 4, 0};
    ck_assert_int_eq(plan_part_check(&good, &msg), ERR_OK);
    ck_assert_uint_eq(plan_part_most(&good), 8);
    good.max_connections = 9;
    ck_assert_int_eq(plan_part_check(&good, &msg), ERR_OK);
    ck_assert_uint_eq(plan_part_most(&good), 9);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_load");
    TCase *t = tcase_create("load");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_what_is_accepted);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_foreign_values);
    tcase_add_test(t, test_the_warmup_is_a_row);
    tcase_add_test(t, test_growth_is_split);
    tcase_add_test(t, test_growth_below_the_default_is_refused);
    tcase_add_test(t, test_parts_from_the_wire_are_checked);
    suite_add_tcase(s, t);
    return check_main(s);
}
