/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TEXT_H
#define HAMMER_CONTROLLER_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/report/report.h"

/* Pieces of the text report, private to it: a labelled line, and words that wrap. */

#define TEXT_WIDTH  108 /* no line is longer */
#define TEXT_INDENT 20  /* where values begin */

struct text_flow {
    FILE *out;
    size_t column;
    size_t items;
};

/* "  Label             " up to TEXT_INDENT. */
void text_label(FILE *out, const char *label);
struct text_flow text_begin(FILE *out, const char *label);
/* One unbreakable piece; `glue` stands before it unless it is the first or begins a new line. */
void text_item(struct text_flow *f, const char *glue, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Words of a sentence, separated by spaces; control characters become '?'. */
void text_words(struct text_flow *f, const char *sentence);
void text_end(struct text_flow *f);
/* An agent's address for a narrow column: how it is reached stands in front of what tells agents
 * apart, and takes the room of their names. */
const char *text_without_scheme(const char *address);

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
