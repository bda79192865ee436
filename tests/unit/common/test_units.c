/* SPDX-License-Identifier: MIT */
#include "common/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define ROUNDS      5000

struct duration_case {
    const char *text;
    uint64_t bare, ns;
};

START_TEST(test_durations)
{
    static const struct duration_case cases[] = {
        {"500ms", 0, 500 * NS_PER_MS},
        {"0.6s", 0, 600 * NS_PER_MS},
        {"30s", 0, 30 * NS_PER_SEC},
        {"2m", 0, 120 * NS_PER_SEC},
        {"1h30m", 0, 5400 * NS_PER_SEC},
        {"1d4h", 0, 28 * 3600 * NS_PER_SEC},
        {"100us", 0, 100 * NS_PER_US},
        {"5ns", 0, 5},
        {"1.5us", 0, 1500},
        {"0.000000001s", 0, 1},
        {"0.1000000000000000000000000000s", 0, 100 * NS_PER_MS},
        {"1m0.25s", 0, 60250 * NS_PER_MS},
        {"0s", 0, 0},
        {"007s", 0, 7 * NS_PER_SEC},
        {"30", NS_PER_SEC, 30 * NS_PER_SEC},
        {"0.6", NS_PER_SEC, 600 * NS_PER_MS},
        {"2000", NS_PER_MS, 2 * NS_PER_SEC},
        {"2s", NS_PER_MS, 2 * NS_PER_SEC},
        {"9223372036854775808ns", 0, UINT64_C(1) << 63},
        {"9223372036.854775808", NS_PER_SEC, UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        uint64_t ns = 0;
        struct errmsg msg = {{0}};
        enum err e = units_parse_duration(cases[i].text, cases[i].bare, &ns, &msg);
        ck_assert_msg(e == ERR_OK, "%s: %s", cases[i].text, msg.text);
        ck_assert_msg(ns == cases[i].ns, "%s gave %lu", cases[i].text, (unsigned long)ns);
    }
}
END_TEST

struct refused {
    const char *text;
    enum err e;
    const char *fragment;
};

static void check_refused(const struct refused *c, enum err e, const struct errmsg *msg,
                          const char *accepted)
{
    ck_assert_msg(e == c->e, "'%s' gave %s", c->text, err_str(e));
    ck_assert_msg(strstr(msg->text, c->fragment) != NULL, "'%s': %s", c->text, msg->text);
    ck_assert_msg(strstr(msg->text, accepted) != NULL, "'%s': %s", c->text, msg->text);
}

START_TEST(test_durations_refused)
{
    static const struct refused cases[] = {
        {"", ERR_INVALID, "\"\": "},
        {"30", ERR_INVALID, "30: a unit is missing"},
        {"-5s", ERR_INVALID, "-5s: "},
        {"+5s", ERR_INVALID, "+5s: "},
        {" 5s", ERR_INVALID, " 5s: "},
        {"5s ", ERR_INVALID, "5s : "},
        {"5 s", ERR_INVALID, "unknown unit"},
        {"5x", ERR_INVALID, "5x: unknown unit"},
        {"5S", ERR_INVALID, "unknown unit"},
        {"1e3s", ERR_INVALID, "unknown unit"},
        {".5s", ERR_INVALID, ".5s: "},
        {"5.s", ERR_INVALID, "5.s: "},
        {"1.2.3s", ERR_INVALID, "unknown unit"},
        {"s", ERR_INVALID, "s: "},
        {"0x10s", ERR_INVALID, "unknown unit"},
        {"1h30", ERR_INVALID, "a unit is missing"},
        {"30m1h", ERR_INVALID, "from large to small"},
        {"1m1m", ERR_INVALID, "from large to small"},
        {"0.5ns", ERR_INVALID, "more precise than 1 ns"},
        {"0.0000000001s", ERR_INVALID, "more precise than 1 ns"},
        {"0.0000000000000000000000000001s", ERR_INVALID, "more precise than 1 ns"},
        {"9223372036854775809ns", ERR_RANGE, "too long"},
        {"99999999999999999999999s", ERR_RANGE, "too long"},
        {"18446744073709551615h", ERR_RANGE, "too long"},
        {"106751d24h", ERR_RANGE, "too long"},
        {"inf", ERR_INVALID, "inf: "},
        {"1\033[2Js", ERR_INVALID, "1?[2Js: "},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        uint64_t ns = 77;
        struct errmsg msg = {{0}};
        enum err e = units_parse_duration(cases[i].text, 0, &ns, &msg);
        check_refused(&cases[i], e, &msg, "accepted is a duration such as 500ms");
        ck_assert_uint_eq(ns, 77);
    }
    struct errmsg msg = {{0}};
    uint64_t ns;
    ck_assert(units_parse_duration("1h30", NS_PER_SEC, &ns, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "a bare number is seconds"));
    ck_assert(units_parse_duration("x", NS_PER_MS, &ns, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "a bare number is milliseconds"));
}
END_TEST

struct rate_case {
    const char *text;
    struct rate rate;
};

START_TEST(test_rates)
{
    static const struct rate_case cases[] = {
        {"0.1", {1, 10}},
        {"2000", {2000, 1}},
        {"2k", {2000, 1}},
        {"2K", {2000, 1}},
        {"1.5k", {1500, 1}},
        {"2M", {2000000, 1}},
        {"1G", {1000000000, 1}},
        {"100/s", {100, 1}},
        {"6/m", {1, 10}},
        {"1/h", {1, 3600}},
        {"1/d", {1, 86400}},
        {"50/1s", {50, 1}},
        {"1/7s", {1, 7}},
        {"1.5/m", {1, 40}},
        {"1k/h", {5, 18}},
        {"0.000000001", {1, 1000000000}},
        {"3600000000000/h", {1000000000, 1}},
        {"1/8589934592s", {1, RATE_DEN_MAX}},
        {"33.30", {333, 10}},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rate r = {0, 0};
        struct errmsg msg = {{0}};
        enum err e = units_parse_rate(cases[i].text, &r, &msg);
        ck_assert_msg(e == ERR_OK, "%s: %s", cases[i].text, msg.text);
        ck_assert_msg(r.num == cases[i].rate.num && r.den == cases[i].rate.den, "%s gave %lu/%lu",
                      cases[i].text, (unsigned long)r.num, (unsigned long)r.den);
    }
}
END_TEST

START_TEST(test_rates_refused)
{
    static const struct refused cases[] = {
        {"", ERR_INVALID, "\"\": "},
        {"0", ERR_RANGE, "0: "},
        {"0.0k/h", ERR_RANGE, "0.0k/h: "},
        {"-5", ERR_INVALID, "-5: "},
        {"+5", ERR_INVALID, "+5: "},
        {"1e3", ERR_INVALID, "1e3: "},
        {"5m", ERR_INVALID, "5m: "},
        {"5/", ERR_INVALID, "5/: "},
        {"5/x", ERR_INVALID, "5/x: "},
        {"5/0s", ERR_INVALID, "5/0s: "},
        {"5/7", ERR_INVALID, "5/7: "},
        {"5/ms", ERR_INVALID, "5/ms: "},
        {"5/s/s", ERR_INVALID, "5/s/s: "},
        {"5kk", ERR_INVALID, "5kk: "},
        {"/s", ERR_INVALID, "/s: "},
        {"1000000001", ERR_RANGE, "1000000001: "},
        {"99999999999999999999", ERR_RANGE, "99999999999999999999: "},
        {"18446744073709551615G", ERR_RANGE, ": "},
        {"1/8589934593s", ERR_RANGE, ": "},
        {"1/99999999999999999999d", ERR_RANGE, ": "},
        {"0.000000001/h", ERR_RANGE, ": "},
        {"0.0000000001", ERR_INVALID, "more than 9 decimals"},
        {"infinity", ERR_INVALID, "infinity: "},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rate r = {7, 7};
        struct errmsg msg = {{0}};
        enum err e = units_parse_rate(cases[i].text, &r, &msg);
        check_refused(&cases[i], e, &msg, "accepted is a rate above 0 such as 2000");
        ck_assert(r.num == 7 && r.den == 7);
    }
}
END_TEST

START_TEST(test_counts)
{
    static const struct {
        const char *text;
        uint64_t n;
    } cases[] = {
        {"0", 0},       {"10", 10},      {"10k", 10000},      {"1M", 1000000},
        {"1.5k", 1500}, {"2.50k", 2500}, {"3G", 3000000000u}, {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        uint64_t n = 1;
        ck_assert(units_parse_count(cases[i].text, &n, NULL) == ERR_OK);
        ck_assert_uint_eq(n, cases[i].n);
    }
    static const struct refused refused[] = {
        {"", ERR_INVALID, "\"\": "},
        {"1.5", ERR_INVALID, "1.5: "},
        {"1.0005k", ERR_INVALID, "1.0005k: "},
        {"-1", ERR_INVALID, "-1: "},
        {"10/s", ERR_INVALID, "10/s: "},
        {"ten", ERR_INVALID, "ten: "},
        {"1m", ERR_INVALID, "1m: "},
        {"18446744073709551616", ERR_RANGE, "18446744073709551616: "},
        {"18446744073709552k", ERR_RANGE, "18446744073709552k: "},
    };
    for (size_t i = 0; i < N_OF(refused); i++) {
        uint64_t n = 77;
        struct errmsg msg = {{0}};
        check_refused(&refused[i], units_parse_count(refused[i].text, &n, &msg), &msg,
                      "accepted is a whole number such as 10");
        ck_assert_uint_eq(n, 77);
    }
}
END_TEST

struct text_case {
    uint64_t ns;
    const char *text;
};

START_TEST(test_percents)
{
    static const struct {
        const char *text;
        uint64_t ppb;
        const char *back;
    } good[] = {
        {"5%", 50000000, "5%"},
        {"5", 50000000, "5%"},
        {"0.1%", 1000000, "0.1%"},
        {"0", 0, "0%"},
        {"12.50%", 125000000, "12.5%"},
        {"0.0000001%", 1, "0.0000001%"},
        {"100%", 1000000000, "100%"},
        {"99.9999999", 999999999, "99.9999999%"},
        {"1000000%", UINT64_C(10000000000000), "1000000%"},
    };
    static const char *const bad[] = {"",    "%",    "-1%", "+1",          "1%%", "1 %",
                                      "1.%", "1e3%", ".5%", "0.00000001%", "x",   "1000001%"};
    char text[UNITS_TEXT];
    struct errmsg msg;
    uint64_t ppb;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(units_parse_percent(good[i].text, &ppb, &msg), ERR_OK);
        ck_assert_uint_eq(ppb, good[i].ppb);
        ck_assert_str_eq(units_format_percent(ppb, text), good[i].back);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(units_parse_percent(bad[i], &ppb, &msg) != ERR_OK, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(msg.text, "accepted is a percentage such as 5% or 0.1%"));
    }
}
END_TEST

START_TEST(test_format_latency)
{
    static const struct text_case cases[] = {
        {0, "0ns"},
        {512, "512ns"},
        {999, "999ns"},
        {1000, "1.00us"},
        {255600, "255.60us"},
        {999994, "999.99us"},
        {999995, "1.00ms"},
        {182190000, "182.19ms"},
        {1040000000, "1.04s"},
        {59994999999, "59.99s"},
        {59995000000, "1.00m"},
        {150000000000, "2.50m"},
        {3599999999999, "1.00h"},
        {4320000000000, "1.20h"},
        {UINT64_MAX, "5124095.58h"},
    };
    char buf[UNITS_TEXT];
    for (size_t i = 0; i < N_OF(cases); i++)
        ck_assert_str_eq(units_format_latency(cases[i].ns, buf), cases[i].text);
}
END_TEST

START_TEST(test_format_duration)
{
    static const struct text_case cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500, "1.5us"},
        {500 * NS_PER_MS, "500ms"},
        {1500 * NS_PER_MS, "1.5s"},
        {10 * NS_PER_SEC, "10s"},
        {90 * NS_PER_SEC, "1m30s"},
        {3600 * NS_PER_SEC, "1h"},
        {5400 * NS_PER_SEC, "1h30m"},
        {3600 * NS_PER_SEC + 1, "1h1ns"},
        {8760 * 3600 * NS_PER_SEC, "8760h"},
    };
    char buf[UNITS_TEXT];
    for (size_t i = 0; i < N_OF(cases); i++)
        ck_assert_str_eq(units_format_duration(cases[i].ns, buf), cases[i].text);
}
END_TEST

