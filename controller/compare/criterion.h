/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CRITERION_H
#define HAMMER_CONTROLLER_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/compare/effect.h"
#include "controller/run/result.h"
#include "proto/plan.h"

/*
 * PURE: what a comparison looks at, "p99>+10%", and the figure of a run it means. The grammar,
 * spaces anywhere between the words:
 *
 *   [SCOPE:] METRIC > +VALUE      worse is more: latencies and errors
 *   [SCOPE:] rate < -VALUE        worse is less
 *
 * - SCOPE: "stage N" (from 1), or the name of a request; without it the whole run.
 * - METRIC: p50 .. p99.99, mean, max of corrected latency, uncorrected.p50 ..; errors; rate.
 * - VALUE: a percentage of the baseline, or a time for latencies; for errors percentage points of
 *   the requests that ended: +0.1% is one request more in a thousand.
 */

#define CRITERION_TEXT  128
#define CRITERION_SCOPE 64
#define CRITERIA_MAX    32

enum criterion_metric {
    CRITERION_PERCENTILE,
    CRITERION_MEAN,
    CRITERION_MAX,
    CRITERION_ERRORS,
    CRITERION_RATE
};

struct criterion {
    char text[CRITERION_TEXT];  /* as given, spaces around it cut */
    char label[CRITERION_TEXT]; /* without what comes after the metric: "stage 2: p99" */
    enum criterion_metric metric;
    double percentile;
    bool uncorrected;
    uint32_t stage;             /* from 1; 0 = all */
    char name[CRITERION_SCOPE]; /* request; "" = all */
    enum effect_kind kind;
    double limit; /* the effect that is still accepted: 1.1 for >+10 %, ns, a share of 1 */
};

/* ERR_INVALID or ERR_RANGE: the message begins with the text and says what is accepted. */
enum err criterion_parse(const char *text, struct criterion *out, struct errmsg *msg) MUST_CHECK;
/* Does the plan have what it is about? The message begins with the text. */
enum err criterion_check(const struct criterion *c, const struct plan *p,
                         struct errmsg *msg) MUST_CHECK;
/* Less of it is worse. */
bool criterion_less_is_worse(const struct criterion *c);
/* The same metric of the same scope, whatever the limit. */
bool criterion_same_figure(const struct criterion *a, const struct criterion *b);

#endif
