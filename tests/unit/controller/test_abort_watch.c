/* SPDX-License-Identifier: MIT */
#include "controller/run/abort_watch.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct condition_list conditions;
static struct abort_watch *watch;

static void begin_after(const char *text, uint64_t warmup_ns, uint64_t planned_ns)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(condition_list_add(&conditions, "--abort-on", text, &msg) == ERR_OK, "%s",
                  msg.text);
    abort_watch_free(watch);
    watch = abort_watch_new(&conditions, NS_PER_SEC, warmup_ns, planned_ns);
}

static void begin(const char *text, uint64_t planned_ns)
{
    begin_after(text, 0, planned_ns);
}

static void end(void)
{
    abort_watch_free(watch);
    condition_list_clear(&conditions);
    watch = NULL;
}

static void add(uint64_t slot, uint32_t intervals, uint64_t ok, uint64_t failed, uint64_t ns)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 0, "");
    s->from_ns = slot * NS_PER_SEC;
    s->to_ns = (slot + intervals) * NS_PER_SEC;
    s->intervals = intervals;
    one->counters.scheduled = one->counters.sent = ok + failed;
    one->counters.completed = one->counters.ok = ok;
    one->counters.failed_read = failed;
    if (ok > 0)
        hist_record(series_hist(one, HIST_CORRECTED), ns, ok);
    abort_watch_add(watch, s);
    snapshot_free(s);
}

static bool closed(uint64_t slot, uint32_t slots)
{
    struct result_interval row = {
        .from_ns = slot * NS_PER_SEC, .to_ns = (slot + slots) * NS_PER_SEC, .slots = slots};
    return abort_watch_closed(watch, &row);
}

/* Over all agents and all intervals so far, those that came late included. */
START_TEST(test_without_for_the_run_counts)
{
    begin("errors>10", NS_NEVER);
    add(0, 1, 100, 3, NS_PER_MS);
    add(0, 1, 100, 3, NS_PER_MS);
    add(1, 1, 100, 4, NS_PER_MS); /* of the next one already */
    ck_assert(!closed(0, 1));
    ck_assert(!closed(1, 1));
    ck_assert_str_eq(abort_watch_reason(watch), "");
    add(0, 1, 0, 1, 0);
    ck_assert(closed(2, 1));
    ck_assert_str_eq(abort_watch_reason(watch), "errors>10 was met 3.00s after the start: 11");
    add(3, 1, 0, 100, 0);
    ck_assert(!closed(3, 1)); /* once is enough */
    ck_assert_str_eq(abort_watch_reason(watch), "errors>10 was met 3.00s after the start: 11");
    end();
}
END_TEST

START_TEST(test_what_comes_last_counts_too)
{
    begin("errors>10", NS_NEVER);
    add(0, 1, 5, 5, NS_PER_MS);
    ck_assert(!closed(0, 1));
    add(0, 1, 5, 6, NS_PER_MS);
    ck_assert(abort_watch_end(watch));
    ck_assert_str_eq(abort_watch_reason(watch), "errors>10 was met 1.00s after the start: 11");
    end();
}
END_TEST

/* Every interval of the last 3 s, each by itself. */
START_TEST(test_for_means_each_interval)
{
    begin("p99>100ms for 3s", NS_NEVER);
    for (uint64_t i = 0; i < 21; i++) { /* slow twice, then not */
        add(i, 1, 100, 0, i % 3 < 2 ? NS_PER_SEC : NS_PER_MS);
        ck_assert(!closed(i, 1));
    }
    for (uint64_t i = 21; i < 24; i++) {
        add(i, 1, 50, 0, NS_PER_MS);
        add(i, 1, 50, 0, NS_PER_SEC); /* another agent */
        ck_assert_int_eq(closed(i, 1), i == 23);
    }
    ck_assert_str_eq(abort_watch_reason(watch), "p99>100ms for 3s was met 24.00s after the start: "
                                                "1.00s in the last interval");
    end();
}
END_TEST