START_TEST(test_format_offset_bytes_rate)
{
    char buf[UNITS_TEXT];
    ck_assert_str_eq(units_format_offset(0, buf), "+0ns");
    ck_assert_str_eq(units_format_offset(-512, buf), "-512ns");
    ck_assert_str_eq(units_format_offset(12345, buf), "+12us");
    ck_assert_str_eq(units_format_offset(999499, buf), "+999us");
    ck_assert_str_eq(units_format_offset(999500, buf), "+1.00ms");
    ck_assert_str_eq(units_format_offset(-3400000, buf), "-3.40ms");
    ck_assert_str_eq(units_format_offset(INT64_MIN, buf), "-2562047.79h");

    ck_assert_str_eq(units_format_bytes(812, buf), "812B");
    ck_assert_str_eq(units_format_bytes(1023.6, buf), "1.00KB");
    ck_assert_str_eq(units_format_bytes(152.31 * 1024, buf), "152.31KB");
    ck_assert_str_eq(units_format_bytes(1024.0 * 1024 - 1, buf), "1.00MB");
    ck_assert_str_eq(units_format_bytes(1.49 * 1024 * 1024, buf), "1.49MB");
    ck_assert_str_eq(units_format_bytes(-1, buf), "0B");
    ck_assert_str_eq(units_format_bytes((double)NAN, buf), "0B");
    ck_assert_str_eq(units_format_bytes((double)INFINITY, buf), "867361.74EB");

    static const struct rate_case rates[] = {
        {"2000/s", {2000, 1}}, {"0.1/s", {1, 10}}, {"1.5/s", {3, 2}},
        {"1/h", {1, 3600}},    {"20/m", {1, 3}},   {"1/7s", {1, 7}},
        {"1/d", {1, 86400}},   {"1/m", {1, 60}},   {"0.000000001/s", {1, 1000000000}},
        {"0/0s", {0, 0}},
    };
    for (size_t i = 0; i < N_OF(rates); i++)
        ck_assert_str_eq(units_format_rate(&rates[i].rate, buf), rates[i].text);
}
END_TEST

