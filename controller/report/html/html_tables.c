/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/units.h"
#include "controller/report/given.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_table.h"
#include "controller/report/phases.h"
#include "controller/report/slices.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* --- stages, requests, warm-up ---------------------------------------------------------------- */

static void cells_clock(struct html_table *t, const struct hist *h)
{
    static const double percentiles[] = {50, 99};
    uint64_t n = hist_count(h);
    for (size_t i = 0; i < LENGTH(percentiles); i++) {
        if (n > 0)
            html_cell_latency(t, figures_at(h, percentiles[i]),
                              !result_supports(percentiles[i], n));
        else
            html_cell_text(t, "-");
    }
    if (n > 0)
        html_cell_latency(t, hist_max(h), false);
    else
        html_cell_text(t, "-");
}

static void slice_name(const struct html_page *p, enum slice_by by, const struct slice *s,
                       struct html_table *t)
{
    const struct plan *plan = p->r->plan;
    char text[PLAN_STAGE_TEXT];
    if (by == SLICE_NAME)
        html_cell_text(t, s->name[0] != '\0' ? s->name : "(no name)");
    else if (plan != NULL && s->stage < plan->n_stages)
        html_cell(t, "%" PRIu32 ": %s", s->stage + 1,
                  plan_stage_text(&plan->stages[s->stage], text));
    else
        html_cell(t, "%" PRIu32, s->stage + 1);
}

static void slices_table(const struct html_page *p, enum slice_by by, const char *id,
                         const char *caption)
{
    const struct html_column both[] = {{by == SLICE_NAME ? "request" : "stage", false},
                                       {"target/s", true},
                                       {"achieved/s", true},
                                       {"requests", true},
                                       {"errors", true},
                                       {"p50 corr.", true},
                                       {"p99 corr.", true},
                                       {"max corr.", true},
                                       {"p50 uncorr.", true},
                                       {"p99 uncorr.", true},
                                       {"max uncorr.", true}};
    const struct html_column one[] = {{by == SLICE_NAME ? "request" : "stage", false},
                                      {"target/s", true},
                                      {"achieved/s", true},
                                      {"requests", true},
                                      {"errors", true},
                                      {"p50", true},
                                      {"p99", true},
                                      {"max", true}};
    if (!slices_any(p->r, by))
        return;
    struct slices all = slices_of(p->r, p->r->total, by);
    struct html_table t = html_table_begin(p->out, id, caption, p->one_clock ? one : both,
                                           p->one_clock ? LENGTH(one) : LENGTH(both));
    for (size_t i = 0; i < all.n; i++) {
        const struct slice *s = &all.items[i];
        html_row(&t);
        slice_name(p, by, s, &t);
        html_cell_rate(&t, s->target, s->target > 0);
        html_cell_rate(&t, s->achieved, s->ns > 0);
        html_cell_count(&t, s->c.scheduled);
        html_cell_count(&t, slices_errors(&s->c));
        if (!p->one_clock)
            cells_clock(&t, s->corrected);
        cells_clock(&t, s->uncorrected);
        html_row_end(&t);
    }
    html_table_end(&t);
    slices_clear(&all);
}

void html_table_stages(const struct html_page *p)
{
    slices_table(p, SLICE_STAGE, "t-stages", "Stages");
}

void html_table_requests(const struct html_page *p)
{
    slices_table(p, SLICE_NAME, "t-requests", "Requests by name");
}

void html_table_warmup(const struct html_page *p)
{
    char n[HTML_NUMBER], bad[HTML_NUMBER], p50[HTML_NUMBER], p99[HTML_NUMBER];
    if (p->r->warmup == NULL)
        return;
    struct counters c = snapshot_counters(p->r->warmup);
    struct hist *h = figures_main_hist(p->r, p->r->warmup);
    fprintf(p->out,
            "<p class=\"note\">Warm-up, in no other figure: %s requests, %s errors, p50 %s, p99 "
            "%s.</p>\n",
            html_count(c.scheduled, n), html_count(slices_errors(&c), bad),
            html_latency(figures_at(h, 50), p50), html_latency(figures_at(h, 99), p99));
    hist_free(h);
}

