/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_UNITS_H
#define HAMMER_COMMON_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Parsing and printing of durations, rates, sizes and counts. Parsing is exact integer arithmetic
 * (decimal fractions included), accepts the whole string or nothing, and on failure says in `msg`
 * the value and the accepted form (the caller puts the flag's name in front).
 */

/* Requests per second as a reduced fraction: 0.1 = 1/10, 6/m = 1/10, 1/h = 1/3600. den > 0. */
struct rate {
    uint64_t num;
    uint64_t den;
};

/* Bounds of a parsed rate; within them the schedule's products stay below 2^128. */
#define RATE_DEN_MAX (UINT64_C(1) << 33)
#define RATE_MAX     UINT64_C(1000000000) /* requests per second */

/* "500ms 0.6s 30s 2m 1h30m 1d 100us 5ns", units from large to small, each at most once; a bare
 * number is in `bare_unit_ns` (0 = a unit is required).
 * Negative, empty, garbage, more precision than 1 ns, or over 2^63 ns: ERR_INVALID / ERR_RANGE. */
enum err units_parse_duration(const char *text, uint64_t bare_unit_ns, uint64_t *ns,
                              struct errmsg *msg) MUST_CHECK;

/* "0.1 2000 2k 1.5k 100/s 6/m 1/h 2M", and 50/1s, 1/7s with a length of the period; at most 9
 * decimals. Zero and what is outside the bounds above is ERR_RANGE. */
enum err units_parse_rate(const char *text, struct rate *out, struct errmsg *msg) MUST_CHECK;

/* "10 10k 1.5k 1M" (powers of 1000); must come out whole. */
enum err units_parse_count(const char *text, uint64_t *out, struct errmsg *msg) MUST_CHECK;

/* "5%" "0.1%" "12.5" in parts per billion, 1 % = 10^7; the sign may be left out. At most 7 decimals
 * and a million percent. */
enum err units_parse_percent(const char *text, uint64_t *ppb, struct errmsg *msg) MUST_CHECK;

/* Formatters write into buf (32 bytes are enough) and return it. */
#define UNITS_TEXT 32
/* wrk's shape: "255.60us" "182.19ms" "1.04s" "2.50m" "1.20h"; below 1 us "512ns". */
const char *units_format_latency(uint64_t ns, char buf[UNITS_TEXT]);
/* A plan's duration, exact and parseable: "10s" "1m30s" "500ms" "1h". */
const char *units_format_duration(uint64_t ns, char buf[UNITS_TEXT]);
/* Signed offset: "+12us" "-3.40ms". */
const char *units_format_offset(int64_t ns, char buf[UNITS_TEXT]);
/* "1.49MB" "152.31KB" "812B" (powers of 1024, as wrk prints them). */
const char *units_format_bytes(double bytes, char buf[UNITS_TEXT]);
/* A rate as the user would write it, exact and parseable: "2000/s" "0.1/s" "20/m" "1/h", and "1/7s"
 * (one in seven seconds) when it has no short form. */
const char *units_format_rate(const struct rate *r, char buf[UNITS_TEXT]);
/* Parts per billion as units_parse_percent takes them: "12.5%". */
const char *units_format_percent(uint64_t ppb, char buf[UNITS_TEXT]);
/* "2026-11-30T19:08:19Z" of ns since 1970; "" where there is no such date. */
const char *units_format_utc(uint64_t wall_ns, char buf[UNITS_TEXT]);

/* A user's text as error messages show it: cut to a readable length, anything but printable ASCII
 * as '?', an empty one as "". NULL is fine. */
#define UNITS_SHOWN 84
const char *units_format_shown(const char *text, char buf[UNITS_SHOWN]);

#endif
