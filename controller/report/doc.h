/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DOC_H
#define HAMMER_CONTROLLER_DOC_H

#include <jansson.h>
#include <stdint.h>

#include "controller/report/report.h"
#include "controller/report/slices.h"
#include "controller/run/blocks.h"

/*
 * Pieces of the JSON report, private to it. What is not known is null, never a made-up number and
 * never NaN. Every function returns a new value; jansson takes it over where it is set, and a
 * failed set shows when the document is written at the latest.
 */

/* NULL = null. */
void doc_set(json_t *object, const char *key, json_t *value);
json_t *doc_integer(uint64_t v); /* null above INT64_MAX: "no limit" */
json_t *doc_real(double v);
/* Peers' and users' text: what is not UTF-8 loses its foreign bytes rather than the report. */
json_t *doc_text(const char *text);

/* Which part of a run the report is about; NULL = the whole. */
json_t *doc_view(const struct result *r);
/* Count, min, mean, stddev, max, percentiles. */
json_t *doc_figures(const struct hist *h);
/* Both clocks and all_due; with confidence when it is the run's total. Of a window all_due is null:
 * nobody knows what was due in it. */
json_t *doc_latency(const struct result *r, const struct snapshot *s);
/* Adds how far the percentiles of the run's total can be trusted to what doc_figures made of it. */
void doc_confidence(json_t *distribution, const struct result *r, const struct hist *h,
                    enum blocks_clock clock);
json_t *doc_stationarity(const struct stationarity *s);
json_t *doc_lag(const struct snapshot *s);
/* The short form: count, min, mean, p50, p99, max. */
json_t *doc_row_latency(const struct result_latency *l);
/* The same of a histogram. */
json_t *doc_short(const struct hist *h);
/* The counters of the ledger. */
json_t *doc_ledger(const struct counters *c);

json_t *doc_plan(const struct result *r, const struct report_options *o);

/* Rows per stage, request name or both; an empty array where there is one only. */
json_t *doc_slices(const struct result *r, enum slice_by by);
/* The same of one agent, in short. */
json_t *doc_agent_slices(const struct result *r, const struct snapshot *s, enum slice_by by);
/* NULL without one. */
json_t *doc_warmup(const struct result *r);
/* Where the time went; NULL when it was not asked for. */
json_t *doc_phases(const struct snapshot *s);
/* What ab, wrk and siege show beside it. */
json_t *doc_peers(const struct result *r);

#endif
