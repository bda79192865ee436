/* SPDX-License-Identifier: MIT */
#include "controller/run/objective.h"

#include <string.h>

#include "controller/run/verdict.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

#define REQUESTS 3000

static struct report_fixture f;
static struct condition_list list;

static void setup(void)
{
    report_fixture(&f, REQUESTS, 0);
}

static void teardown(void)
{
    result_free(f.r);
    condition_list_clear(&list);
}

static void want(const char *text)
{
    struct errmsg msg;
    ck_assert_msg(condition_list_add(&list, "--slo", text, &msg) == ERR_OK, "%s", msg.text);
}

static const struct verdict *judge(void)
{
    report_fixture_finish(&f);
    objectives_judge(f.r, &list);
    verdict_eval(f.r);
    return &f.r->verdict;
}

START_TEST(test_none)
{
    ck_assert_int_eq(judge()->exit_code, 0);
    ck_assert_uint_eq(objectives_missed(f.r), 0);
}
END_TEST

START_TEST(test_all_hold)
{
    want("p99<1h");
    want("errors<=0");
    want("rate>=99%");
    ck_assert_int_eq(judge()->exit_code, 0);
    ck_assert_uint_eq(f.r->n_objectives, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(f.r->objectives[i].held && f.r->objectives[i].measured);
}
END_TEST

START_TEST(test_one_does_not)
{
    want("errors<=0");
    want("p50<1ns");
    const struct verdict *v = judge();
    ck_assert_int_eq(v->status, STATUS_SLO_FAILED);
    ck_assert_int_eq(v->exit_code, 99);
    ck_assert_str_eq(v->reasons[0], "1 of 2 objectives (--slo) did not hold");
    ck_assert(f.r->objectives[0].held && !f.r->objectives[1].held);
}
END_TEST

/* Dropping what would have been slow must not make a run good: 2 % of it was never sent. */
START_TEST(test_what_was_never_sent_is_infinitely_slow)
{
    struct counters *c = &snapshot_series(f.r->agents[0].total, 0, "")->counters;
    c->scheduled += 61, c->unsent_no_connection += 61;
    want("p99<1h");
    want("p95<1h");
    judge();
    char said[CONDITION_SAID];
    ck_assert(!f.r->objectives[0].held && f.r->objectives[1].held);
    ck_assert(f.r->objectives[0].figure.never);
    ck_assert_uint_gt(strlen(objective_say(&f.r->objectives[0], said)), 0);
}
END_TEST

/* Nobody can say that it held. */
START_TEST(test_what_was_not_measured_did_not_hold)
{
    char said[CONDITION_SAID];
    report_fixture_finish(&f);
    snapshot_free(f.r->total);
    f.r->total = snapshot_new();
    want("p99<1h");
    objectives_judge(f.r, &list);
    ck_assert(!f.r->objectives[0].held && !f.r->objectives[0].measured);
    ck_assert_str_eq(objective_say(&f.r->objectives[0], said), "nothing was measured");
}
END_TEST

/* A run that was no measurement does not pass or fail for its figures. */
START_TEST(test_incomplete_comes_first)
{
    f.r->agents[1].state = RESULT_LOST;
    want("p50<1ns");
    ck_assert_int_eq(judge()->exit_code, 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("objective");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_none);
    tcase_add_test(t, test_all_hold);
    tcase_add_test(t, test_one_does_not);
    tcase_add_test(t, test_what_was_never_sent_is_infinitely_slow);
    tcase_add_test(t, test_what_was_not_measured_did_not_hold);
    tcase_add_test(t, test_incomplete_comes_first);
    suite_add_tcase(s, t);
    return check_main(s);
}
