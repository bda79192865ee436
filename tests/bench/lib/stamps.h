/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_STAMPS_H
#define HAMMER_BENCH_STAMPS_H

#include <stddef.h>
#include <stdint.h>

/* What the responder saw, a record per request in the order of reading. The file is these records
 * in the machine's byte order, nothing else. All times CLOCK_MONOTONIC ns. */
struct stamp {
    uint64_t read_ns;    /* right after the read that brought the request */
    uint64_t kernel_ns;  /* the kernel had received it; 0 = not asked for */
    uint64_t written_ns; /* right before the write of its response; 0 = never */
};

struct stamps {
    struct stamp *all;
    size_t n, max;
    uint64_t lost; /* more than max came */
};

/* Room for max records, touched at once so that no page fault is measured. */
void stamps_init(struct stamps *s, size_t max);
/* The new record, or NULL when full. */
struct stamp *stamps_add(struct stamps *s);
/* Both exit on failure. */
void stamps_write(const struct stamps *s, const char *file);
void stamps_read(struct stamps *s, const char *file);
void stamps_fini(struct stamps *s);

#endif
