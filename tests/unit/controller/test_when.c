/* SPDX-License-Identifier: MIT */
#include "controller/cmd/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define HOUR_S 3600

/* 2026-11-30 12:00:00 UTC. */
#define NOW_S  INT64_C(1796040000)
#define NOW_NS ((uint64_t)NOW_S * NS_PER_SEC)

static int64_t fixed(const void *arg, int64_t unix_s)
{
    (void)unix_s;
    return *(const int64_t *)arg;
}

static struct errmsg msg;

static uint64_t parse_at(const char *text, bool end, const struct when_zone *zone)
{
    uint64_t ns = 0;
    enum err e = when_parse(text, end, NOW_NS, zone, &ns, &msg);
    ck_assert_msg(e == ERR_OK, "%s: %s", text, msg.text);
    return ns;
}

static uint64_t parse(const char *text, bool end)
{
    static const int64_t utc = 0;
    const struct when_zone zone = {fixed, &utc};
    return parse_at(text, end, &zone);
}

static void refused(const char *text, const char *said, const char *also)
{
    static const int64_t utc = 0;
    const struct when_zone zone = {fixed, &utc};
    uint64_t ns;
    msg.text[0] = '\0';
    ck_assert_msg(when_parse(text, false, NOW_NS, &zone, &ns, &msg) != ERR_OK, "%s", text);
    ck_assert_msg(strstr(msg.text, said) != NULL, "%s", msg.text);
    ck_assert_msg(strstr(msg.text, also) != NULL, "%s", msg.text);
}

static uint64_t instant(int y, int m, int d, int hh, int mm)
{
    struct tm tm = {
        .tm_year = y - 1900, .tm_mon = m - 1, .tm_mday = d, .tm_hour = hh, .tm_min = mm};
    return (uint64_t)timegm(&tm) * NS_PER_SEC;
}

/* Every form of any date and time says the same, as libc has it. */
START_TEST(all_forms_agree)
{
    static const char *const dates[] = {"%3$02d.%2$02d.%1$04d", "%2$02d/%3$02d/%1$04d",
                                        "%1$04d-%2$02d-%3$02d", "%3$d.%2$d.%1$d"};
    static const char *const times[] = {" %02d:%02d", "_%02d:%02d", "T%02d:%02d:00",
                                        "T%02d:%02d:00.000Z", " %02d:%02d+00:00"};
    uint64_t rng = check_seed();
    for (int i = 0; i < 20000; i++) {
        int y = 2000 + (int)check_below(&rng, 100), m = 1 + (int)check_below(&rng, 12);
        int d = 1 + (int)check_below(&rng, 28);
        int hh = (int)check_below(&rng, 24), mm = (int)check_below(&rng, 60);
        char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        int n = snprintf(text, sizeof text, dates[i % 4], y, m, d);
        ck_assert_uint_eq(parse(text, false), instant(y, m, d, 0, 0));
        ck_assert_uint_eq(parse(text, true),
                          instant(y, m, d, 0, 0) + UINT64_C(86400) * NS_PER_SEC - 1);
        snprintf(text + n, sizeof text - (size_t)n, times[i % 5], hh, mm);
#pragma GCC diagnostic pop
        ck_assert_uint_eq(parse(text, false), instant(y, m, d, hh, mm));
        ck_assert_uint_eq(parse(text, true), instant(y, m, d, hh, mm));
        snprintf(text, sizeof text, "%02d.%02d.%02d", d, m, y - 2000);
        ck_assert_uint_eq(parse(text, false), instant(y, m, d, 0, 0));
        snprintf(text, sizeof text, "%02d/%02d/%02d", m, d, y - 2000);
        ck_assert_uint_eq(parse(text, false), instant(y, m, d, 0, 0));
    }
}
END_TEST

static bool real(int y, int m, int d)
{
    struct tm tm = {.tm_year = y - 1900, .tm_mon = m - 1, .tm_mday = d};
    if (y < 2000 || y > 2099 || m < 1 || m > 12 || d < 1)
        return false;
    timegm(&tm);
    return tm.tm_mon == m - 1 && tm.tm_mday == d;
}

