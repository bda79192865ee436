/* SPDX-License-Identifier: MIT */
#include "proto/schedule.h"

#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INDICES 1000000 /* the same arithmetic, ten times as slow */
#else
#define INDICES 10000000
#endif

static struct share whole(void)
{
    return (struct share){.total = 1, .first = 0, .weight = 1, .threads = 1, .thread = 0};
}

static struct schedule make(struct rate rate, struct share share, uint64_t duration_ns,
                            uint64_t requests)
{
    struct schedule s;
    struct errmsg msg = {{0}};
    ck_assert_msg(schedule_init(&s, &rate, &share, duration_ns, requests, &msg) == ERR_OK, "%s",
                  msg.text);
    return s;
}

START_TEST(test_due_is_exact)
{
    struct rate third = {1, 3};
    ck_assert_uint_eq(schedule_due_of_index(&third, 0), 0);
    ck_assert_uint_eq(schedule_due_of_index(&third, 7), 21 * NS_PER_SEC);
    struct rate hourly = {1, 3600};
    ck_assert_uint_eq(schedule_due_of_index(&hourly, 24), UINT64_C(86400) * NS_PER_SEC);
    struct rate odd = {7, 1};
    ck_assert_uint_eq(schedule_due_of_index(&odd, 1), 142857142);
    ck_assert_uint_eq(schedule_due_of_index(&odd, 7), NS_PER_SEC);
}
END_TEST

/* Ten million indices at 5M/s: every one is the rounded-down rational, so nothing drifts. */
START_TEST(test_no_drift_over_ten_million)
{
    struct rate rates[] = {{5000000, 1}, {4999999, 3}, {1, 3600}, {2000, 1}};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct schedule s = make(rates[r], whole(), NS_NEVER, UINT64_MAX);
        uint64_t whole_ns = 0, rest = 0;
        uint64_t step = NS_PER_SEC * rates[r].den;
        for (uint64_t i = 0; i < INDICES && whole_ns < UINT64_MAX - step; i++) {
            /* every index is accumulated, every 13th compared: the check is the slow part */
            if (i % 13 == 0 && schedule_due(&s, i) != whole_ns)
                ck_abort_msg("index %lu", (unsigned long)i);
            rest += step;
            whole_ns += rest / rates[r].num;
            rest %= rates[r].num;
        }
    }
}
END_TEST

#define AGENTS_MAX 8
#define TOTAL_MAX  4000

static struct rate random_rate(uint64_t *rng)
{
    static const struct rate ends[] = {{1, 3600}, {5000000, 1}, {1, 10}, {2000, 1}, {999983, 7}};
    if (check_below(rng, 3) == 0)
        return ends[check_below(rng, sizeof ends / sizeof ends[0])];
    return (struct rate){1 + check_below(rng, 5000000), 1 + check_below(rng, 3600)};
}

static void check_union(struct rate rate, const uint32_t *weights, const uint32_t *threads,
                        size_t agents, uint64_t requests, uint64_t duration_ns)
{
    static uint8_t seen[TOTAL_MAX];
    memset(seen, 0, sizeof seen);
    uint32_t total_weight = 0;
    for (size_t a = 0; a < agents; a++)
        total_weight += weights[a];
    struct schedule single = make(rate, whole(), duration_ns, requests);
    uint64_t found = 0;
    uint32_t first = 0;
    for (size_t a = 0; a < agents; first += weights[a], a++) {
        for (uint32_t t = 0; t < threads[a]; t++) {
            struct share sh = {total_weight, first, weights[a], threads[a], t};
            struct schedule s = make(rate, sh, duration_ns, requests);
            uint64_t last = 0;
            for (uint64_t n = 0; n < s.count; n++) {
                uint64_t i = schedule_index(&s, n);
                CHECK_MUST(i < single.count);
                CHECK_MUST(seen[i]++ == 0);
                CHECK_MUST(n == 0 || i > last);
                CHECK_MUST(schedule_due(&s, n) == schedule_due(&single, i));
                CHECK_MUST(schedule_due_until(&s, schedule_due(&s, n)) > n);
                last = i;
            }
            found += s.count;
        }
    }
    ck_assert_uint_eq(found, single.count);
}

START_TEST(test_union_of_shards_is_the_single_schedule)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 300; round++) {
        size_t agents = 1 + check_below(&rng, AGENTS_MAX);
        uint32_t weights[AGENTS_MAX], threads[AGENTS_MAX];
        for (size_t a = 0; a < agents; a++) {
            weights[a] = 1 + (uint32_t)check_below(&rng, 5);
            threads[a] = 1 + (uint32_t)check_below(&rng, 4);
        }
        check_union(random_rate(&rng), weights, threads, agents, check_below(&rng, TOTAL_MAX),
                    NS_NEVER);
    }
}
END_TEST

