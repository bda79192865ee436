/* SPDX-License-Identifier: MIT */
#include "tests/target/timers.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define N 200

struct state {
    uint64_t last_ns;
    size_t fired;
};

static void note(struct httpd_timer *t, void *arg)
{
    struct state *s = arg;
    ck_assert_uint_ge(t->due_ns, s->last_ns);
    ck_assert(!httpd_timer_is_set(t));
    s->last_ns = t->due_ns;
    s->fired++;
}

static uint64_t earliest(const struct httpd_timer *all)
{
    uint64_t least = NS_NEVER;
    for (size_t i = 0; i < N; i++)
        if (httpd_timer_is_set(&all[i]) && all[i].due_ns < least)
            least = all[i].due_ns;
    return least;
}

/* Random sets and clears: the next one is always the earliest, and they fire in order. */
START_TEST(test_random)
{
    uint64_t rng = check_seed();
    struct httpd_timers ts = {0};
    struct httpd_timer all[N] = {{0}};
    size_t set = 0;
    for (size_t i = 0; i < N; i++)
        all[i].fire = note;
    for (int step = 0; step < 5000; step++) {
        struct httpd_timer *t = &all[check_below(&rng, N)];
        if (httpd_timer_is_set(t)) {
            httpd_timers_clear(&ts, t);
            set--;
        } else {
            httpd_timers_set(&ts, t, check_below(&rng, 300));
            set++;
        }
        ck_assert_uint_eq(httpd_timers_next_ns(&ts), earliest(all));
    }
    struct state s = {0};
    while (httpd_timers_fire_one(&ts, 300, &s))
        ;
    ck_assert_uint_eq(s.fired, set);
    ck_assert_uint_eq(httpd_timers_next_ns(&ts), NS_NEVER);
    httpd_timers_fini(&ts);
}
END_TEST

START_TEST(test_not_before_its_time)
{
    struct httpd_timers ts = {0};
    struct httpd_timer t = {.fire = note};
    struct state s = {0};
    httpd_timers_set(&ts, &t, 10);
    ck_assert(!httpd_timers_fire_one(&ts, 9, &s));
    ck_assert(httpd_timers_fire_one(&ts, 10, &s));
    ck_assert(!httpd_timers_fire_one(&ts, 11, &s));
    httpd_timers_fini(&ts);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target.timers");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_random);
    tcase_add_test(t, test_not_before_its_time);
    suite_add_tcase(s, t);
    return check_main(s);
}
