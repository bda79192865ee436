/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STATIONARITY_H
#define HAMMER_CONTROLLER_STATIONARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PURE: was the run the same from its begin to its end? Its first half against its second, halves
 * by when a request was due (or sent, where that is the only clock), so that what the end of the
 * first half left behind is not held against the second. Of a million samples every difference is
 * significant, and of a few stalls every difference is large: only what is both is told. Apart from
 * that, did latency rise (or fall) all the time? Then parts of a half differ as much as the halves
 * do, which hides the difference from the first test. docs/measuring.md has the bounds and how
 * often they err.
 */

struct result;

#define STATIONARITY_WARNING 256

/* A percentile of the two halves. */
struct stationarity_change {
    uint64_t first_ns, second_ns;
    double ratio; /* second to first; 0 = one of them is not known */
    bool large;   /* the ratio is out of its bounds, and the intervals of the two are apart */
};

struct stationarity {
    bool tested;          /* the halves */
    const char *untested; /* why not, a literal; NULL = nobody asked yet, or tested */
    bool changed;         /* significant and large, or a trend */
    uint64_t split_ns;    /* where the second half begins, after t0 */
    struct stationarity_change p50, p99;
    double distance, critical;   /* largest gap of the two distributions, and with 95 % at most */
    bool ranked;                 /* intervals enough for the two below to be significant */
    double rho_p50, rho_backlog; /* rank correlation with time (Spearman), -1 .. 1 */
    bool trended;                /* intervals enough for the next one */
    struct stationarity_change trend; /* medians of the intervals' p50 in each half of them; large =
                                         out of the bounds, and p50 rose or fell all the time */
};

struct stationarity stationarity_of(const struct result *r);
/* One sentence about a run that changed. */
const char *stationarity_say(const struct stationarity *s, char text[STATIONARITY_WARNING]);

/* Spearman's, equal values have the mean of their ranks; 0 where all are equal. */
double stationarity_rank_correlation(const double *x, size_t n);

#endif
