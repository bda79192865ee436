/* SPDX-License-Identifier: MIT */
#include "common/student.h"

#include <math.h>

#include "tests/lib/check_main.h"

/* Critical values of the usual tables, two-sided. */
static const struct {
    double t, dof, p;
} table[] = {
    {12.7062047, 1, 0.05},
    {63.6567412, 1, 0.01},
    {4.30265273, 2, 0.05},
    {2.57058184, 5, 0.05},
    {2.22813885, 10, 0.05},
    {3.16927267, 10, 0.01},
    {4.58689386, 10, 0.001},
    {2.04227246, 30, 0.05},
    {3.64595864, 30, 0.001},
    {1.95996398, 1e7, 0.05},
    {0, 7, 1},
};

START_TEST(test_tables)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        ck_assert_double_eq_tol(student_two_sided(table[i].t, table[i].dof), table[i].p,
                                2e-7 * (1 + table[i].p));
        ck_assert_double_eq(student_two_sided(-table[i].t, table[i].dof),
                            student_two_sided(table[i].t, table[i].dof));
    }
    ck_assert_double_eq(student_two_sided(INFINITY, 5), 0);
}
END_TEST

/* Closed forms: dof 1 is Cauchy's, dof 2 algebraic; far out as near by. */
START_TEST(test_closed_forms)
{
    for (double t = 0.01; t < 1e6; t *= 1.7) {
        double cauchy = 2 * atan(1 / t) / acos(-1), two = 2 / (t * t + 2 + t * sqrt(t * t + 2));
        ck_assert_double_eq_tol(student_two_sided(t, 1) / cauchy, 1, 1e-8);
        ck_assert_double_eq_tol(student_two_sided(t, 2) / two, 1, 1e-8);
    }
}
END_TEST

START_TEST(test_falls_with_t)
{
    for (double dof = 1; dof < 200; dof *= 1.4)
        for (double t = 0; t < 40; t += 0.25)
            ck_assert_double_gt(student_two_sided(t, dof), student_two_sided(t + 0.25, dof));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("student");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_tables);
    tcase_add_test(t, test_closed_forms);
    tcase_add_test(t, test_falls_with_t);
    return check_main(s);
}
