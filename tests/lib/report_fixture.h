/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_REPORT_FIXTURE_H
#define HAMMER_TESTS_REPORT_FIXTURE_H

#include <stdbool.h>

#include "controller/report/report.h"
#include "controller/run/result.h"
#include "proto/plan.h"

/* Results of runs that never were, always the same, for tests of the reports. */

struct report_fixture {
    struct plan plan;
    struct plan_entry entries[3];
    struct result *r;
};

/* 6 s at 500/s by two agents that got `n` answers, the first `slow` of them after a stall. The
 * caller may spoil it, and frees f->r. */
void report_fixture(struct report_fixture *f, uint64_t n, uint64_t slow);
/* The second agent met errors of all kinds. */
void report_fixture_errors(struct report_fixture *f);
/* The server stalled, the second agent too, and it differs from the first. */
void report_fixture_stalls(struct report_fixture *f);
/* Splits what the agents got into two stages, 2s@300 and 4s@600, and the three requests of the
 * plan: of every six, three "login", two "cart", and one without a name. */
void report_fixture_series(struct report_fixture *f);
/* --latency: where the time went; the server is known, connections were used again. */
void report_fixture_phases(struct report_fixture *f);
/* The first second is the warm-up: 500 requests more, slow ones, 5 of them in vain. */
void report_fixture_warmup(struct report_fixture *f);
/* As with --closed-loop: no corrected latency. */
void report_fixture_from_send(struct report_fixture *f);
/* The options that were given, a secret among them. The caller frees them with
 * option_list_clear(&f->plan.given). */
void report_fixture_given(struct report_fixture *f);
/* Adds up the agents and evaluates the verdict. */
void report_fixture_finish(struct report_fixture *f);
/* --every 2s; after report_fixture_finish. */
void report_fixture_groups(struct report_fixture *f);
/* The whole report; the caller frees it. */
char *report_render(const struct report_format *format, const struct result *r, bool verbose,
                    bool spectrum);

#endif
