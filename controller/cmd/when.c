/* SPDX-License-Identifier: MIT */
#include "controller/cmd/when.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/units.h"

#define DAY_S     INT64_C(86400)
#define YEAR_MIN  2000
#define YEAR_MAX  2099
#define WEEKS_MAX 5200

struct date {
    int64_t year, month, day;
};

struct parser {
    const char *text, *at;
    bool end;
    int64_t now_s; /* local */
    const struct when_zone *zone;
    struct errmsg *msg;
};

static enum err refuse(const struct parser *p, const char *why)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(p->msg, ERR_INVALID,
                      "%s: %saccepted is 30m, 2d or 1w (ago), today, yesterday, HH:MM, DD.MM.YYYY, "
                      "MM/DD/YYYY, YYYYMMDD, MMDDYYYY, MMDDYY, YYYY-MM-DD, each also with HH:MM "
                      "behind it, HH:MM_YYYYMMDD, or ISO 8601",
                      units_format_shown(p->text, shown), why);
}

/* --- dates ---------------------------------------------------------------------------------- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_in(int64_t year, int64_t month)
{
    static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static bool is_date(struct date d)
{
    return d.year >= YEAR_MIN && d.year <= YEAR_MAX && d.month >= 1 && d.month <= 12 &&
           d.day >= 1 && d.day <= days_in(d.year, d.month);
}

/* Days since 1970, by the proleptic Gregorian calendar. */
static int64_t days_of(struct date d)
{
    int64_t y = d.month <= 2 ? d.year - 1 : d.year, era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static enum err refuse_date(const struct parser *p, struct date d)
{
    char shown[UNITS_SHOWN];
    units_format_shown(p->text, shown);
    if (d.year < YEAR_MIN || d.year > YEAR_MAX)
        return errmsg_set(p->msg, ERR_INVALID, "%s: the year is %" PRId64 "; accepted are %d to %d",
                          shown, d.year, YEAR_MIN, YEAR_MAX);
    if (d.month < 1 || d.month > 12)
        return errmsg_set(p->msg, ERR_INVALID, "%s: there is no month %" PRId64, shown, d.month);
    return errmsg_set(p->msg, ERR_INVALID,
                      "%s: there is no such day, month %" PRId64 " of %" PRId64 " has %" PRId64,
                      shown, d.month, d.year, days_in(d.year, d.month));
}

/* --- digits --------------------------------------------------------------------------------- */

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

static int64_t number(const char *s, size_t n)
{
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = 10 * v + (s[i] - '0');
    return v;
}

static int64_t full_year(int64_t y, size_t n)
{
    return n == 2 ? YEAR_MIN + y : y;
}

/* One of the ways to read a run of digits. */
struct reading {
    const char *form;
    struct date date;
};

static enum err refuse_readings(const struct parser *p, const struct reading *a,
                                const struct reading *b)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(p->msg, ERR_INVALID,
                      "%s: %04d-%02d-%02d as %s, %04d-%02d-%02d as %s; accepted is YYYY-MM-DD, "
                      "which is one of the two",
                      units_format_shown(p->text, shown), (int)a->date.year, (int)a->date.month,
                      (int)a->date.day, a->form, (int)b->date.year, (int)b->date.month,
                      (int)b->date.day, b->form);
}

/* `r`: n ways to read it, of which the first `good` are accepted ones. */
static enum err choose(const struct parser *p, const struct reading *r, size_t n, size_t good,
                       struct date *out)
{
    const struct reading *one = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_date(r[i].date))
            continue;
        if (one != NULL && days_of(one->date) != days_of(r[i].date))
            return refuse_readings(p, one, &r[i]);
        if (one == NULL)
            one = &r[i];
    }
    if (one == NULL || one >= r + good)
        return refuse(p, one == NULL ? "no such date; " : "not the accepted order; ");
    *out = one->date;
    return ERR_OK;
}

static enum err read_digits(const struct parser *p, const char *s, size_t n, struct date *out)
{
    int64_t two[4];
    for (size_t i = 0; i < 4; i++)
        two[i] = 2 * i < n ? number(s + 2 * i, 2) : 0;
    if (n == 8) {
        const struct reading r[] = {
            {"MMDDYYYY", {number(s + 4, 4), two[0], two[1]}},
            {"YYYYMMDD", {number(s, 4), two[2], two[3]}},
        };
        return choose(p, r, 2, 2, out);
    }
    const struct reading r[] = {
        {"MMDDYY", {full_year(two[2], 2), two[0], two[1]}},
        {"YYMMDD", {full_year(two[0], 2), two[1], two[2]}},
        {"DDMMYY", {full_year(two[2], 2), two[1], two[0]}},
    };
    return choose(p, r, 3, 1, out);
}