/* Runs of digits: accepted if and only if there is one real date. */
START_TEST(runs_of_digits_have_one_reading)
{
    static const int64_t utc = 0;
    const struct when_zone zone = {fixed, &utc};
    uint64_t rng = check_seed();
    size_t accepted = 0;
    for (int i = 0; i < 100000; i++) {
        int a = (int)check_below(&rng, 100), b = (int)check_below(&rng, 35);
        int c = (int)check_below(&rng, 35), e = (int)check_below(&rng, 100);
        char text[16];
        uint64_t ns = 0;
        snprintf(text, sizeof text, "%02d%02d%02d%02d", a, b, c, e);
        /* 1202-20-12 is no year that counts, so that hardly any is ambiguous. */
        bool us = real(c * 100 + e, a, b), iso = real(a * 100 + b, c, e);
        bool ok = when_parse(text, false, NOW_NS, &zone, &ns, &msg) == ERR_OK;
        bool same =
            us && iso && instant(c * 100 + e, a, b, 0, 0) == instant(a * 100 + b, c, e, 0, 0);
        ck_assert_msg(ok == ((us != iso) || same), "%s", text);
        if (ok)
            ck_assert_uint_eq(ns, us ? instant(c * 100 + e, a, b, 0, 0)
                                     : instant(a * 100 + b, c, e, 0, 0));
        accepted += ok;
        snprintf(text, sizeof text, "%02d%02d%02d", b, c, e);
        ok = when_parse(text, false, NOW_NS, &zone, &ns, &msg) == ERR_OK;
        us = real(2000 + e, b, c);
        ck_assert(!ok || (us && ns == instant(2000 + e, b, c, 0, 0)));
        if (us && !real(2000 + b, c, e) && !real(2000 + e, c, b))
            ck_assert_msg(ok, "%s: %s", text, msg.text);
    }
    ck_assert_uint_gt(accepted, 100);
}
END_TEST

START_TEST(ambiguous_digits_name_both)
{
    refused("010203", "2003-01-02 as MMDDYY", "2001-02-03 as YYMMDD");
    refused("261130", "2026-11-30 as YYMMDD", "2030-11-26 as DDMMYY");
    refused("20052006", "accepted is", "no such date");
}
END_TEST

START_TEST(how_long_ago)
{
    ck_assert_uint_eq(parse("30m", false), NOW_NS - 1800 * NS_PER_SEC);
    ck_assert_uint_eq(parse("1h", true), NOW_NS - HOUR_S * NS_PER_SEC);
    ck_assert_uint_eq(parse("1h30m", false), NOW_NS - 5400 * NS_PER_SEC);
    ck_assert_uint_eq(parse("2d", false), NOW_NS - 2 * UINT64_C(86400) * NS_PER_SEC);
    ck_assert_uint_eq(parse("3w", false), NOW_NS - 21 * UINT64_C(86400) * NS_PER_SEC);
    ck_assert_uint_eq(parse("5200w", false), 0);
    ck_assert_uint_eq(parse("today", false), instant(2026, 11, 30, 0, 0));
    ck_assert_uint_eq(parse("today", true), instant(2026, 12, 1, 0, 0) - 1);
    ck_assert_uint_eq(parse("yesterday", false), instant(2026, 11, 29, 0, 0));
    ck_assert_uint_eq(parse("yesterday 07:05", false), instant(2026, 11, 29, 7, 5));
    ck_assert_uint_eq(parse("09:30", true), instant(2026, 11, 30, 9, 30));
    ck_assert_uint_eq(parse("23:59_20260224", false), instant(2026, 2, 24, 23, 59));
    ck_assert_uint_eq(parse("23:59 24.02.2026", false), instant(2026, 2, 24, 23, 59));
    ck_assert_uint_eq(parse("2026-11-30T10:15:30.25+05:30", false),
                      instant(2026, 11, 30, 4, 45) + 30 * NS_PER_SEC + 250000000);
    ck_assert_uint_eq(parse("2026-11-30T10:15-0800", false), instant(2026, 11, 30, 18, 15));
}
END_TEST

