/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_LOOP_WAIT_H
#define HAMMER_TESTS_LOOP_WAIT_H

#include <check.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/loop.h"

/*
 * Waiting in tests: turns the loop until a condition holds, with a limit; never sleeps.
 */

/* A new loop, or the test fails with the reason. */
struct loop *loop_wait_new(void);

/* One turn that ends after 20 ms at the latest. */
void loop_wait_turn(struct loop *l);

#define LOOP_WAIT_LIMIT_NS (20 * NS_PER_SEC)

#define LOOP_WAIT(loop, condition)                                                                 \
    do {                                                                                           \
        uint64_t loop_wait_end = clock_mono_ns() + LOOP_WAIT_LIMIT_NS;                             \
        while (!(condition)) {                                                                     \
            ck_assert_msg(clock_mono_ns() < loop_wait_end, "waited in vain for: %s", #condition);  \
            loop_wait_turn(loop);                                                                  \
        }                                                                                          \
    } while (0)

#endif