/* What happens to a run: an agent is lost, and from an index on the survivors own everything. */
static void lose_one(uint64_t *rng, struct schedule *all, struct share *shares, size_t *n,
                     size_t agents, uint32_t *weights, uint64_t from)
{
    size_t lost = check_below(rng, agents), kept = 0;
    uint32_t total = 0, first = 0;
    for (size_t a = 0; a < agents; a++)
        total += a == lost ? 0 : weights[a];
    for (size_t i = 0; i < *n; i++) {
        uint32_t agent = shares[i].total; /* abused as the agent's number */
        if (agent == lost)
            continue;
        all[kept] = all[i];
        shares[kept++] = shares[i];
    }
    *n = kept;
    for (size_t a = 0; a < agents; a++) {
        for (size_t i = 0; i < kept && a != lost; i++) {
            struct share sh = {total, first, weights[a], shares[i].threads, shares[i].thread};
            if (shares[i].total == a)
                ck_assert_int_eq(schedule_reshare(&all[i], from, &sh, NULL), ERR_OK);
        }
        first += a == lost ? 0 : weights[a];
    }
    weights[lost] = 0;
}

static void check_survivors(uint64_t *rng, struct rate rate, uint64_t requests)
{
    static uint8_t seen[TOTAL_MAX];
    struct schedule all[AGENTS_MAX * 4];
    struct share shares[AGENTS_MAX * 4];
    uint32_t weights[AGENTS_MAX], total = 0, first = 0;
    size_t agents = 2 + check_below(rng, AGENTS_MAX - 1), n = 0;
    uint64_t from = check_below(rng, requests + 10), owned = 0;
    struct schedule single = make(rate, whole(), NS_NEVER, requests);
    memset(seen, 0, sizeof seen);
    for (size_t a = 0; a < agents; a++)
        total += weights[a] = 1 + (uint32_t)check_below(rng, 5);
    for (size_t a = 0; a < agents; first += weights[a], a++) {
        uint32_t threads = 1 + (uint32_t)check_below(rng, 4);
        for (uint32_t t = 0; t < threads; t++, n++) {
            struct share sh = {total, first, weights[a], threads, t};
            all[n] = make(rate, sh, NS_NEVER, requests);
            shares[n] = (struct share){(uint32_t)a, 0, 0, threads, t};
        }
    }
    lose_one(rng, all, shares, &n, agents, weights, from);
    for (size_t i = 0; i < n; i++) {
        uint64_t before = 0;
        for (uint64_t k = 0; k < all[i].count; k++) {
            uint64_t index = schedule_index(&all[i], k);
            CHECK_MUST(index < single.count);
            CHECK_MUST(seen[index]++ == 0);
            CHECK_MUST(k == 0 || index > before);
            CHECK_MUST(schedule_due(&all[i], k) == schedule_due(&single, index));
            CHECK_MUST(schedule_due_until(&all[i], schedule_due(&all[i], k)) > k);
            before = index;
            owned += index >= from;
        }
    }
    ck_assert_uint_eq(owned, from < single.count ? single.count - from : 0);
}

START_TEST(test_survivors_own_everything_from_an_index_on)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 300; round++)
        check_survivors(&rng, random_rate(&rng), check_below(&rng, TOTAL_MAX));
}
END_TEST

START_TEST(test_reshare_bounds)
{
    struct share half = {2, 0, 1, 1, 0}, all = whole(), none = {2, 2, 1, 1, 0};
    struct errmsg msg = {{0}};
    struct schedule s = make((struct rate){100, 1}, half, NS_NEVER, 1000);
    ck_assert_int_eq(schedule_reshare(&s, 500, &none, &msg), ERR_INVALID);
    ck_assert_int_eq(schedule_reshare(&s, 500, &all, &msg), ERR_OK);
    ck_assert_uint_eq(s.count, 250 + 500);
    ck_assert_int_eq(schedule_reshare(&s, 499, &half, &msg), ERR_STATE);
    ck_assert_uint_eq(s.count, 250 + 500); /* a refusal changes nothing */
    for (int i = 2; i < SCHEDULE_PIECES_MAX; i++)
        ck_assert_int_eq(schedule_reshare(&s, 500, i % 2 ? &all : &half, &msg), ERR_OK);
    ck_assert_int_eq(schedule_reshare(&s, 500, &all, &msg), ERR_BUSY);
    s = make((struct rate){0, 1}, half, NS_NEVER, 1000);
    ck_assert_int_eq(schedule_reshare(&s, 500, &all, &msg), ERR_INVALID);
    s = make((struct rate){100, 1}, half, NS_NEVER, UINT64_MAX);
    ck_assert_int_eq(schedule_reshare(&s, 501, &all, &msg), ERR_OK);
    ck_assert_uint_eq(s.count, UINT64_MAX);
    ck_assert_uint_eq(schedule_index(&s, 250), 500);
    ck_assert_uint_eq(schedule_index(&s, 251), 501);
    ck_assert_uint_eq(schedule_index(&s, 252), 502);
}
END_TEST