/* "N.N.N", "N/N/N" or "N-N-N". false = it is none. */
static bool take_parts(struct parser *p, char separator, int64_t parts[3], size_t lengths[3])
{
    const char *s = p->at;
    for (size_t i = 0; i < 3; i++) {
        lengths[i] = digits(s);
        if (lengths[i] == 0 || lengths[i] > 4 || (i < 2 && s[lengths[i]] != separator))
            return false;
        parts[i] = number(s, lengths[i]);
        s += lengths[i] + (i < 2);
    }
    p->at = s;
    return true;
}

static enum err read_parts(struct parser *p, char separator, struct date *out)
{
    int64_t v[3];
    size_t n[3];
    if (!take_parts(p, separator, v, n))
        return refuse(p, "");
    bool iso = separator == '-';
    bool ok = iso ? n[0] == 4 && n[1] == 2 && n[2] == 2
                  : n[0] <= 2 && n[1] <= 2 && (n[2] == 2 || n[2] == 4);
    if (!ok)
        return refuse(p, "");
    if (iso)
        *out = (struct date){v[0], v[1], v[2]};
    else if (separator == '.')
        *out = (struct date){full_year(v[2], n[2]), v[1], v[0]};
    else
        *out = (struct date){full_year(v[2], n[2]), v[0], v[1]};
    return is_date(*out) ? ERR_OK : refuse_date(p, *out);
}

static enum err read_date(struct parser *p, struct date *out)
{
    size_t n = digits(p->at);
    char next = p->at[n];
    if (n > 0 && n <= 4 && next != '\0' && strchr("./-", next) != NULL)
        return read_parts(p, next, out);
    if (n != 6 && n != 8)
        return refuse(p, "");
    enum err e = read_digits(p, p->at, n, out);
    p->at += n;
    return e;
}

/* --- times ---------------------------------------------------------------------------------- */

/* HH:MM[:SS[.FRACTION]], ns since midnight. */
static enum err read_time(struct parser *p, int64_t *ns)
{
    const char *s = p->at;
    int64_t part[3] = {0, 0, 0};
    size_t n = 0;
    for (; n < 3; n++) {
        if (digits(s) != 2)
            break;
        part[n] = number(s, 2);
        s += 2;
        if (*s != ':' || digits(s + 1) == 0) {
            n++;
            break;
        }
        s++;
    }
    if (n < 2 || part[0] > 23 || part[1] > 59 || part[2] > 59)
        return refuse(p, "no time of day; ");
    *ns = ((part[0] * 60 + part[1]) * 60 + part[2]) * (int64_t)NS_PER_SEC;
    if (n == 3 && (*s == '.' || *s == ',')) {
        int64_t unit = (int64_t)NS_PER_SEC;
        size_t fraction = digits(s + 1);
        if (fraction == 0)
            return refuse(p, "no fraction of a second; ");
        for (size_t i = 1; i <= fraction && unit > 1; i++)
            *ns += (s[i] - '0') * (unit /= 10);
        s += 1 + fraction;
    }
    p->at = s;
    return ERR_OK;
}

/* Z, +HH:MM, +HHMM, +HH. *given false = none is there. */
static enum err read_offset(struct parser *p, bool *given, int64_t *offset_s)
{
    const char *s = p->at;
    *given = true;
    *offset_s = 0;
    if (*s == 'Z' || *s == 'z') {
        p->at++;
        return ERR_OK;
    }
    *given = *s == '+' || *s == '-';
    if (!*given)
        return ERR_OK;
    size_t n = digits(s + 1);
    int64_t hours = number(s + 1, 2), minutes = 0;
    const char *rest = s + 1 + n;
    if (n == 4) {
        minutes = number(s + 3, 2);
    } else if (n == 2 && *rest == ':' && digits(rest + 1) == 2) {
        minutes = number(rest + 1, 2);
        rest += 3;
    } else if (n != 2) {
        return refuse(p, "no offset of a zone; ");
    }
    if (hours > 14 || minutes > 59)
        return refuse(p, "no offset of a zone; ");
    *offset_s = (hours * 60 + minutes) * 60 * (*s == '-' ? -1 : 1);
    p->at = rest;
    return ERR_OK;
}

/* --- local time ------------------------------------------------------------------------------- */

static int64_t offset_at(const struct parser *p, int64_t unix_s)
{
    return p->zone->offset_s(p->zone->arg, unix_s);
}

/* The earlier of two where clocks were put back. */
static bool from_local(const struct parser *p, int64_t local_s, int64_t *unix_s)
{
    int64_t before = offset_at(p, local_s - DAY_S), after = offset_at(p, local_s + DAY_S);
    const int64_t tries[] = {before > after ? before : after, before > after ? after : before};
    for (size_t i = 0; i < 2; i++) {
        *unix_s = local_s - tries[i];
        if (offset_at(p, *unix_s) == tries[i])
            return true;
    }
    *unix_s = local_s - before; /* how much later the clock went on is right */
    return false;
}

