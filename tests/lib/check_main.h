/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_CHECK_MAIN_H
#define HAMMER_TESTS_CHECK_MAIN_H

#include <check.h>
#include <stdint.h>

/*
 * Frame of every check program: `int main` is check_main(suite). Prints check's own summary and
 * returns non-zero on any failure. The random seed of invariant tests comes from HAMMER_TEST_SEED
 * or the clock and is printed, so that a failure can be run again.
 */
int check_main(Suite *s);

/* ck_assert for what is checked a million times: check's own writes to a pipe even when it holds.
 */
#define CHECK_MUST(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("does not hold: %s", #condition);                                         \
    } while (0)

/* Seed of this process, printed once. Survives check's fork. */
uint64_t check_seed(void);

/* splitmix64: small, seedable, the same everywhere. */
uint64_t check_random(uint64_t *state);
/* Uniform in 0 .. n-1. */
uint64_t check_below(uint64_t *state, uint64_t n);

#endif