START_TEST(test_due_until_counts_exactly)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 2000; round++) {
        struct share sh = {.total = 1 + (uint32_t)check_below(&rng, 6), .weight = 1, .threads = 1};
        sh.first = (uint32_t)check_below(&rng, sh.total);
        sh.threads = 1 + (uint32_t)check_below(&rng, 4);
        sh.thread = (uint32_t)check_below(&rng, sh.threads);
        struct schedule s = make(random_rate(&rng), sh, NS_NEVER, UINT64_MAX);
        uint64_t n = check_below(&rng, 1000000);
        uint64_t due = schedule_due(&s, n);
        if (due == UINT64_MAX)
            continue; /* 584 years after t0: saturated */
        /* All up to n are due at its instant, and one ns before it n is not. */
        ck_assert_uint_ge(schedule_due_until(&s, due), n + 1);
        if (due > 0)
            ck_assert_uint_le(schedule_due_until(&s, due - 1), n);
    }
}
END_TEST

START_TEST(test_duration_and_count_bound)
{
    struct schedule s = make((struct rate){2000, 1}, whole(), 10 * NS_PER_SEC, UINT64_MAX);
    ck_assert_uint_eq(s.count, 20000);
    s = make((struct rate){2000, 1}, whole(), 10 * NS_PER_SEC, 500);
    ck_assert_uint_eq(s.count, 500);
    s = make((struct rate){1, 3600}, whole(), NS_PER_SEC, UINT64_MAX);
    ck_assert_uint_eq(s.count, 1); /* request 0 leaves at t0 */
    s = make((struct rate){3, 1}, whole(), NS_PER_SEC + 1, UINT64_MAX);
    ck_assert_uint_eq(s.count, 4); /* 0, 1/3, 2/3 and 1 s */
    s = make((struct rate){1, 1}, whole(), NS_NEVER, UINT64_MAX);
    ck_assert_uint_eq(s.count, UINT64_MAX);
}
END_TEST

START_TEST(test_bad_shares_are_refused)
{
    struct rate rate = {1, 1};
    struct share bad[] = {{0, 0, 1, 1, 0}, {2, 2, 1, 1, 0}, {2, 1, 2, 1, 0},
                          {2, 0, 0, 1, 0}, {1, 0, 1, 0, 0}, {1, 0, 1, 2, 2}};
    struct schedule s;
    struct errmsg msg;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(schedule_init(&s, &rate, &bad[i], 1, 1, &msg), ERR_INVALID);
    struct share ok = whole();
    struct rate over = {1, 0};
    ck_assert_int_eq(schedule_init(&s, &over, &ok, 1, 1, &msg), ERR_INVALID);
}
END_TEST

/* No due times: only the count bounds it, and it is shared out like any other. */
START_TEST(test_closed_loop)
{
    struct rate none = {0, 1};
    struct schedule s = make(none, whole(), NS_PER_SEC, UINT64_MAX);
    ck_assert(schedule_is_closed(&s));
    ck_assert_uint_eq(s.count, UINT64_MAX);
    ck_assert_uint_eq(schedule_due(&s, 12345), 0);
    static const uint32_t weights[] = {1, 2}, threads[] = {2, 3};
    check_union(none, weights, threads, 2, 1001, NS_NEVER);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule");
    TCase *t = tcase_create("schedule");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_due_is_exact);
    tcase_add_test(t, test_no_drift_over_ten_million);
    tcase_add_test(t, test_union_of_shards_is_the_single_schedule);
    tcase_add_test(t, test_survivors_own_everything_from_an_index_on);
    tcase_add_test(t, test_reshare_bounds);
    tcase_add_test(t, test_due_until_counts_exactly);
    tcase_add_test(t, test_duration_and_count_bound);
    tcase_add_test(t, test_bad_shares_are_refused);
    tcase_add_test(t, test_closed_loop);
    suite_add_tcase(s, t);
    return check_main(s);
}
