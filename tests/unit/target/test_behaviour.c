/* SPDX-License-Identifier: MIT */
#include "tests/target/behaviour.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

/* Of the first n responses exactly floor(n * share) are slow, for any share. */
START_TEST(test_share_is_exact)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 50; round++) {
        struct httpd_options o = {.slow_ppm = 1 + (uint32_t)check_below(&rng, HTTPD_EACH),
                                  .slow_ns = 1};
        uint64_t slow = 0;
        for (uint64_t n = 1; n <= 5000; n++) {
            slow += httpd_behaviour_of(&o, n).delay_ns;
            ck_assert_uint_eq(slow, n * o.slow_ppm / HTTPD_EACH);
        }
    }
}
END_TEST

START_TEST(test_every_hundredth)
{
    struct httpd_options o = {
        .slow_ppm = 10000, .slow_ns = 100 * NS_PER_MS, .delay_ns = 5 * NS_PER_MS};
    for (uint64_t n = 1; n <= 1000; n++)
        ck_assert_uint_eq(httpd_behaviour_of(&o, n).delay_ns, (n % 100 == 0 ? 105 : 5) * NS_PER_MS);
}
END_TEST

START_TEST(test_pause_status_close)
{
    struct httpd_options o = {
        .pause_ns = 7, .every = 3, .status = 503, .status_ppm = HTTPD_EACH / 10, .close_every = 4};
    for (uint64_t n = 1; n <= 120; n++) {
        ck_assert_uint_eq(httpd_behaviour_of(&o, n).pause_ns, n % 3 == 0 ? 7 : 0);
        ck_assert_uint_eq(httpd_behaviour_of(&o, n).status, n % 10 == 0 ? 503 : 200);
        ck_assert_int_eq(httpd_behaviour_closes(&o, n), n % 4 == 0);
    }
    o = (struct httpd_options){.status = 404, .status_ppm = HTTPD_EACH};
    ck_assert_uint_eq(httpd_behaviour_of(&o, 1).status, 404);
    ck_assert(!httpd_behaviour_closes(&o, 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target.behaviour");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_share_is_exact);
    tcase_add_test(t, test_every_hundredth);
    tcase_add_test(t, test_pause_status_close);
    suite_add_tcase(s, t);
    return check_main(s);
}
