/* SPDX-License-Identifier: MIT */
#include "common/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"

typedef unsigned __int128 u128;

#define DURATION_MAX  (UINT64_C(1) << 63)
#define MINUTE_NS     (60 * NS_PER_SEC)
#define HOUR_NS       (60 * MINUTE_NS)
#define DECIMALS_MAX  18 /* 10^18 fits 64 bits */
#define RATE_DECIMALS 9

#define PERCENT_DECIMALS 7
#define PERCENT_PPB      UINT64_C(10000000)
#define PERCENT_MAX      1000000

struct unit {
    const char *name;
    uint64_t size;
};

/* Large to small: the order in which a duration may name them. */
static const struct unit duration_units[] = {
    {"d", 24 * HOUR_NS}, {"h", HOUR_NS},    {"m", MINUTE_NS}, {"s", NS_PER_SEC},
    {"ms", NS_PER_MS},   {"us", NS_PER_US}, {"ns", 1},
};

static const struct unit periods[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

static const struct unit multiples[] = {
    {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

/* whole + frac / 10^digits, trailing zeros gone. */
struct decimal {
    uint64_t whole;
    uint64_t frac;
    unsigned digits;
};

static uint64_t power_of_ten(unsigned n)
{
    uint64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum err scan_whole(const char **at, uint64_t *out)
{
    const char *p = *at;
    uint64_t v = 0;
    if (!is_digit(*p))
        return ERR_INVALID;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return ERR_RANGE;
    *at = p;
    *out = v;
    return ERR_OK;
}

/* Digits, optionally a point and more digits. ERR_TOO_BIG: more than `max` decimals. */
static enum err scan_decimal(const char **at, unsigned max, struct decimal *out)
{
    *out = (struct decimal){0};
    enum err e = scan_whole(at, &out->whole);
    if (e != ERR_OK || **at != '.')
        return e;
    const char *p = *at + 1;
    if (!is_digit(*p))
        return ERR_INVALID;
    const char *end = p;
    while (is_digit(*end))
        end++;
    *at = end;
    while (end > p && end[-1] == '0')
        end--;
    if ((size_t)(end - p) > max)
        return ERR_TOO_BIG;
    for (; p < end; p++, out->digits++)
        out->frac = out->frac * 10 + (uint64_t)(*p - '0');
    return ERR_OK;
}

/* Takes the letters at *at; the table's entry, or NULL when there is none of that name. */
static const struct unit *scan_unit(const char **at, const struct unit *table, size_t n)
{
    size_t len = 0;
    while (((*at)[len] >= 'a' && (*at)[len] <= 'z') || ((*at)[len] >= 'A' && (*at)[len] <= 'Z'))
        len++;
    for (size_t i = 0; i < n; i++) {
        if (strlen(table[i].name) != len || memcmp(table[i].name, *at, len) != 0)
            continue;
        *at += len;
        return &table[i];
    }
    return NULL;
}

static enum err refuse(struct errmsg *msg, enum err e, const char *text, const char *why,
                       const char *accepted)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(msg, e, "%s: %s%saccepted is %s", units_format_shown(text, shown), why,
                      *why == '\0' ? "" : "; ", accepted);
}

/* --- durations --- */

static const char *bare_unit_text(uint64_t bare_unit_ns)
{
    if (bare_unit_ns == NS_PER_SEC)
        return " (a bare number is seconds)";
    if (bare_unit_ns == NS_PER_MS)
        return " (a bare number is milliseconds)";
    return "";
}

static enum err refuse_duration(struct errmsg *msg, enum err e, const char *text, const char *why,
                                uint64_t bare_unit_ns)
{
    char accepted[128];
    snprintf(accepted, sizeof accepted, "a duration such as 500ms, 0.6s, 30s, 2m or 1h30m%s",
             bare_unit_text(bare_unit_ns));
    return refuse(msg, e, text, why, accepted);
}

/* *total += d * unit, exactly. */
static enum err add_duration(uint64_t *total, const struct decimal *d, uint64_t unit)
{
    uint64_t scale = power_of_ten(d->digits);
    u128 part = (u128)d->frac * unit;
    if (part % scale != 0)
        return ERR_TOO_BIG;
    part = part / scale + (u128)d->whole * unit + *total;
    if (part > DURATION_MAX)
        return ERR_RANGE;
    *total = (uint64_t)part;
    return ERR_OK;
}

static enum err scan_duration(const char *text, uint64_t bare_unit_ns, uint64_t *ns,
                              const char **why)
{
    const struct unit *smallest = NULL;
    uint64_t total = 0;
    const char *p = text;
    do {
        struct decimal d;
        enum err e = scan_decimal(&p, DECIMALS_MAX, &d);
        if (e != ERR_OK)
            return e;
        uint64_t size = bare_unit_ns;
        if (*p != '\0' || smallest != NULL || bare_unit_ns == 0) {
            const struct unit *u = scan_unit(&p, duration_units, N_OF(duration_units));
            *why = *p == '\0' ? "a unit is missing" : "unknown unit";
            if (u == NULL)
                return ERR_INVALID;
            *why = "units go from large to small, each once";
            if (smallest != NULL && u <= smallest)
                return ERR_INVALID;
            *why = "";
            smallest = u;
            size = u->size;
        }
        e = add_duration(&total, &d, size);
        if (e != ERR_OK)
            return e;
    } while (*p != '\0');
    *ns = total;
    return ERR_OK;
}

enum err units_parse_duration(const char *text, uint64_t bare_unit_ns, uint64_t *ns,
                              struct errmsg *msg)
{
    const char *why = "";
    enum err e = scan_duration(text, bare_unit_ns, ns, &why);
    if (e == ERR_OK)
        return ERR_OK;
    if (e == ERR_RANGE)
        why = "too long (over 292 years)";
    if (e == ERR_TOO_BIG)
        why = "more precise than 1 ns";
    return refuse_duration(msg, e == ERR_RANGE ? e : ERR_INVALID, text, why, bare_unit_ns);
}

/* --- rates and counts --- */

static enum err scan_multiple(const char **at, uint64_t *size)
{
    *size = 1;
    if (**at == '\0' || **at == '/')
        return ERR_OK;
    const struct unit *u = scan_unit(at, multiples, N_OF(multiples));
    if (u == NULL)
        return ERR_INVALID;
    *size = u->size;
    return ERR_OK;
}

/* "/s", "/7s", or nothing: seconds of the period. */
static enum err scan_period(const char **at, uint64_t *seconds)
{
    *seconds = 1;
    if (**at != '/')
        return ERR_OK;
    ++*at;
    enum err e = is_digit(**at) ? scan_whole(at, seconds) : ERR_OK;
    if (e != ERR_OK)
        return e;
    const struct unit *u = scan_unit(at, periods, N_OF(periods));
    if (u == NULL || *seconds == 0)
        return ERR_INVALID;
    return __builtin_mul_overflow(*seconds, u->size, seconds) || *seconds > RATE_DEN_MAX ? ERR_RANGE
                                                                                         : ERR_OK;
}

static u128 greatest_divisor(u128 a, u128 b)
{
    while (b != 0) {
        u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static enum err scan_rate(const char *text, struct rate *out)
{
    struct decimal d;
    uint64_t multiple, seconds;
    const char *p = text;
    enum err e = scan_decimal(&p, RATE_DECIMALS, &d);
    if (e == ERR_OK)
        e = scan_multiple(&p, &multiple);
    if (e == ERR_OK)
        e = scan_period(&p, &seconds);
    if (e != ERR_OK)
        return e;
    if (*p != '\0')
        return ERR_INVALID;
    uint64_t scale = power_of_ten(d.digits);
    u128 num = ((u128)d.whole * scale + d.frac) * multiple;
    u128 den = (u128)scale * seconds;
    if (num == 0)
        return ERR_RANGE;
    u128 g = greatest_divisor(num, den);
    num /= g;
    den /= g;
    if (den > RATE_DEN_MAX || num > RATE_MAX * den)
        return ERR_RANGE;
    *out = (struct rate){(uint64_t)num, (uint64_t)den};
    return ERR_OK;
}

enum err units_parse_rate(const char *text, struct rate *out, struct errmsg *msg)
{
    enum err e = scan_rate(text, out);
    if (e == ERR_OK)
        return ERR_OK;
    const char *why = e == ERR_TOO_BIG ? "more than 9 decimals" : "";
    return refuse(msg, e == ERR_RANGE ? e : ERR_INVALID, text, why,
                  "a rate above 0 such as 2000, 1.5k, 0.1, 100/s, 6/m or 1/h, at most "
                  "1000000000/s");
}

static enum err scan_count(const char *text, uint64_t *out)
{
    struct decimal d;
    uint64_t multiple;
    const char *p = text;
    enum err e = scan_decimal(&p, DECIMALS_MAX, &d);
    if (e == ERR_OK)
        e = scan_multiple(&p, &multiple);
    if (e != ERR_OK)
        return e;
    uint64_t scale = power_of_ten(d.digits);
    u128 part = (u128)d.frac * multiple;
    if (*p != '\0' || part % scale != 0)
        return ERR_INVALID;
    part = part / scale + (u128)d.whole * multiple;
    if (part > UINT64_MAX)
        return ERR_RANGE;
    *out = (uint64_t)part;
    return ERR_OK;
}

enum err units_parse_count(const char *text, uint64_t *out, struct errmsg *msg)
{
    enum err e = scan_count(text, out);
    if (e == ERR_OK)
        return ERR_OK;
    return refuse(msg, e == ERR_RANGE ? e : ERR_INVALID, text, "",
                  "a whole number such as 10, 10k, 1.5k or 1M");
}

static enum err scan_percent(const char *text, uint64_t *ppb)
{
    struct decimal d;
    const char *p = text;
    enum err e = scan_decimal(&p, PERCENT_DECIMALS, &d);
    if (e != ERR_OK)
        return e;
    if (*p == '%')
        p++;
    if (*p != '\0')
        return ERR_INVALID;
    if (d.whole > PERCENT_MAX)
        return ERR_RANGE;
    *ppb = d.whole * PERCENT_PPB + d.frac * power_of_ten(PERCENT_DECIMALS - d.digits);
    return ERR_OK;
}

enum err units_parse_percent(const char *text, uint64_t *ppb, struct errmsg *msg)
{
    enum err e = scan_percent(text, ppb);
    if (e == ERR_OK)
        return ERR_OK;
    const char *why = e == ERR_TOO_BIG ? "more than 7 decimals" : "";
    return refuse(msg, e == ERR_RANGE ? e : ERR_INVALID, text, why,
                  "a percentage such as 5% or 0.1%");
}

/* --- formatting --- */

const char *units_format_percent(uint64_t ppb, char buf[UNITS_TEXT])
{
    uint64_t rest = ppb % PERCENT_PPB;
    int digits = PERCENT_DECIMALS;
    for (; rest > 0 && rest % 10 == 0; digits--)
        rest /= 10;
    if (rest == 0)
        snprintf(buf, UNITS_TEXT, "%" PRIu64 "%%", ppb / PERCENT_PPB);
    else
        snprintf(buf, UNITS_TEXT, "%" PRIu64 ".%0*" PRIu64 "%%", ppb / PERCENT_PPB, digits, rest);
    return buf;
}

const char *units_format_latency(uint64_t ns, char buf[UNITS_TEXT])
{
    static const struct unit steps[] = {
        {"us", NS_PER_US}, {"ms", NS_PER_MS}, {"s", NS_PER_SEC}, {"m", MINUTE_NS}, {"h", HOUR_NS}};
    if (ns < NS_PER_US) {
        snprintf(buf, UNITS_TEXT, "%" PRIu64 "ns", ns);
        return buf;
    }
    for (size_t i = 0; i < N_OF(steps); i++) {
        /* Rounded before the choice, so that nothing prints as 1000.00us or 60.00s. */
        u128 hundredths = ((u128)ns * 100 + steps[i].size / 2) / steps[i].size;
        if (i + 1 < N_OF(steps) && hundredths >= steps[i + 1].size / steps[i].size * 100)
            continue;
        snprintf(buf, UNITS_TEXT, "%" PRIu64 ".%02u%s", (uint64_t)(hundredths / 100),
                 (unsigned)(hundredths % 100), steps[i].name);
        break;
    }
    return buf;
}

/* num/den in decimal, if it has an end within `max` decimals. */
static bool format_decimal(u128 num, u128 den, unsigned max, char buf[UNITS_TEXT])
{
    int n = snprintf(buf, UNITS_TEXT, "%" PRIu64, (uint64_t)(num / den));
    u128 rest = num % den;
    if (rest == 0)
        return true;
    buf[n++] = '.';
    for (unsigned i = 0; i < max && n < UNITS_TEXT - 1; i++) {
        rest *= 10;
        buf[n++] = (char)('0' + (int)(rest / den));
        buf[n] = '\0';
        rest %= den;
        if (rest == 0)
            return true;
    }
    return false;
}

const char *units_format_duration(uint64_t ns, char buf[UNITS_TEXT])
{
    size_t n = 0;
    uint64_t rest = ns;
    buf[0] = '\0';
    for (size_t i = 1; i < N_OF(duration_units); i++) {
        const struct unit *u = &duration_units[i];
        if (rest < u->size && (i + 1 < N_OF(duration_units) || n > 0))
            continue;
        char number[UNITS_TEXT];
        bool last = u->size < MINUTE_NS;
        format_decimal(last ? rest : rest / u->size, last ? u->size : 1, RATE_DECIMALS, number);
        n += (size_t)snprintf(buf + n, UNITS_TEXT - n, "%s%s", number, u->name);
        rest %= u->size;
        if (last || rest == 0)
            break;
    }
    if (ns == 0)
        snprintf(buf, UNITS_TEXT, "0s");
    return buf;
}

const char *units_format_offset(int64_t ns, char buf[UNITS_TEXT])
{
    uint64_t size = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    char sign = ns < 0 ? '-' : '+';
    uint64_t us = size / NS_PER_US + (size % NS_PER_US >= NS_PER_US / 2);
    if (size >= NS_PER_US && us < 1000) {
        snprintf(buf, UNITS_TEXT, "%c%" PRIu64 "us", sign, us);
        return buf;
    }
    if (us == 1000)
        size = NS_PER_MS; /* would print as 1000us */
    char text[UNITS_TEXT];
    snprintf(buf, UNITS_TEXT, "%c%.30s", sign, units_format_latency(size, text));
    return buf;
}

const char *units_format_bytes(double bytes, char buf[UNITS_TEXT])
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    if (!(bytes > 0)) /* NaN too */
        bytes = 0;
    if (bytes > 1e24)
        bytes = 1e24;
    size_t i = 0;
    /* The step is taken where rounding would print 1024. */
    while (i + 1 < N_OF(names) && bytes >= (i == 0 ? 1023.5 : 1023.995)) {
        bytes /= 1024;
        i++;
    }
    snprintf(buf, UNITS_TEXT, "%.*f%s", i == 0 ? 0 : 2, bytes, names[i]);
    return buf;
}

const char *units_format_rate(const struct rate *r, char buf[UNITS_TEXT])
{
    char number[UNITS_TEXT];
    for (size_t i = 0; i < N_OF(periods) && r->den > 0; i++) {
        if (!format_decimal((u128)r->num * periods[i].size, r->den, RATE_DECIMALS, number))
            continue;
        snprintf(buf, UNITS_TEXT, "%.29s/%s", number, periods[i].name);
        return buf;
    }
    snprintf(buf, UNITS_TEXT, "%" PRIu64 "/%" PRIu64 "s", r->num, r->den);
    return buf;
}

const char *units_format_utc(uint64_t wall_ns, char buf[UNITS_TEXT])
{
    time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL || strftime(buf, UNITS_TEXT, "%FT%TZ", &tm) == 0)
        buf[0] = '\0';
    return buf;
}

const char *units_format_shown(const char *text, char buf[UNITS_SHOWN])
{
    if (text == NULL || *text == '\0')
        text = "\"\"";
    size_t n = 0;
    for (; text[n] != '\0' && n < UNITS_SHOWN - 4; n++) {
        buf[n] = text[n];
        if (text[n] < 0x20 || text[n] > 0x7e)
            buf[n] = '?';
    }
    memcpy(buf + n, text[n] == '\0' ? "" : "...", text[n] == '\0' ? 1 : 4);
    return buf;
}
