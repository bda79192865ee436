/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_COUNTER_H
#define HAMMER_BENCH_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* A number in a file that one process stores and others read while it runs. Both exit on failure;
 * the mapping lives as long as the process. */
typedef _Atomic uint64_t counter_cell;

/* Makes the file, with 0 in it. */
counter_cell *counter_create(const char *file);
const counter_cell *counter_open(const char *file);

static inline void counter_store(counter_cell *c, uint64_t n)
{
    atomic_store_explicit(c, n, memory_order_relaxed);
}

static inline uint64_t counter_load(const counter_cell *c)
{
    return atomic_load_explicit((counter_cell *)c, memory_order_relaxed);
}

#endif