START_TEST(what_is_no_instant_is_refused)
{
    refused("30.02.2026", "30.02.2026: there is no such day", "has 28");
    refused("31.04.26", "no such day", "has 30");
    refused("13/01/2026", "no month 13", "");
    refused("24.02.1999", "1999", "2000 to 2099");
    static const char *const none[] = {"",
                                       "5",
                                       "m",
                                       "24.02.",
                                       "24.02",
                                       "-1h",
                                       "9999999w",
                                       "tomorrow",
                                       "todayy",
                                       "today 25:00",
                                       "12:60",
                                       "1:30",
                                       "2026-11-30T",
                                       "2026-11-30 10",
                                       "2026-11-30T10:15+99:00",
                                       "2026-11-30T10:15Zx",
                                       "2026-1-3",
                                       "2026/11/30",
                                       "1234567",
                                       "123456789",
                                       "10:15_",
                                       "10:15_x",
                                       "2026-11-30x",
                                       "99999999",
                                       "311299x",
                                       "12:00:60"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        refused(none[i], "accepted is", "");
}
END_TEST

/* Berlin's rule of 2026: +1, from 29 March 01:00 UTC to 25 October 01:00 UTC +2. */
static int64_t berlin(const void *arg, int64_t unix_s)
{
    (void)arg;
    int64_t from = (int64_t)(instant(2026, 3, 29, 1, 0) / NS_PER_SEC);
    int64_t to = (int64_t)(instant(2026, 10, 25, 1, 0) / NS_PER_SEC);
    return unix_s >= from && unix_s < to ? 2 * HOUR_S : HOUR_S;
}

START_TEST(clocks_that_are_moved)
{
    const struct when_zone zone = {berlin, NULL};
    uint64_t ns;
    ck_assert_uint_eq(parse_at("29.03.2026 01:59", false, &zone), instant(2026, 3, 29, 0, 59));
    ck_assert_uint_eq(parse_at("29.03.2026 03:00", false, &zone), instant(2026, 3, 29, 1, 0));
    ck_assert_uint_eq(parse_at("25.10.2026 02:30", false, &zone), instant(2026, 10, 25, 0, 30));
    ck_assert_uint_eq(parse_at("25.10.2026 03:00", false, &zone), instant(2026, 10, 25, 2, 0));
    ck_assert_uint_eq(parse_at("29.03.2026", true, &zone), instant(2026, 3, 29, 22, 0) - 1);
    ck_assert_uint_eq(parse_at("29.03.2026 02:30Z", false, &zone), instant(2026, 3, 29, 2, 30));
    ck_assert_int_ne(when_parse("29.03.2026 02:30", false, NOW_NS, &zone, &ns, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "put forward"));
}
END_TEST

/* Against libc's own idea of a zone, an hour at a time through a year. */
START_TEST(local_time_is_the_systems)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    for (int64_t s = NOW_S; s < NOW_S + 366 * 86400; s += HOUR_S) {
        char text[32];
        time_t at = (time_t)s;
        struct tm tm;
        localtime_r(&at, &tm);
        strftime(text, sizeof text, "%Y-%m-%d_%H:%M", &tm);
        uint64_t ns = parse_at(text, false, &when_local);
        tm.tm_isdst = -1;
        ck_assert_msg(ns == (uint64_t)s * NS_PER_SEC ||
                          ns == (uint64_t)(s - HOUR_S) * NS_PER_SEC, /* twice in October */
                      "%s", text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("when");
    TCase *t = tcase_create("when");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_forms_agree);
    tcase_add_test(t, runs_of_digits_have_one_reading);
    tcase_add_test(t, ambiguous_digits_name_both);
    tcase_add_test(t, how_long_ago);
    tcase_add_test(t, what_is_no_instant_is_refused);
    tcase_add_test(t, clocks_that_are_moved);
    tcase_add_test(t, local_time_is_the_systems);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
