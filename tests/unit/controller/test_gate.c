/* SPDX-License-Identifier: MIT */
#include "controller/compare/gate.h"

#include "tests/lib/check_main.h"

static struct gate_row row(double low, double estimate, double high, double p)
{
    return (struct gate_row){.judged = true, .limit = 1.1, .effect = {estimate, low, high}, .p = p};
}

static enum gate_verdict judged(struct gate_row r)
{
    gate_judge(&r, 1);
    return r.verdict;
}

START_TEST(test_verdicts)
{
    ck_assert_int_eq(judged(row(1.2, 1.3, 1.4, 0.01)), GATE_REGRESSION);
    ck_assert_int_eq(judged(row(1.05, 1.3, 1.4, 0.01)), GATE_REGRESSION);
    ck_assert_int_eq(judged(row(0.9, 1.3, 1.4, 0.2)), GATE_INCONCLUSIVE);
    ck_assert_int_eq(judged(row(0.9, 1.0, 1.2, 0.9)), GATE_INCONCLUSIVE);
    /* significant, but within what is accepted */
    ck_assert_int_eq(judged(row(1.02, 1.03, 1.04, 0.001)), GATE_PASS);
    ck_assert_int_eq(judged(row(0.5, 0.6, 0.7, 0.001)), GATE_PASS);
    ck_assert_int_eq(judged(row(0, NAN, INFINITY, 1)), GATE_INCONCLUSIVE);
    ck_assert_int_eq(judged(row(0, 1.0, INFINITY, 1)), GATE_INCONCLUSIVE);
    ck_assert_int_eq(judged(row(INFINITY, INFINITY, INFINITY, 0.001)), GATE_REGRESSION);
    struct gate_row shown = row(2, 2, 2, 0.001);
    shown.judged = false;
    ck_assert_int_eq(judged(shown), GATE_NOT_JUDGED);
}
END_TEST

START_TEST(test_less_is_worse)
{
    struct gate_row r = row(0.8, 0.85, 0.9, 0.01);
    r.less_is_worse = true;
    r.limit = 0.95;
    ck_assert_int_eq(judged(r), GATE_REGRESSION);
    r.effect = (struct effect){1.2, 1.1, 1.3};
    ck_assert_int_eq(judged(r), GATE_PASS);
    r.effect = (struct effect){0.97, 0.9, 1.0};
    ck_assert_int_eq(judged(r), GATE_INCONCLUSIVE);
    r.effect = (struct effect){0.96, 0.94, 1.2};
    ck_assert(fabs(gate_smallest(&r) - 0.2) < 1e-12);
}
END_TEST

/* Holm: 0.02 alone is a regression, as the second of three at best when it is below 0.025. */
START_TEST(test_several)
{
    struct gate_row rows[3] = {row(1.2, 1.3, 1.4, 0.02), row(1.2, 1.3, 1.4, 0.01),
                               row(1.0, 1.05, 1.09, 0.5)};
    gate_judge(rows, 3);
    ck_assert(fabs(rows[0].p_holm - 0.04) < 1e-12 && fabs(rows[1].p_holm - 0.03) < 1e-12);
    ck_assert(fabs(rows[2].p_holm - 0.5) < 1e-12);
    ck_assert_int_eq(gate_worst(rows, 3), GATE_REGRESSION);
    rows[1].p = 0.03; /* 0.02 * 3 is too much, and so is all behind it */
    gate_judge(rows, 3);
    ck_assert(fabs(rows[0].p_holm - 0.06) < 1e-12 && fabs(rows[1].p_holm - 0.06) < 1e-12);
    ck_assert_int_eq(rows[0].verdict, GATE_INCONCLUSIVE);
    ck_assert_int_eq(gate_worst(rows, 3), GATE_INCONCLUSIVE);
    ck_assert_int_eq(gate_worst(rows + 2, 1), GATE_PASS);
    ck_assert_int_eq(gate_worst(rows, 0), GATE_INCONCLUSIVE);
    rows[1].judged = false; /* takes no part */
    gate_judge(rows, 3);
    ck_assert(fabs(rows[0].p_holm - 0.04) < 1e-12);
}
END_TEST

START_TEST(test_smallest)
{
    struct gate_row r = row(0.96, 1.2, 1.5, 1);
    ck_assert(fabs(gate_smallest(&r) - 0.25) < 1e-12);
    r.effect.low = 0;
    ck_assert(isinf(gate_smallest(&r)));
    r.kind = EFFECT_DIFFERENCE;
    r.effect = (struct effect){5, -3, 9};
    ck_assert(fabs(gate_smallest(&r) - 8) < 1e-12);
    ck_assert_int_eq(gate_exit_code(GATE_PASS), 0);
    ck_assert_int_eq(gate_exit_code(GATE_REGRESSION), 99);
    ck_assert_int_eq(gate_exit_code(GATE_INCONCLUSIVE), 5);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gate");
    TCase *t = tcase_create("gate");
    tcase_add_test(t, test_verdicts);
    tcase_add_test(t, test_less_is_worse);
    tcase_add_test(t, test_several);
    tcase_add_test(t, test_smallest);
    suite_add_tcase(s, t);
    return check_main(s);
}
