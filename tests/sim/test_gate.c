/* SPDX-License-Identifier: MIT */
/* False alarms and power of the gate on simulated runs, with a fixed seed. Few trials: a wrong test
 * (of requests, of averaged percentiles) is wrong in half of them. bench-gate prints the table in
 * docs/compare.md. */
#include <math.h>

#include "tests/lib/check_main.h"
#include "tests/lib/gate_trials.h"

#define TRIALS 40
#define SEED   7

/* What chance allows at the nominal 5 %: four standard deviations above. */
static size_t allowed(size_t trials)
{
    return (size_t)(0.05 * (double)trials + 4 * sqrt(0.05 * 0.95 * (double)trials));
}

START_TEST(test_nothing_changed)
{
    const struct gate_world *w = &gate_worlds[_i];
    struct gate_counts n = gate_trials(w, 99, 1, TRIALS, SEED + (uint64_t)_i);
    ck_assert_msg(n.sets_differ <= allowed(TRIALS), "%s: %zu", w->name, n.sets_differ);
    ck_assert_msg(n.sets_regression <= allowed(TRIALS), "%s: %zu", w->name, n.sets_regression);
    ck_assert_msg(n.pair_regression <= allowed(TRIALS), "%s: %zu", w->name, n.pair_regression);
    /* A pair knows nothing of how runs differ, and says so: only where they do not can it be held
     * to the level. */
    ck_assert_msg(w->hysteresis > 0 || n.pair_differs <= allowed(TRIALS), "%s: %zu", w->name,
                  n.pair_differs);
}
END_TEST

START_TEST(test_slower)
{
    const struct gate_world *w = &gate_worlds[_i];
    struct gate_counts n = gate_trials(w, 50, 1.2, TRIALS / 2, SEED + (uint64_t)_i);
    ck_assert_msg(n.sets_regression * 10 >= n.trials * 9, "%s: %zu of %zu", w->name,
                  n.sets_regression, n.trials);
    ck_assert_msg(n.sets_pass == 0 && n.pair_pass * 5 <= n.trials, "%s: %zu", w->name, n.pair_pass);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gate");
    TCase *t = tcase_create("gate");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_nothing_changed, 0, GATE_WORLDS);
    tcase_add_loop_test(t, test_slower, 0, GATE_WORLDS);
    suite_add_tcase(s, t);
    return check_main(s);
}
