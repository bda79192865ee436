/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HLOG_H
#define HAMMER_CONTROLLER_HLOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"

/*
 * HdrHistogram's interval log (.hlog, version 1.3): a line per row of the timeline and clock, the
 * corrected one without a tag, the uncorrected one tagged "uncorrected"; in a run with one clock
 * only, that one has no tag, since Java's reader wants a line without. Where nothing was recorded
 * there is no line. Whole lines are written, and flushed, so that what has been written is readable
 * at any time.
 */

struct hlog_head {
    const char *run_id;
    uint64_t started_wall_ns; /* what the rows' times count from */
    bool one_clock;
    struct result_view view; /* zeroed = the whole run */
};

struct hlog_head hlog_head_of(const struct result *r);
/* ERR_SYSTEM, errno says why: could not be written. */
enum err hlog_begin(FILE *out, const struct hlog_head *h) MUST_CHECK;
enum err hlog_row(FILE *out, const struct merge_view *v) MUST_CHECK;

#endif
