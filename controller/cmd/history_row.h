/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HISTORY_ROW_H
#define HAMMER_CONTROLLER_HISTORY_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "controller/store/recording.h"

/* A run of the history as lists show it. */

struct history_row {
    char id[33], plan_id[17], name[64], version[32];
    char state[24];           /* "valid" ..., "running", "broken off" */
    char *description, *tags; /* owned; NULL = none */
    uint64_t started_wall_ns, ended_wall_ns, lost_rows;
    int exit_code;
    bool known; /* it has ended, and what comes now says how */
    bool all;   /* every latency is there */
    uint64_t duration_ns, errors;
    double target, achieved; /* target 0 = none */
    uint64_t p50, p99, p999;
};

/* Borrows nothing. */
void history_row_fill(struct history_row *row, const struct recording *r);
void history_row_clear(struct history_row *row);
/* Is the hammer-ctl that does the run still there? Of this machine. */
bool history_running(const struct recording *r);

/* rows: the latest first. `width` = columns of the terminal, 0 = no limit. With `over_time` the
 * oldest comes first, and how p99 changed. */
void history_print_table(const struct history_row *rows, size_t n, unsigned width, bool over_time,
                         FILE *out);
bool history_print_json(const struct history_row *rows, size_t n, FILE *out);
/* All of one. */
void history_print_run(const struct recording *r, FILE *out);
bool history_print_run_json(const struct recording *r, FILE *out);

#endif