/* --- objectives ------------------------------------------------------------------------------- */

void html_table_objectives(const struct html_page *p)
{
    static const struct html_column columns[] = {
        {"objective", false}, {"outcome", false}, {"measured", false}};
    if (p->r->n_objectives == 0)
        return;
    struct html_table t =
        html_table_begin(p->out, "t-slo", "Objectives (--slo)", columns, LENGTH(columns));
    for (size_t i = 0; i < p->r->n_objectives; i++) {
        const struct objective *o = &p->r->objectives[i];
        char said[CONDITION_SAID];
        html_row_class(&t, o->held ? "good" : "bad");
        html_cell_text(&t, o->condition->text);
        html_cell_text(&t, o->held ? "\xe2\x9c\x93 held" : "\xe2\x9c\x97 FAILED");
        html_cell_text(&t, objective_say(o, said));
        html_row_end(&t);
    }
    html_table_end(&t);
}

/* --- what became of the requests -------------------------------------------------------------- */

struct outcome {
    const char *name;
    uint64_t n;
    const char *what;
    bool always; /* shown when it is 0, too */
};

static void outcome_rows(const struct html_page *p, struct html_table *t,
                         const struct outcome *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].n == 0 && !rows[i].always)
            continue;
        html_row(t);
        html_cell_text(t, rows[i].name);
        html_cell_count(t, rows[i].n);
        char share[HTML_NUMBER];
        html_cell_text(t, html_share(rows[i].n, p->c.scheduled, share));
        html_cell_text(t, rows[i].what);
        html_row_end(t);
    }
}

void html_table_ledger(const struct html_page *p)
{
    static const struct html_column columns[] = {
        {"requests", false}, {"number", true}, {"share", true}, {"what they are", false}};
    const struct counters *c = &p->c;
    const struct outcome rows[] = {
        {"scheduled", c->scheduled, "due, by the plan: sent + unsent", true},
        {"sent", c->sent, "completed + failed + timeouts + unfinished", true},
        {"completed", c->completed, "complete responses: ok + HTTP errors", true},
        {"ok", c->ok, "status below 400", true},
        {"HTTP errors", c->http_errors, "status 4xx or 5xx", true},
        {"failed", counters_failed(c), "sent, then an error before the response was complete",
         true},
        {"\xc2\xa0 connection", c->failed_connect, "its own connection could not be opened", false},
        {"\xc2\xa0 TLS", c->failed_tls, "", false},
        {"\xc2\xa0 read", c->failed_read, "closed or reset", false},
        {"\xc2\xa0 write", c->failed_write, "it could not be written whole", false},
        {"\xc2\xa0 protocol", c->failed_protocol, "the response is not HTTP", false},
        {"timeouts", c->timeouts, "no complete response in time, counted from the send", true},
        {"unfinished", c->unfinished, "in flight when the run ended", true},
        {"unsent", counters_unsent(c), "due but never sent", true},
        {"\xc2\xa0 no connection", c->unsent_no_connection, "none was free before the end", false},
        {"\xc2\xa0 stopped", c->unsent_stopped, "the run was stopped first", false},
        {"\xc2\xa0 dropped", c->unsent_dropped, "every connection was busy (--on-full drop)",
         false},
    };
    struct html_table t = html_table_begin(p->out, "t-ledger", "Ledger", columns, LENGTH(columns));
    outcome_rows(p, &t, rows, LENGTH(rows));
    html_table_end(&t);
}

void html_table_outcomes(const struct html_page *p)
{
    static const struct html_column columns[] = {
        {"status", false}, {"responses", true}, {"share", true}};
    const uint64_t *status = p->r->total->status;
    if (p->c.completed == 0)
        return;
    struct html_table t =
        html_table_begin(p->out, "t-status", "Status codes", columns, LENGTH(columns));
    for (int code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code++) {
        char share[HTML_NUMBER];
        if (status[code] == 0)
            continue;
        html_row(&t);
        html_cell(&t, "%d", code);
        html_cell_count(&t, status[code]);
        html_cell_text(&t, html_share(status[code], p->c.completed, share));
        html_row_end(&t);
    }
    html_table_end(&t);
}

