/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CONDITION_H
#define HAMMER_CONTROLLER_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/units.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

/*
 * PURE: what a user says of a run's figures, "errors>100" or "p99>2s for 10s", and whether it is
 * so. The grammar, spaces anywhere between the words:
 *
 *   [SCOPE:] METRIC OP VALUE [for TIME]
 *
 * - SCOPE: "stage N" (from 1), or the name of a request; without it the whole run.
 * - METRIC: p50 .. p99.99 of corrected latency, uncorrected.p50 ..; rate; and the counts errors,
 *   http-errors, failed, timeouts, unexpected, connect-errors, unsent, status.503, status.5xx;
 *   error-rate is that of errors.
 * - OP: > >= < or <=.
 * - VALUE: a time for latencies; a number or a percentage for counts; a rate, or a percentage of
 *   what was due, for rate.
 *
 * What was due in the warm-up is in none of these. What it is said of, and for how long it must be
 * so, is the caller's: condition_measure takes the added up snapshots of that time.
 */

#define CONDITION_TEXT  128
#define CONDITIONS_MAX  32
#define CONDITION_SAID  160 /* condition_say */
#define CONDITION_SCOPE 64

enum condition_op {
    CONDITION_ABOVE,
    CONDITION_AT_LEAST,
    CONDITION_BELOW,
    CONDITION_AT_MOST
};

enum condition_unit {
    CONDITION_NUMBER,
    CONDITION_PERCENT, /* parts per billion */
    CONDITION_TIME,    /* ns */
    CONDITION_RATE
};

struct condition_metric; /* a row of condition.c */

struct condition {
    char text[CONDITION_TEXT]; /* as given, spaces around it cut */
    const struct condition_metric *metric;
    enum condition_op op;
    enum condition_unit unit;
    uint64_t value;
    struct rate rate;  /* CONDITION_RATE */
    double percentile; /* latencies: 0 < p <= 100 */
    bool uncorrected;
    uint32_t status, status_last; /* status.503: 503 to 503 */
    uint64_t for_ns;              /* 0 = not given */
    uint32_t stage;               /* from 1; 0 = all */
    char name[CONDITION_SCOPE];   /* request; "" = all */
};

struct condition_list {
    struct condition *items; /* owned */
    size_t n;
};

/* What a condition's metric was. */
struct condition_figure {
    uint64_t part, whole; /* part: the count or the latency in ns; whole: what it is part of */
    uint64_t ns;          /* over which time */
    bool never;           /* latencies: the rank falls on a request that got no response */
};

/* ERR_INVALID or ERR_RANGE: the message begins with the text and says what is accepted. */
enum err condition_parse(const char *text, struct condition *out, struct errmsg *msg) MUST_CHECK;

/* The same, added to the list; the message begins with the flag. */
enum err condition_list_add(struct condition_list *l, const char *flag, const char *text,
                            struct errmsg *msg) MUST_CHECK;
void condition_list_clear(struct condition_list *l);

/* Does the plan have what the condition is about? The message begins with the text. */
enum err condition_check(const struct condition *c, const struct plan *p,
                         struct errmsg *msg) MUST_CHECK;

/* The metric over the time from..to (ns after t0) of which `s` is the sum. false: it has no value,
 * because nothing was due, or nothing ended. Requests that got no response (timeouts, failures, and
 * those that were never sent for want of a connection) count as infinitely slow. Without corrected
 * latencies (a closed loop has none) the uncorrected ones are meant. */
bool condition_measure(const struct condition *c, const struct snapshot *s, uint64_t from_ns,
                       uint64_t to_ns, struct condition_figure *out);
/* Exact: no floating point. */
bool condition_holds(const struct condition *c, const struct condition_figure *f);
/* "7.25% (29 of 400)", "2.31s", "123". */
const char *condition_say(const struct condition *c, const struct condition_figure *f,
                          char buf[CONDITION_SAID]);

#endif
