/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_PAGE_H
#define HAMMER_CONTROLLER_HTML_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "controller/report/figures.h"
#include "controller/report/html/html_curves.h"
#include "controller/report/report.h"

/* Pieces of the HTML report, private to it: what all of them need, and one function a piece. */

struct html_page {
    FILE *out;
    const struct result *r;
    const struct report_options *o;
    struct counters c;
    bool closed;                          /* no due times */
    bool one_clock;                       /* from the send only */
    struct hist *corrected, *uncorrected; /* with one clock both are that one */
    struct figures due, sent;             /* of these */
    struct figures_all_due all;
    bool with_all; /* requests without a response make all_due differ */
    struct curves time;
    struct bands *bands;
};

/* The word for the main clock's latencies: "corrected", or "latency" with one clock. */
const char *html_main_clock(const struct html_page *p);
/* An agent as people know it. */
const char *html_agent_name(const struct result *r, size_t i);

/* html_head.c: verdict, what was run, key figures. */
void html_verdict(const struct html_page *p);
void html_facts(const struct html_page *p);
void html_key_figures(const struct html_page *p);

/* html_charts.c, html_heat.c: one figure each, with its explanation; nothing where there is nothing
 * to draw. */
void html_chart_spectrum(const struct html_page *p);
void html_chart_latency(const struct html_page *p);
void html_chart_rate(const struct html_page *p);
void html_chart_heat(const struct html_page *p);
/* The ends of a figure. */
void html_figure_begin(const struct html_page *p, const char *id, const char *title);
void html_figure_end(const struct html_page *p, const char *explanation);

/* html_latency.c, html_tables.c, html_agents.c. */
void html_table_latency(const struct html_page *p);
void html_table_stages(const struct html_page *p);
void html_table_requests(const struct html_page *p);
void html_table_warmup(const struct html_page *p);
void html_table_objectives(const struct html_page *p);
void html_table_stalls(const struct html_page *p);
void html_table_losses(const struct html_page *p);
void html_table_outcomes(const struct html_page *p);
void html_table_errors(const struct html_page *p);
void html_table_ledger(const struct html_page *p);
void html_table_lags(const struct html_page *p);
void html_table_phases(const struct html_page *p);
void html_table_agents(const struct html_page *p);
void html_table_options(const struct html_page *p);
void html_table_environment(const struct html_page *p);

/* html_data.c: the figures as JSON, for the script. */
bool html_data(const struct html_page *p);

#endif
