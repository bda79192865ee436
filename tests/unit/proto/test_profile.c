/* SPDX-License-Identifier: MIT */
#include "proto/profile.h"

#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INDICES 300000 /* the same arithmetic, ten times as slow */
#else
#define INDICES 10000000
#endif

typedef unsigned __int128 u128;

static const struct rate zero = {0, 1};

static struct rate whole(uint64_t num)
{
    return (struct rate){num, 1};
}

static struct stage stage(uint64_t seconds, uint64_t from, uint64_t to)
{
    return (struct stage){seconds * NS_PER_SEC, whole(from), whole(to)};
}

static void make(struct profile *p, const struct stage *stages, size_t n)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(profile_stages(p, stages, n, &msg) == ERR_OK, "%s", msg.text);
}

/* What the inverse promises, at one index. */
static void check_index(const struct profile *p, uint64_t i)
{
    uint64_t due = profile_due(p, i);
    CHECK_MUST(due < p->end_ns);
    CHECK_MUST(profile_until(p, due) > i);
    CHECK_MUST(due == 0 || profile_until(p, due - 1) <= i);
    CHECK_MUST(i == 0 || profile_due(p, i - 1) <= due);
}

START_TEST(test_steps_are_exact)
{
    struct profile p;
    make(&p, (struct stage[]){stage(30, 200, 200), stage(60, 400, 400)}, 2);
    ck_assert_uint_eq(profile_total(&p), 30 * 200 + 60 * 400);
    ck_assert_uint_eq(profile_due(&p, 5999), 5999 * 5 * NS_PER_MS);
    ck_assert_uint_eq(profile_due(&p, 6000), 30 * NS_PER_SEC); /* the first of the second stage */
    ck_assert_uint_eq(profile_due(&p, 6001), 30 * NS_PER_SEC + 2500 * NS_PER_US);
    ck_assert_uint_eq(profile_until(&p, 30 * NS_PER_SEC - 1), 6000);
    ck_assert_uint_eq(profile_until(&p, 30 * NS_PER_SEC), 6001);
    ck_assert_uint_eq(profile_due(&p, 30000), UINT64_MAX);
    ck_assert_uint_eq(profile_until(&p, UINT64_MAX), 30000);
}
END_TEST

/* 100/s to 2000/s in 60 s: N(t) = 100 t + 1900/120 t^2. */
START_TEST(test_ramps_are_exact)
{
    struct profile p;
    make(&p, (struct stage[]){stage(60, 100, 2000)}, 1);
    ck_assert_uint_eq(profile_total(&p), 60 * 1050);
    ck_assert_uint_eq(profile_until(&p, 30 * NS_PER_SEC - 1), 3000 + 14250);
    ck_assert_uint_eq(profile_due(&p, 3000 + 14250), 30 * NS_PER_SEC);
    make(&p, (struct stage[]){stage(10, 0, 200)}, 1); /* N(t) = 10 t^2 */
    ck_assert_uint_eq(profile_total(&p), 1000);
    for (uint64_t t = 0; t < 10; t++)
        ck_assert_uint_eq(profile_due(&p, 10 * t * t), t * NS_PER_SEC);
    make(&p, (struct stage[]){stage(10, 200, 0)}, 1); /* N(t) = 1000 - 10 (10 - t)^2 */
    for (uint64_t t = 0; t < 10; t++)
        ck_assert_uint_eq(profile_due(&p, 1000 - 10 * (10 - t) * (10 - t)), t * NS_PER_SEC);
    for (uint64_t i = 0; i < 1000; i++)
        check_index(&p, i);
}
END_TEST

/* A request belongs to the stage it is due in; the fraction of one goes on into the next. */
START_TEST(test_fractions_go_on)
{
    const struct rate half = {1, 2};
    struct stage s[] = {{3 * NS_PER_SEC, half, half}, {3 * NS_PER_SEC, half, half}, stage(1, 2, 2)};
    struct profile p;
    make(&p, s, 3);
    ck_assert_uint_eq(profile_total(&p), 5);
    const uint64_t due_s[] = {0, 2, 4};
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_uint_eq(profile_due(&p, i), due_s[i] * NS_PER_SEC);
    ck_assert_uint_eq(profile_due(&p, 3), 6 * NS_PER_SEC);
    ck_assert_uint_eq(profile_due(&p, 4), 6500 * NS_PER_MS);
    s[2] = stage(1, 0, 1);
    make(&p, s, 3); /* half a request is left over: it is sent */
    ck_assert_uint_eq(profile_total(&p), 4);
}
END_TEST