START_TEST(test_format_utc)
{
    char buf[UNITS_TEXT];
    ck_assert_str_eq(units_format_utc(0, buf), "1970-01-01T00:00:00Z");
    ck_assert_str_eq(units_format_utc(1796065699999999999, buf), "2026-11-30T19:08:19Z");
    ck_assert_str_eq(units_format_utc(UINT64_MAX, buf), "2554-07-21T23:34:33Z");
}
END_TEST

START_TEST(test_shown_is_bounded_and_printable)
{
    char buf[UNITS_SHOWN];
    ck_assert_str_eq(units_format_shown(NULL, buf), "\"\"");
    ck_assert_str_eq(units_format_shown("", buf), "\"\"");
    ck_assert_str_eq(units_format_shown("a\nb\x80", buf), "a?b?");
    char big[300];
    for (size_t len = 1; len < sizeof big; len++) {
        memset(big, 'x', len);
        big[len] = '\0';
        units_format_shown(big, buf);
        ck_assert(strlen(buf) < UNITS_SHOWN);
        if (len < UNITS_SHOWN - 4)
            ck_assert_str_eq(buf, big);
        if (len > UNITS_SHOWN)
            ck_assert_str_eq(buf + strlen(buf) - 4, "x...");
    }
}
END_TEST

static uint64_t random_magnitude(uint64_t *rng)
{
    return check_random(rng) >> check_below(rng, 64);
}

