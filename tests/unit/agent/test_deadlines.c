/* SPDX-License-Identifier: MIT */
#include "agent/client/deadlines.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define N     64
#define DELAY 1000

START_TEST(test_empty)
{
    struct deadlines l;
    struct deadline d = {.list = NULL};
    deadlines_init(&l, DELAY);
    ck_assert_uint_eq(deadlines_next(&l), NS_NEVER);
    ck_assert_ptr_null(deadlines_pop(&l, UINT64_MAX));
    deadline_cancel(&d);
}
END_TEST

START_TEST(test_boundary_and_saturation)
{
    struct deadlines l;
    struct deadline a = {.list = NULL}, b = {.list = NULL};
    deadlines_init(&l, DELAY);
    deadlines_start(&l, &a, 5);
    ck_assert_uint_eq(deadlines_next(&l), 5 + DELAY);
    ck_assert_ptr_null(deadlines_pop(&l, 4 + DELAY));
    ck_assert_ptr_eq(deadlines_pop(&l, 5 + DELAY), &a);
    deadlines_start(&l, &b, UINT64_MAX - 1);
    ck_assert_uint_eq(deadlines_next(&l), UINT64_MAX);
}
END_TEST

/* Against a plain array: random starts, cancels and pops on two lists give the same answers. */
START_TEST(test_same_as_a_plain_array)
{
    uint64_t rng = check_seed(), now = 1, at[2][N] = {{0}};
    struct deadlines l[2];
    struct deadline d[N] = {{.list = NULL}};
    deadlines_init(&l[0], DELAY);
    deadlines_init(&l[1], 3 * DELAY);
    for (int round = 0; round < 100000; round++) {
        size_t i = check_below(&rng, N), w = check_below(&rng, 2);
        now += check_below(&rng, 50);
        if (check_below(&rng, 3) > 0) {
            deadlines_start(&l[w], &d[i], now);
            at[w][i] = now + l[w].delay_ns;
            at[1 - w][i] = 0;
        } else if (check_below(&rng, 2) == 0) {
            deadline_cancel(&d[i]);
            at[0][i] = at[1][i] = 0;
        } else {
            uint64_t least = NS_NEVER;
            for (size_t k = 0; k < N; k++)
                least = at[w][k] != 0 && at[w][k] < least ? at[w][k] : least;
            ck_assert_uint_eq(deadlines_next(&l[w]), least);
            struct deadline *first = deadlines_pop(&l[w], now);
            ck_assert_int_eq(first != NULL, least <= now);
            if (first == NULL)
                continue;
            ck_assert_uint_eq(at[w][first - d], least);
            at[w][first - d] = 0;
        }
    }
}
END_TEST

/* A clock reading that is older than the last one does not break the order. */
START_TEST(test_order_holds_for_old_stamps)
{
    struct deadlines l;
    struct deadline a = {.list = NULL}, b = {.list = NULL};
    deadlines_init(&l, DELAY);
    deadlines_start(&l, &a, 100);
    deadlines_start(&l, &b, 50);
    ck_assert_ptr_eq(deadlines_pop(&l, 100 + DELAY), &a);
    ck_assert_ptr_eq(deadlines_pop(&l, 100 + DELAY), &b);
    ck_assert_ptr_null(deadlines_pop(&l, 100 + DELAY));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("deadlines");
    TCase *t = tcase_create("deadlines");
    tcase_add_test(t, test_empty);
    tcase_add_test(t, test_boundary_and_saturation);
    tcase_add_test(t, test_same_as_a_plain_array);
    tcase_add_test(t, test_order_holds_for_old_stamps);
    suite_add_tcase(s, t);
    return check_main(s);
}