/* A hanging server ends nothing for a while: that does not break the row. */
START_TEST(test_an_interval_without_an_end_says_nothing)
{
    begin("p99>100ms for 3s", NS_NEVER);
    add(0, 1, 0, 10, 0);
    ck_assert(!closed(0, 1));
    for (uint64_t i = 1; i < 5; i++)
        ck_assert(!closed(i, 1));
    add(5, 1, 0, 10, 0);
    ck_assert(closed(5, 1));
    ck_assert_ptr_nonnull(strstr(abort_watch_reason(watch), "10 of 10 requests got no response"));
    end();
}
END_TEST

/* An agent sent several intervals in one; rows are then longer. */
START_TEST(test_long_rows)
{
    begin("error-rate>=50% for 4s", NS_NEVER);
    add(0, 1, 1, 1, NS_PER_MS);
    ck_assert(!closed(0, 1));
    add(1, 3, 10, 10, NS_PER_MS);
    ck_assert(closed(1, 3));
    end();
    begin("error-rate>=50% for 4s", NS_NEVER);
    add(0, 1, 1, 1, NS_PER_MS);
    ck_assert(!closed(0, 1));
    add(1, 3, 10, 9, NS_PER_MS);
    ck_assert(!closed(1, 3));
    add(4, 1, 1, 1, NS_PER_MS);
    ck_assert(!closed(4, 1));
    end();
}
END_TEST

/* After its planned end the run has no rate that could be too low. */
START_TEST(test_the_rate_counts_up_to_the_end)
{
    begin("rate<100", 2500 * NS_PER_MS);
    begin("rate<100 for 1s", 2500 * NS_PER_MS);
    add(0, 1, 100, 0, NS_PER_MS);
    add(1, 1, 100, 0, NS_PER_MS);
    add(2, 1, 50, 0, NS_PER_MS);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert(!closed(i, 1));
    ck_assert(!abort_watch_end(watch));
    end();
    begin("rate<100", 2500 * NS_PER_MS);
    add(0, 1, 99, 0, NS_PER_MS);
    ck_assert(closed(0, 1));
    ck_assert_str_eq(abort_watch_reason(watch), "rate<100 was met 1.00s after the start: 99/s");
    end();
}
END_TEST

/* The first half second was the warm-up, and is in no series but its own. */
START_TEST(test_the_rate_counts_from_the_warm_up)
{
    begin_after("rate<100", NS_PER_SEC / 2, NS_NEVER);
    add(0, 1, 50, 0, NS_PER_MS);
    ck_assert(!closed(0, 1));
    add(1, 1, 99, 0, NS_PER_MS);
    ck_assert(closed(1, 1));
    end();
    begin_after("rate<100 for 1s", NS_PER_SEC / 2, NS_NEVER);
    add(0, 1, 50, 0, NS_PER_MS);
    ck_assert(!closed(0, 1));
    end();
}
END_TEST

/* However the agents' snapshots interleave, the run is stopped at the same figure. */
START_TEST(test_the_order_does_not_matter)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 50; round++) {
        uint64_t next[4] = {0}, open = 0;
        begin("errors>=200", NS_NEVER);
        while (open < 50) {
            size_t agent = check_below(&rng, 4);
            if (next[agent] < open + 3)
                add(next[agent]++, 1, 1, 1, NS_PER_MS);
            while (next[0] > open && next[1] > open && next[2] > open && next[3] > open) {
                bool met = closed(open++, 1);
                ck_assert_int_eq(met, open == 50);
            }
        }
        end();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("abort_watch");
    TCase *t = tcase_create("abort_watch");
    tcase_add_test(t, test_without_for_the_run_counts);
    tcase_add_test(t, test_what_comes_last_counts_too);
    tcase_add_test(t, test_for_means_each_interval);
    tcase_add_test(t, test_an_interval_without_an_end_says_nothing);
    tcase_add_test(t, test_long_rows);
    tcase_add_test(t, test_the_rate_counts_up_to_the_end);
    tcase_add_test(t, test_the_rate_counts_from_the_warm_up);
    tcase_add_test(t, test_the_order_does_not_matter);
    suite_add_tcase(s, t);
    return check_main(s);
}