/* Stages of one rate are that rate; so is a ramp that does not rise. */
START_TEST(test_equal_stages_are_the_constant_rate)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 200; round++) {
        struct rate r = {1 + check_below(&rng, 2000000), 1 + check_below(&rng, 60)};
        struct stage s[5];
        struct profile p, one;
        for (int i = 0; i < 5; i++)
            s[i] = (struct stage){1 + check_below(&rng, 20 * NS_PER_SEC), r, r};
        make(&p, s, 5);
        ck_assert_int_eq(profile_constant(&one, &r, NULL), ERR_OK);
        ck_assert_uint_eq(profile_total(&p), profile_until(&one, p.end_ns - 1));
        for (int k = 0; k < 500; k++) {
            uint64_t i = check_below(&rng, p.total), ns = check_below(&rng, p.end_ns);
            CHECK_MUST(profile_due(&p, i) == profile_due(&one, i));
            CHECK_MUST(profile_until(&p, ns) == profile_until(&one, ns));
        }
    }
}
END_TEST

static struct rate random_rate(uint64_t *rng)
{
    static const uint64_t dens[] = {1, 1, 1, 2, 7, 10, 60, 3600};
    static const uint64_t nums[] = {1, 10, 3000, 100000, 5000000};
    return (struct rate){1 + check_below(rng, nums[check_below(rng, 5)]),
                         dens[check_below(rng, 8)]};
}

static struct stage random_stage(uint64_t *rng)
{
    static const uint64_t lengths[] = {2, NS_PER_US, NS_PER_SEC, 600 * NS_PER_SEC,
                                       UINT64_C(3600) * NS_PER_SEC};
    struct stage s = {.duration_ns = 1 + check_below(rng, lengths[check_below(rng, 5)]),
                      .from = random_rate(rng)};
    s.to = check_below(rng, 2) == 0 ? s.from : random_rate(rng);
    if (check_below(rng, 4) == 0)
        *(check_below(rng, 2) == 0 ? &s.from : &s.to) = zero;
    return s;
}

/* N(u) - N(t), in 1/(2e9 x 25200) requests (all of dens divide 25200), for one whole stage. */
static u128 integral(const struct stage *s)
{
    return (u128)s->duration_ns *
           (s->from.num * (25200 / s->from.den) + s->to.num * (25200 / s->to.den));
}

/* Any stages: monotone, exactly invertible, and each has the integral of its rate. */
START_TEST(test_any_stages)
{
    uint64_t rng = check_seed();
    const u128 unit = (u128)2 * NS_PER_SEC * 25200;
    for (int round = 0; round < 300; round++) {
        struct stage s[PROFILE_STAGES_MAX];
        size_t n = 1 + check_below(&rng, round % 10 == 0 ? PROFILE_STAGES_MAX : 5);
        struct profile p;
        for (size_t i = 0; i < n; i++)
            s[i] = random_stage(&rng);
        make(&p, s, n);
        u128 sum = 0;
        uint64_t end_ns = 0;
        for (size_t i = 0; i < n; i++) {
            sum += integral(&s[i]);
            end_ns += s[i].duration_ns;
            CHECK_MUST(profile_until(&p, end_ns - 1) == (sum + unit - 1) / unit);
        }
        CHECK_MUST(p.end_ns == end_ns && profile_total(&p) == (sum + unit - 1) / unit);
        for (size_t i = 0; i < n; i++) /* both sides of every boundary */
            for (uint64_t k = 0; k < 3; k++)
                if (p.parts[i].index + k >= 1 && p.parts[i].index + k - 1 < p.total)
                    check_index(&p, p.parts[i].index + k - 1);
        for (int k = 0; k < 300; k++)
            check_index(&p, check_below(&rng, p.total));
    }
}
END_TEST

