/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "agent/client/cookies.h"

/* RFC 6265 section 5.1.1: tokens in any order; the first that looks like a time, a day, a month, a
 * year is it. */

struct date {
    bool has_time, has_day, has_month, has_year;
    unsigned hour, minute, second, day, month, year;
};

static bool is_delimiter(char c)
{
    unsigned char u = (unsigned char)c;
    return u == '\t' || (u >= ' ' && u <= '/') || (u >= ';' && u <= '@') ||
           (u >= '[' && u <= '`') || (u >= '{' && u <= '~');
}

/* Up to `most` digits, at least `least`; how many there are. */
static size_t digits(const char *s, size_t len, size_t least, size_t most, unsigned *v)
{
    size_t n = 0;
    *v = 0;
    while (n < len && n < most && s[n] >= '0' && s[n] <= '9')
        *v = *v * 10 + (unsigned)(s[n++] - '0');
    bool more = n < len && s[n] >= '0' && s[n] <= '9';
    return n >= least && !more ? n : 0;
}

static bool take_time(struct date *d, const char *s, size_t len)
{
    unsigned *parts[] = {&d->hour, &d->minute, &d->second};
    struct date was = *d;
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t n = digits(s + at, len - at, 1, 2, parts[i]);
        at += n;
        if (n == 0 || (i < 2 && (at == len || s[at++] != ':'))) {
            *d = was;
            return false;
        }
    }
    return d->has_time = true;
}

static bool take_month(struct date *d, const char *s, size_t len)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (unsigned m = 0; len >= 3 && m < 12; m++) {
        if (strncasecmp(s, names + (size_t)m * 3, 3) != 0)
            continue;
        d->month = m + 1;
        return d->has_month = true;
    }
    return false;
}

static void take_token(struct date *d, const char *s, size_t len)
{
    unsigned v;
    if (!d->has_time && take_time(d, s, len))
        return;
    if (!d->has_day && digits(s, len, 1, 2, &v) > 0) {
        d->day = v;
        d->has_day = true;
        return;
    }
    if (!d->has_month && take_month(d, s, len))
        return;
    if (!d->has_year && digits(s, len, 2, 4, &v) > 0) {
        d->year = v < 70 ? v + 2000 : v < 100 ? v + 1900 : v;
        d->has_year = true;
    }
}

static bool valid(const struct date *d)
{
    return d->has_time && d->has_day && d->has_month && d->has_year && d->day >= 1 &&
           d->day <= 31 && d->year >= 1601 && d->hour < 24 && d->minute < 60 && d->second < 60;
}

/* Days from 1970-01-01 on of a date not before it (civil calendar, years that begin in March). */
static uint64_t days_of(const struct date *d)
{
    uint64_t y = d->year - (d->month <= 2), era = y / 400, of_era = y % 400;
    uint64_t of_year =
        (153 * (uint64_t)(d->month > 2 ? d->month - 3 : d->month + 9) + 2) / 5 + d->day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool cookie_date(const char *text, size_t len, uint64_t *s)
{
    struct date d = {0};
    size_t at = 0;
    while (at < len) {
        size_t end = at;
        while (end < len && !is_delimiter(text[end]))
            end++;
        if (end > at)
            take_token(&d, text + at, end - at);
        at = end + 1;
    }
    if (!valid(&d))
        return false;
    *s = d.year < 1970 ? 0 : days_of(&d) * 86400 + d.hour * 3600 + d.minute * 60 + d.second;
    return true;
}
