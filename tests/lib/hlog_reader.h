/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HLOG_READER_H
#define HAMMER_TESTS_HLOG_READER_H

#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"

/* A strict reader of interval logs: whatever some reader in use could not take (blank lines, CR, a
 * comment after data, long lines, a line without its end) fails the running test. */

struct hlog_line {
    const char *tag; /* "" = none */
    uint64_t from_ms, length_ms;
    double max_ms;
    const struct hist *hist;
};

typedef void (*hlog_line_fn)(void *arg, const struct hlog_line *line);

/* Calls fn for each histogram; returns how many there were. */
size_t hlog_read(const char *text, hlog_line_fn fn, void *arg);
/* Those of one tag added together; the caller frees. */
struct hist *hlog_merged(const char *text, const char *tag);

#endif