/* Most frequent first; equal ones in the order of their texts. */
static size_t sorted_errors(const struct snapshot *s, const struct error_row **rows)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_errors; i++) {
        size_t at = n++;
        for (; at > 0 && rows[at - 1]->count < s->errors[i].count; at--)
            rows[at] = rows[at - 1];
        rows[at] = &s->errors[i];
    }
    return n;
}

void html_table_errors(const struct html_page *p)
{
    static const struct html_column columns[] = {{"error", false}, {"times", true}};
    const struct snapshot *s = p->r->total;
    const struct error_row *rows[SNAPSHOT_ERRORS_MAX];
    size_t n = sorted_errors(s, rows);
    if (n == 0 && s->errors_other == 0)
        return;
    struct html_table t = html_table_begin(p->out, "t-errors", "Errors", columns, LENGTH(columns));
    for (size_t i = 0; i < n; i++) {
        html_row(&t);
        html_cell_text(&t, rows[i]->text);
        html_cell_count(&t, rows[i]->count);
        html_row_end(&t);
    }
    if (s->errors_other > 0) {
        html_row(&t);
        html_cell_text(&t, "other texts, not kept");
        html_cell_count(&t, s->errors_other);
        html_row_end(&t);
    }
    html_table_end(&t);
}

/* --- whose delay, and where the time goes ----------------------------------------------------- */

void html_table_lags(const struct html_page *p)
{
    static const struct html_column columns[] = {
        {"delay", false}, {"mean", true}, {"p99", true}, {"max", true}, {"whose", false}};
    static const struct {
        const char *name, *whose;
        enum hist_kind kind;
        bool open; /* of an open loop only */
    } rows[] = {
        {"send lag", "hammer's: a connection was free, but the request left late", HIST_SEND_LAG,
         true},
        {"receive lag", "hammer's: the response was there, but read late", HIST_RECEIVE, false},
        {"connection wait", "the server's: every connection was busy", HIST_WAIT, true},
    };
    struct html_table t =
        html_table_begin(p->out, "t-lags", "Whose delay it was", columns, LENGTH(columns));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (p->closed && rows[i].open)
            continue;
        struct hist *h = snapshot_hist(p->r->total, rows[i].kind);
        bool any = hist_count(h) > 0;
        html_row(&t);
        html_cell_text(&t, rows[i].name);
        if (any) {
            html_cell_latency(&t, (uint64_t)(hist_mean_exact(h) + 0.5), false);
            html_cell_latency(&t, figures_at(h, 99), !result_supports(99, hist_count(h)));
            html_cell_latency(&t, hist_max(h), false);
        }
        for (size_t k = 0; k < 3 && !any; k++)
            html_cell_text(&t, "-");
        html_cell_text(&t, rows[i].whose);
        html_row_end(&t);
        hist_free(h);
    }
    html_table_end(&t);
}

void html_table_phases(const struct html_page *p)
{
    static const struct html_column columns[] = {{"part", false}, {"count", true}, {"mean", true},
                                                 {"p50", true},   {"p99", true},   {"max", true}};
    if (!phases_any(p->r->total))
        return;
    struct html_table t =
        html_table_begin(p->out, "t-phases", "Where the time goes", columns, LENGTH(columns));
    for (unsigned i = 0; i < PHASES; i++) {
        struct hist *h = phases_hist(p->r->total, (enum phase)i);
        if (hist_count(h) > 0) {
            html_row(&t);
            html_cell_text(&t, phases_label((enum phase)i));
            html_cell_count(&t, hist_count(h));
            html_cell_latency(&t, (uint64_t)(hist_mean_exact(h) + 0.5), false);
            cells_clock(&t, h);
            html_row_end(&t);
        }
        hist_free(h);
    }
    html_table_end(&t);
}
