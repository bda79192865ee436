/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_REPORT_H
#define HAMMER_TESTS_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "tests/lib/process.h"

/* Reading hammer.report/1 in tests. Paths are dotted: "latency.corrected.percentiles.99", an array
 * element by its number: "agents.0.totals.sent". The last dots of a key such as "99.9" are tried as
 * part of the key. A missing value aborts the check test and prints the report. */

/* Waits for a hammer-ctl run --json. One of the two exit codes must hold, and the ledger. */
json_t *report_wait(struct process *ctl, int code_a, int code_b, uint64_t timeout_ms);

json_t *report_parse(const char *text);
json_t *report_at(json_t *report, const char *path);
int64_t report_int(json_t *report, const char *path);
const char *report_text_at(json_t *report, const char *path);

/* Every equation of the ledger, for the totals and for each agent, and that the agents add up to
 * the totals. What a lost agent left open is counted as such. */
void report_check_ledger(json_t *report);

#endif
