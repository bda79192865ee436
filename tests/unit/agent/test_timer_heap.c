/* SPDX-License-Identifier: MIT */
#include "agent/client/timer_heap.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define N 64

/* What the heap must say, found the slow way. */
static uint64_t earliest(const struct heap_timer *t)
{
    uint64_t at_ns = NS_NEVER;
    for (size_t i = 0; i < N; i++)
        if (t[i].place != 0 && t[i].at_ns < at_ns)
            at_ns = t[i].at_ns;
    return at_ns;
}

static void check_places(const struct timer_heap *h)
{
    for (uint32_t place = 1; place <= h->n; place++) {
        CHECK_MUST(h->timers[place - 1]->place == place);
        CHECK_MUST(place == 1 || h->timers[place / 2 - 1]->at_ns <= h->timers[place - 1]->at_ns);
    }
}

START_TEST(test_random_against_the_slow_way)
{
    struct timer_heap h;
    struct heap_timer t[N] = {{0}};
    uint64_t rng = check_seed(), now_ns = 0, popped = 0;
    timer_heap_init(&h, N);
    for (int step = 0; step < 20000; step++) {
        struct heap_timer *one = &t[check_below(&rng, N)];
        uint64_t what = check_below(&rng, 8);
        if (what < 4) {
            timer_heap_start(&h, one, now_ns + check_below(&rng, 100));
        } else if (what < 5) {
            timer_heap_cancel(&h, one);
            CHECK_MUST(one->place == 0);
        } else {
            now_ns += check_below(&rng, 10);
            uint64_t first_ns = earliest(t);
            struct heap_timer *got = timer_heap_pop(&h, now_ns);
            CHECK_MUST((got != NULL) == (first_ns <= now_ns));
            if (got != NULL) {
                CHECK_MUST(got->at_ns == first_ns && got->place == 0);
                popped++;
            }
        }
        CHECK_MUST(timer_heap_next(&h) == earliest(t));
        check_places(&h);
    }
    ck_assert_uint_gt(popped, 100);
    timer_heap_clear(&h);
}
END_TEST

START_TEST(test_empty)
{
    struct timer_heap h;
    struct heap_timer t = {0, 0};
    timer_heap_init(&h, 1);
    ck_assert_uint_eq(timer_heap_next(&h), NS_NEVER);
    ck_assert_ptr_null(timer_heap_pop(&h, NS_NEVER));
    timer_heap_cancel(&h, &t);
    timer_heap_start(&h, &t, 7);
    timer_heap_start(&h, &t, 5); /* the same one again needs no more room */
    ck_assert_uint_eq(timer_heap_next(&h), 5);
    ck_assert_ptr_null(timer_heap_pop(&h, 4));
    ck_assert_ptr_eq(timer_heap_pop(&h, 5), &t);
    ck_assert_uint_eq(timer_heap_next(&h), NS_NEVER);
    timer_heap_clear(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timer_heap");
    TCase *t = tcase_create("heap");
    tcase_add_test(t, test_random_against_the_slow_way);
    tcase_add_test(t, test_empty);
    suite_add_tcase(s, t);
    return check_main(s);
}
