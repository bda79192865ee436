/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TEXT_H
#define HAMMER_CONTROLLER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/report/report.h"
#include "controller/report/slices.h"

/* Pieces of the text report, private to it: a labelled line, and words that wrap. */

#define TEXT_WIDTH  80 /* no line is longer, names and words that are longer themselves apart */
#define TEXT_INDENT 20 /* where values begin */
#define TEXT_NOTE   4  /* where notes below a table begin */

struct text_flow {
    FILE *out;
    size_t indent; /* of the lines */
    size_t column;
    size_t items;
};

/* "  Label             " up to TEXT_INDENT. */
void text_label(FILE *out, const char *label);
struct text_flow text_begin(FILE *out, const char *label);
/* Without a label, from column `indent` on. */
struct text_flow text_begin_at(FILE *out, size_t indent);
/* One unbreakable piece; `glue` stands before it unless it is the first or begins a new line. */
void text_item(struct text_flow *f, const char *glue, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Words of a sentence, separated by spaces; control characters become '?'. */
void text_words(struct text_flow *f, const char *sentence);
void text_end(struct text_flow *f);
/* Figures in columns, right-aligned; a mark stands right of its figure, so that the digits stay in
 * line. Zeroed but for `out` at the begin of a line. */
struct text_row {
    FILE *out;
    int after_mark; /* columns that a mark took from the next cell */
    bool dim;       /* what is marked is dim too, on a terminal */
};
void text_cell(struct text_row *r, int width, const char *text, bool marked);
void text_cell_latency(struct text_row *r, int width, uint64_t ns, bool marked);

/* An agent's address for a narrow column: how it is reached stands in front of what tells agents
 * apart, and takes the room of their names. */
const char *text_without_scheme(const char *address);

/* What was run. */
void text_head(FILE *out, const struct result *r, const struct report_options *o);
/* How the run went over time, --every in tables; each with a blank line, nothing of one row. */
void text_timeline(FILE *out, const struct result *r, const struct report_options *o);
/* Which part of a run it is; nothing of a whole one. */
void text_view(FILE *out, const struct result *r);
/* Of a window, in place of the ledger: what was under way at its edges is on one side only. */
void text_counted(FILE *out, const struct counters *c);
/* Of a stage or a request name: what is not known of it. */
void text_row_note(FILE *out);
/* Figures by stage or request name, and a blank line; nothing where there is one only. */
void text_slices(FILE *out, const struct result *r, enum slice_by by);
/* The warm-up, and a blank line; nothing without one. */
void text_warmup(FILE *out, const struct result *r);
/* --latency: where the time goes, and what ab, wrk and siege show; each with a blank line. */
void text_phases(FILE *out, const struct result *r);
void text_peers(FILE *out, const struct result *r);
/* The server, redirects, what was unexpected, look-ups; with --latency connections and bytes. What
 * is 0 is not told. */
void text_traffic(FILE *out, const struct result *r, const struct report_options *o,
                  const struct counters *c);
/* The agents table. */
void text_agents(FILE *out, const struct result *r);
/* Lost and late agents, and a blank line; nothing where there are none. */
void text_losses(FILE *out, const struct result *r);
/* Stalls of the target and agents unlike the others, and a blank line; nothing where there are
 * none. */
void text_stalls(FILE *out, const struct result *r);
/* Were the sums of what arrived held against the agents' own totals? */
void text_check(FILE *out, const struct result *r);
/* Status, reasons, and what to do about them; `c` = counters of the total. */
void text_verdict(FILE *out, const struct result *r, const struct counters *c);
/* What the TLS handshakes were like; nothing where there were none. */
void text_tls(FILE *out, const struct result *r, const struct counters *c);
/* --latency: every percentile up to the last sample, both clocks. */
void text_spectrum(FILE *out, const struct result *r);

#endif