/* What is printed parses to the same value, and every figure fits its buffer. */
START_TEST(test_round_trips)
{
    uint64_t rng = check_seed();
    char buf[UNITS_TEXT];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t ns = random_magnitude(&rng) >> 1, back = 0;
        units_format_duration(ns, buf);
        ck_assert(strlen(buf) < UNITS_TEXT - 1);
        ck_assert_msg(units_parse_duration(buf, 0, &back, NULL) == ERR_OK && back == ns, "%s", buf);

        uint64_t den = 1 + check_below(&rng, RATE_DEN_MAX) / (1 + random_magnitude(&rng));
        uint64_t num = 1 + check_below(&rng, RATE_MAX * den) / (1 + random_magnitude(&rng));
        struct rate made = {num, den}, r = {0, 0};
        units_format_rate(&made, buf);
        ck_assert_msg(units_parse_rate(buf, &r, NULL) == ERR_OK, "%s", buf);
        ck_assert_msg((unsigned __int128)r.num * den == (unsigned __int128)num * r.den, "%s", buf);

        units_format_latency(random_magnitude(&rng), buf);
        ck_assert_msg(strncmp(buf, "1000.00", 7) != 0 && strcmp(buf, "60.00s") != 0, "%s", buf);
    }
}
END_TEST

struct decimal_text {
    char text[64];
    uint64_t num, den;
};

