/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DUMP_CSV_H
#define HAMMER_CONTROLLER_DUMP_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/dump.h"
#include "proto/plan.h"

/*
 * PURE: --dump-requests as CSV (RFC 4180, but lines end with a newline alone), one line per
 * request. docs/requests-dump.md has the columns.
 */

/* A line at most: every character of the three texts could be a quote. */
#define DUMP_CSV_LINE 1024

/* What is the same for all lines. */
struct dump_csv {
    bool one_clock; /* no corrected latency */
    size_t n_names; /* requests of the plan */
    char **names;   /* owned */
};

void dump_csv_init(struct dump_csv *c, const struct plan *p);
void dump_csv_clear(struct dump_csv *c);
/* With its newline. */
const char *dump_csv_header(void);
/* Writes a line, with its newline; returns its length. No NUL. Text that is not printable is made
 * so. */
size_t dump_csv_line(const struct dump_csv *c, const char *agent, const struct dump_row *row,
                     char buf[DUMP_CSV_LINE]);

#endif
