/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RANK_TEST_H
#define HAMMER_CONTROLLER_RANK_TEST_H

#include <stddef.h>

#include "controller/compare/effect.h"

/*
 * PURE: the exact test of Mann and Whitney over two sets of runs, one figure a run, and the
 * interval of Hodges and Lehmann that belongs to it. Exact with ties too: every way to deal the
 * figures out to the two sets is counted, by dynamic programming. Nothing is assumed about how the
 * figures are distributed. Figures may be INFINITY, not NAN; 1 to RANK_TEST_MAX a set.
 */

#define RANK_TEST_MAX 20

struct rank_test {
    double p;       /* chance of ranks at least as far apart, either side, if nothing has changed */
    double greater; /* of ranks at least as high for the candidate */
    double less;    /* at least as low */
    double a12;     /* chance that a candidate's run has more than a baseline's, ties half: 0.5 =
                       no effect */
};

struct rank_test rank_test(const double *candidate, size_t k, const double *baseline, size_t l);

/* The least that `p` can be with so many runs: 2 / C(k + l, k), at most 1. */
double rank_test_least_p(size_t k, size_t l);

/* Median of what each candidate's run differs from each baseline's, and the interval in which the
 * difference lies with at least the confidence 1 - alpha; without bounds where so few runs cannot
 * have one, or where a pair cannot be compared. */
struct effect rank_test_effect(const double *candidate, size_t k, const double *baseline, size_t l,
                               enum effect_kind kind, double alpha);

/* Of n > 0 figures; the mean of the middle two. */
double rank_test_median(const double *values, size_t n);

#endif
