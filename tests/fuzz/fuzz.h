/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_FUZZ_H
#define HAMMER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Frame of a fuzz target: deterministic, frees what it allocates, and ends the process when a
 * property does not hold. The check stays in builds without asserts.
 */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
