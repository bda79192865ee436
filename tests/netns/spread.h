/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_NETNS_SPREAD_H
#define HAMMER_TESTS_NETNS_SPREAD_H

#include <check.h>
#include <stddef.h>

/*
 * Frame of the check programs here. Their cases wait most of the time, so many run side by side,
 * each in a process of its own with its own namespaces:
 *   HAMMER_FAULT_REPEAT=N   each case N times (default 1); the number comes to the case as
 *                           spread_repetition
 *   HAMMER_FAULT_WIDTH=N    so many at once (default 16)
 *   PROGRAM NAME...         only cases whose name begins with one of them
 * Returns main's code: 77 with the reason printed when this machine has no namespaces.
 */

struct spread_case {
    const char *name;
    const TTest *test;
    int loops; /* its _i goes from 0 to loops - 1; 0 = as 1 */
};

int spread_main(const struct spread_case *cases, size_t n, int argc, char **argv);
/* Of the running case, from 0. */
int spread_repetition(void);

#endif