static struct decimal_text random_decimal(uint64_t *rng)
{
    struct decimal_text d = {.den = 1};
    int decimals = (int)check_below(rng, 10);
    uint64_t whole = check_below(rng, 1000), frac = 0;
    for (int i = 0; i < decimals; i++)
        d.den *= 10;
    frac = check_below(rng, d.den);
    d.num = whole * d.den + frac;
    if (decimals == 0)
        snprintf(d.text, sizeof d.text, "%lu", (unsigned long)whole);
    else
        snprintf(d.text, sizeof d.text, "%lu.%0*lu", (unsigned long)whole, decimals,
                 (unsigned long)frac);
    return d;
}

/* Parsed values equal the written decimal exactly, in whatever unit. */
START_TEST(test_decimals_are_exact)
{
    static const struct {
        const char *unit;
        uint64_t seconds;
    } periods[] = {{"/s", 1}, {"/m", 60}, {"/h", 3600}, {"", 1}};
    uint64_t rng = check_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct decimal_text d = random_decimal(&rng);
        char text[80];
        uint64_t ns = 0;
        snprintf(text, sizeof text, "%ss", d.text);
        ck_assert(units_parse_duration(text, 0, &ns, NULL) == ERR_OK);
        ck_assert_uint_eq(ns, d.num * (NS_PER_SEC / d.den));

        size_t p = check_below(&rng, N_OF(periods));
        struct rate r;
        snprintf(text, sizeof text, "%s%s", d.text, periods[p].unit);
        if (units_parse_rate(text, &r, NULL) != ERR_OK) {
            ck_assert_msg(d.num == 0 || d.den * periods[p].seconds > RATE_DEN_MAX, "%s", text);
            continue;
        }
        ck_assert_msg((unsigned __int128)r.num * d.den * periods[p].seconds ==
                          (unsigned __int128)d.num * r.den,
                      "%s", text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("units");
    TCase *tc = tcase_create("units");
    tcase_set_timeout(tc, 30); /* sanitizers on a busy machine */
    tcase_add_test(tc, test_durations);
    tcase_add_test(tc, test_durations_refused);
    tcase_add_test(tc, test_rates);
    tcase_add_test(tc, test_rates_refused);
    tcase_add_test(tc, test_counts);
    tcase_add_test(tc, test_percents);
    tcase_add_test(tc, test_format_latency);
    tcase_add_test(tc, test_format_duration);
    tcase_add_test(tc, test_format_offset_bytes_rate);
    tcase_add_test(tc, test_shown_is_bounded_and_printable);
    tcase_add_test(tc, test_format_utc);
    tcase_add_test(tc, test_round_trips);
    tcase_add_test(tc, test_decimals_are_exact);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return check_main(suite());
}