/* Ten million indices over a ramp: each lies where the integral, taken afresh, says it must. */
START_TEST(test_no_drift_on_a_ramp)
{
    struct profile p;
    make(&p, (struct stage[]){stage(100, 0, 200000)}, 1); /* N(t) = 1000 t^2, t in s */
    ck_assert_uint_eq(profile_total(&p), 10000000);
    uint64_t last = 0;
    for (uint64_t i = 0; i < INDICES; i++) {
        uint64_t due = profile_due(&p, i);
        u128 reached = (u128)1000 * due * due, next = (u128)1000 * (due + 1) * (due + 1);
        u128 wanted = (u128)i * NS_PER_SEC * NS_PER_SEC;
        CHECK_MUST(due >= last && reached <= wanted && wanted < next);
        last = due;
    }
}
END_TEST

static void make_random(struct profile *p, uint64_t *rng)
{
    if (check_below(rng, 2) == 0)
        profile_poisson(p, check_random(rng));
    else
        profile_jitter(p, check_random(rng), 1 + (uint32_t)check_below(rng, 1000000000));
}

/* At random: still monotone and exactly invertible, over one rate and over any stages. */
START_TEST(test_random_on_any_profile)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 300; round++) {
        struct stage s[5];
        struct profile p;
        size_t n = check_below(&rng, 6);
        struct rate r = random_rate(&rng);
        for (size_t i = 0; i < n; i++)
            s[i] = random_stage(&rng);
        if (n > 0)
            make(&p, s, n);
        else
            ck_assert_int_eq(profile_constant(&p, &r, NULL), ERR_OK);
        make_random(&p, &rng);
        uint64_t total = n > 0 ? profile_total(&p) : UINT64_C(1) << 40;
        for (int k = 0; k < 100 && total > 0; k++) {
            uint64_t i = check_below(&rng, total), due = profile_due(&p, i);
            if (n == 0 && due == UINT64_MAX)
                continue; /* in six hundred years */
            CHECK_MUST(n == 0 || due < p.end_ns);
            CHECK_MUST(profile_until(&p, due) > i);
            CHECK_MUST(due == 0 || profile_until(&p, due - 1) <= i);
            CHECK_MUST(i == 0 || profile_due(&p, i - 1) <= due);
        }
        CHECK_MUST(n == 0 || profile_due(&p, total) == UINT64_MAX);
    }
}
END_TEST

/* Each stage has as many as its rate says, give or take 5 standard deviations. */
START_TEST(test_poisson_follows_the_rate)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct profile p;
        make(&p, (struct stage[]){stage(10, 100, 100), stage(10, 0, 1000), stage(5, 2000, 0)}, 3);
        const double expected[] = {1000, 5000, 5000};
        const uint64_t ends_s[] = {10, 20, 25};
        uint64_t last = 0;
        profile_poisson(&p, seed);
        for (int i = 0; i < 3; i++) {
            uint64_t until = profile_until(&p, ends_s[i] * NS_PER_SEC - 1);
            double off = (double)(until - last) - expected[i];
            ck_assert_msg(off * off < 25 * expected[i], "seed %lu, stage %d: %+.0f",
                          (unsigned long)seed, i + 1, off);
            last = until;
        }
        ck_assert_uint_eq(profile_total(&p), last);
    }
}
END_TEST

/* Late by less than that part of the distance to the next one, and on average by half of it. */
START_TEST(test_jitter_is_within_its_bounds)
{
    const uint64_t gap_ns = NS_PER_MS;
    for (uint32_t percent = 10; percent <= 100; percent += 30) {
        struct profile p;
        const struct rate rate = whole(1000);
        const uint64_t most_ns = gap_ns * percent / 100;
        double sum = 0;
        uint64_t latest = 0;
        ck_assert_int_eq(profile_constant(&p, &rate, NULL), ERR_OK);
        profile_jitter(&p, percent, percent * 10000000);
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t late_ns = profile_due(&p, i) - i * gap_ns;
            CHECK_MUST(late_ns < most_ns);
            sum += (double)late_ns;
            latest = late_ns > latest ? late_ns : latest;
        }
        double off = sum / 20000 / (double)most_ns - 0.5;
        ck_assert_msg(off > -0.01 && off < 0.01 && latest > most_ns - most_ns / 100,
                      "%u %%: mean off by %.4f", percent, off);
    }
}
END_TEST

