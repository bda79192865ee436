/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OPENMETRICS_H
#define HAMMER_CONTROLLER_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/watch/progress.h"

/*
 * PURE: a run that goes on, as metrics for Prometheus and its kin. docs/live.md lists them. Every
 * counter only grows. A latency bucket holds the samples that lie in no higher bucket of
 * HdrHistogram than its bound does: exact by buckets, so that a sample less than 0.1 % above the
 * bound may be counted with it.
 */

struct openmetrics_run {
    const char *id, *name; /* "" = none */
    const char *version;
};

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define PROMETHEUS_TYPE  "text/plain; version=0.0.4; charset=utf-8"

/* The whole text; the caller frees it (mem_free). `open` = OpenMetrics 1.0, else the older text
 * format of Prometheus, where a counter's family has the name of its samples. */
char *openmetrics_text(const struct progress *p, const struct openmetrics_run *run, bool open,
                       size_t *len);

#endif