static enum err finish(const struct parser *p, int64_t unix_s, int64_t ns, uint64_t *out)
{
    if (unix_s < 0)
        return refuse(p, "before 1970; ");
    *out = (uint64_t)unix_s * NS_PER_SEC + (uint64_t)ns;
    return ERR_OK;
}

/* A day may begin within a gap: then it begins at the gap's end. */
static enum err whole_day(const struct parser *p, int64_t day, uint64_t *out)
{
    int64_t unix_s;
    from_local(p, (day + (p->end ? 1 : 0)) * DAY_S, &unix_s);
    enum err e = finish(p, unix_s, 0, out);
    if (e == ERR_OK && p->end)
        *out -= 1;
    return e;
}

/* What stands behind a date; its beginning where nothing does. */
static enum err read_rest(struct parser *p, int64_t day, uint64_t *out)
{
    char shown[UNITS_SHOWN];
    int64_t ns = 0, offset_s = 0, unix_s;
    bool given = false;
    if (*p->at == '\0')
        return whole_day(p, day, out);
    if (strchr(" _Tt", *p->at) == NULL)
        return refuse(p, "");
    p->at++;
    enum err e = read_time(p, &ns);
    if (e == ERR_OK)
        e = read_offset(p, &given, &offset_s);
    if (e == ERR_OK && *p->at != '\0')
        e = refuse(p, "");
    if (e != ERR_OK)
        return e;
    int64_t local_s = day * DAY_S + ns / (int64_t)NS_PER_SEC;
    if (given)
        unix_s = local_s - offset_s;
    else if (!from_local(p, local_s, &unix_s))
        return errmsg_set(p->msg, ERR_INVALID,
                          "%s: there was no such time here, clocks were put forward over it",
                          units_format_shown(p->text, shown));
    return finish(p, unix_s, ns % (int64_t)NS_PER_SEC, out);
}

/* --- all of it ------------------------------------------------------------------------------ */

static int64_t floor_day(int64_t s)
{
    return s >= 0 ? s / DAY_S : -((-s + DAY_S - 1) / DAY_S);
}

/* "HH:MM" of today, or "HH:MM_" and a date. */
static enum err read_time_first(struct parser *p, uint64_t *out)
{
    const char *time = p->at;
    char joined[64];
    struct date d;
    size_t len = strcspn(p->at, " _");
    int64_t day = floor_day(p->now_s);
    if (time[len] != '\0') {
        p->at += len + 1;
        enum err e = read_date(p, &d);
        if (e != ERR_OK || *p->at != '\0')
            return e != ERR_OK ? e : refuse(p, "");
        day = days_of(d);
    }
    if (len > 32)
        return refuse(p, "");
    snprintf(joined, sizeof joined, "_%.*s", (int)len, time);
    p->at = joined;
    return read_rest(p, day, out);
}

/* A length of time; *ago false = it is none. */
static bool read_ago(const char *text, uint64_t *ns)
{
    struct errmsg ignored;
    size_t n = digits(text);
    if (n > 0 && n <= 4 && strcmp(text + n, "w") == 0) {
        *ns = (uint64_t)number(text, n) * 7 * (uint64_t)DAY_S * NS_PER_SEC;
        return number(text, n) <= WEEKS_MAX;
    }
    return n < strlen(text) && strchr(text, ':') == NULL &&
           units_parse_duration(text, 0, ns, &ignored) == ERR_OK;
}

enum err when_parse(const char *text, bool end, uint64_t now_ns, const struct when_zone *zone,
                    uint64_t *ns, struct errmsg *msg)
{
    static const char *const words[] = {"today", "yesterday"};
    struct parser p = {.text = text, .at = text, .end = end, .zone = zone, .msg = msg};
    int64_t now_s = (int64_t)(now_ns / NS_PER_SEC);
    struct date d;
    p.now_s = now_s + offset_at(&p, now_s);
    if (read_ago(text, ns)) {
        *ns = now_ns > *ns ? now_ns - *ns : 0;
        return ERR_OK;
    }
    for (int i = 0; i < 2; i++) {
        if (strncmp(text, words[i], strlen(words[i])) != 0)
            continue;
        p.at += strlen(words[i]);
        return read_rest(&p, floor_day(p.now_s) - i, ns);
    }
    if (digits(text) == 2 && text[2] == ':')
        return read_time_first(&p, ns);
    enum err e = read_date(&p, &d);
    return e == ERR_OK ? read_rest(&p, days_of(d), ns) : e;
}

static int64_t local_offset(const void *arg, int64_t unix_s)
{
    time_t at = (time_t)unix_s;
    struct tm tm;
    (void)arg;
    return localtime_r(&at, &tm) != NULL ? (int64_t)tm.tm_gmtoff : 0;
}

const struct when_zone when_local = {local_offset, NULL};