/* A closed loop has no due times; what was random becomes even again. */
START_TEST(test_jitter_of_nothing)
{
    struct profile p;
    const struct rate closed = whole(0), rate = whole(10);
    ck_assert_int_eq(profile_constant(&p, &closed, NULL), ERR_OK);
    profile_jitter(&p, 1, 1000000000);
    ck_assert(p.plain && p.jitter == 0 && profile_due(&p, 5) == 0);
    ck_assert_int_eq(profile_constant(&p, &rate, NULL), ERR_OK);
    profile_jitter(&p, 1, 1000000000);
    ck_assert(profile_due(&p, 5) != NS_PER_SEC / 2);
    make(&p, (struct stage[]){stage(1, 10, 10)}, 1);
    ck_assert_uint_eq(profile_due(&p, 5), NS_PER_SEC / 2);
}
END_TEST

START_TEST(test_bounds)
{
    struct errmsg msg;
    struct profile p;
    struct stage most[PROFILE_STAGES_MAX + 1];
    for (size_t i = 0; i <= PROFILE_STAGES_MAX; i++)
        most[i] = stage(1, RATE_MAX, RATE_MAX);
    ck_assert_int_eq(profile_stages(&p, most, PROFILE_STAGES_MAX + 1, &msg), ERR_INVALID);
    ck_assert_int_eq(profile_stages(&p, most, 0, &msg), ERR_INVALID);
    make(&p, most, PROFILE_STAGES_MAX);
    check_index(&p, p.total - 1);
    const struct rate tiny = {1, RATE_DEN_MAX}, large = {RATE_MAX * RATE_DEN_MAX, RATE_DEN_MAX};
    const struct rate over = {RATE_MAX + 1, 1}, none = {1, 0}, prime = {1, 8589934583};
    const uint64_t year = UINT64_C(365) * 86400 * NS_PER_SEC;
    const struct {
        struct stage s[2];
        const char *text;
    } bad[] = {
        {{stage(1, 1, 1), stage(0, 1, 1)}, "stage 2 has no length"},
        {{stage(1, 0, 0), stage(1, 1, 1)}, "stage 1 sends nothing"},
        {{stage(1, 1, 1), {1, over, over}}, "stage 2 has a rate out of bounds"},
        {{{1, none, none}, stage(1, 1, 1)}, "stage 1 has a rate out of bounds"},
        {{stage(1, 1, 1), {year * 2, tiny, tiny}}, "stage 2 has no length"},
        {{{1, tiny, tiny}, {1, prime, prime}}, "stage 2 has a rate that has no common"},
        {{stage(1, 1, 1), {year, whole(1), large}}, "stage 2 is too long"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(profile_stages(&p, bad[i].s, 2, &msg), ERR_INVALID);
        ck_assert_msg(strncmp(msg.text, bad[i].text, strlen(bad[i].text)) == 0, "%s", msg.text);
    }
    make(&p, (struct stage[]){{year, large, large}, {year, tiny, tiny}}, 2);
    check_index(&p, p.total - 1);
    check_index(&p, p.parts[1].index - 1);
    make(&p, (struct stage[]){stage(UINT64_C(86400) * 90, 0, 1000000)}, 1); /* a quarter */
    check_index(&p, p.total - 1);
    check_index(&p, 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("profile");
    TCase *t = tcase_create("profile");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_steps_are_exact);
    tcase_add_test(t, test_ramps_are_exact);
    tcase_add_test(t, test_fractions_go_on);
    tcase_add_test(t, test_equal_stages_are_the_constant_rate);
    tcase_add_test(t, test_any_stages);
    tcase_add_test(t, test_no_drift_on_a_ramp);
    tcase_add_test(t, test_random_on_any_profile);
    tcase_add_test(t, test_poisson_follows_the_rate);
    tcase_add_test(t, test_jitter_is_within_its_bounds);
    tcase_add_test(t, test_jitter_of_nothing);
    tcase_add_test(t, test_bounds);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
