/* SPDX-License-Identifier: MIT */
#include "tests/lib/html_pages.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/blocks.h"

/* --- what the fixture does not have --------------------------------------------------------------
 */

static void fill_row(struct result_interval *row, struct hist *corrected, struct hist *uncorrected,
                     size_t i, size_t stalled)
{
    uint64_t slow = i == stalled ? NS_PER_SEC : 0;
    for (uint64_t k = 0; k < row->completed; k++) {
        uint64_t service = 150 * NS_PER_US + (k * 7919 + i * 104729) % (800 * NS_PER_US);
        hist_record(uncorrected, service + (k == 0 ? slow : 0), 1);
        hist_record(corrected, service + 20000 + slow * k / row->completed, 1);
    }
    struct hist *of[] = {corrected, uncorrected};
    struct result_latency *into[] = {&row->corrected, &row->uncorrected};
    for (size_t k = 0; k < 2 && row->completed > 0; k++)
        *into[k] = (struct result_latency){.count = hist_count(of[k]),
                                           .min = hist_min(of[k]),
                                           .mean = (uint64_t)hist_mean_exact(of[k]),
                                           .p50 = hist_value_at_percentile(of[k], 50),
                                           .p99 = hist_value_at_percentile(of[k], 99),
                                           .max = hist_max(of[k])};
}

/* A timeline of n rows and the blocks that go with it; a row of a longer run has few requests. */
static void timeline(struct result *r, size_t n, uint64_t a_row, uint64_t ns)
{
    struct hist *corrected = hist_new_default(), *uncorrected = hist_new_default();
    mem_free(r->intervals);
    r->intervals = mem_calloc(n > 0 ? n : 1, sizeof *r->intervals);
    r->n_intervals = n;
    blocks_free(r->blocks);
    r->blocks = blocks_new();
    for (size_t i = 0; i < n; i++) {
        struct result_interval *row = &r->intervals[i];
        *row = (struct result_interval){.from_ns = i * ns,
                                        .to_ns = (i + 1) * ns,
                                        .sent = a_row,
                                        .completed = a_row,
                                        .errors = i % 7 == 3 ? 2 : 0,
                                        .agents_reporting = 2,
                                        .slots = 1};
        hist_reset(corrected);
        hist_reset(uncorrected);
        fill_row(row, corrected, uncorrected, i, n / 3);
        struct merge_view v = {.row = row, .corrected = corrected, .uncorrected = uncorrected};
        blocks_add(r->blocks, &v);
    }
    hist_free(corrected);
    hist_free(uncorrected);
}

/* --- the runs ----------------------------------------------------------------------------------
 */

static void healthy(struct report_fixture *f)
{
    report_fixture(f, 3000, 0);
    timeline(f->r, 6, 500, NS_PER_SEC);
    report_fixture_phases(f);
    report_fixture_finish(f);
}

static void all_of_it(struct report_fixture *f)
{
    report_fixture(f, 3000, 300);
    timeline(f->r, 6, 500, NS_PER_SEC);
    report_fixture_series(f);
    report_fixture_errors(f);
    report_fixture_stalls(f);
    report_fixture_warmup(f);
    report_fixture_given(f);
    f->r->intervals[5].agents_lost = 1;
    f->r->agents[1].state = RESULT_LOST;
    f->r->agents[1].loss = (struct loss){.any = true,
                                         .at_ns = 5 * NS_PER_SEC,
                                         .last_seq = 5,
                                         .last_to_ns = 5 * NS_PER_SEC,
                                         .count = 17,
                                         .share = 0.5,
                                         .taken_over_from = UINT64_MAX};
    report_fixture_finish(f);
}

static void one_clock(struct report_fixture *f)
{
    report_fixture(f, 3000, 0);
    timeline(f->r, 6, 500, NS_PER_SEC);
    f->plan.rate.num = 0;
    report_fixture_from_send(f);
    for (size_t i = 0; i < 6; i++)
        f->r->intervals[i].corrected = (struct result_latency){0};
    report_fixture_finish(f);
}

static void one_request(struct report_fixture *f)
{
    report_fixture(f, 2, 0);
    timeline(f->r, 1, 1, NS_PER_SEC);
    report_fixture_finish(f);
}

static void nothing(struct report_fixture *f)
{
    report_fixture(f, 0, 0);
    report_fixture_finish(f);
}

/* Due, but not one answer. */
static void no_answers(struct report_fixture *f)
{
    report_fixture(f, 0, 0);
    timeline(f->r, 6, 0, NS_PER_SEC);
    f->r->end_ns = 6 * NS_PER_SEC;
    struct counters *c = &snapshot_series(f->r->agents[0].total, 0, "")->counters;
    c->scheduled = c->sent = c->timeouts = 3000;
    snapshot_add_error(f->r->agents[0].total, "timeout: no complete response within 2s", 3000);
    report_fixture_finish(f);
}

static void long_run(struct report_fixture *f)
{
    report_fixture(f, 3000, 0);
    timeline(f->r, 10000, 3, NS_PER_SEC);
    f->r->duration_ns = f->r->end_ns = f->plan.duration_ns = 10000 * NS_PER_SEC;
    f->plan.rate = (struct rate){3, 1};
    report_fixture_finish(f);
}

/* Whatever a user, an agent or a server may have to say. */
static void attack(struct report_fixture *f)
{
    static char url[] = "http://127.0.0.1:8080/" HTML_ATTACK;
    static char method[] = HTML_ATTACK;
    report_fixture(f, 3000, 300);
    timeline(f->r, 6, 500, NS_PER_SEC);
    report_fixture_series(f);
    report_fixture_stalls(f);
    f->plan.url = url;
    f->plan.method = method;
    struct result *r = f->r;
    snprintf(r->name, sizeof r->name, "%s", HTML_ATTACK);
    r->description =
        mem_strdup("<!-- " HTML_ATTACK "\x01\x1b[31m\xff\xc0\xaf\xed\xa0\x80 \xe2\x80\xae");
    r->tags = mem_strdup(HTML_ATTACK ",&amp;");
    for (size_t i = 0; i < r->n_agents; i++) {
        struct result_agent *a = &r->agents[i];
        snprintf(a->name, sizeof a->name, "%s", HTML_ATTACK);
        snprintf(a->address, sizeof a->address, "\xfe\x7f%s", HTML_ATTACK);
        snprintf(a->problem, sizeof a->problem, "%s", HTML_ATTACK);
        snprintf(a->total->server, sizeof a->total->server, "%s", HTML_ATTACK);
        a->total->first_ns = 1;
        snapshot_add_error(a->total, HTML_ATTACK, 3);
        snapshot_add_address(a->total, HTML_ATTACK, 3);
        snapshot_add_suite(a->total, HTML_ATTACK, 3);
        snapshot_series(a->total, 0, HTML_ATTACK)->counters = (struct counters){0};
    }
    option_list_add(&f->plan.given, "user-agent=" HTML_ATTACK);
    report_fixture_finish(f);
    r->verdict.n_reasons = r->verdict.n_warnings = 1;
    snprintf(r->verdict.reasons[0], sizeof r->verdict.reasons[0], "%s", HTML_ATTACK);
    snprintf(r->verdict.warnings[0], sizeof r->verdict.warnings[0], "%s", HTML_ATTACK);
}

const struct html_case html_cases[] = {
    {"healthy", healthy, true, true, true},     {"all", all_of_it, true, true, true},
    {"one-clock", one_clock, true, true, true}, {"one-request", one_request, true, true, true},
    {"nothing", nothing, false, false, false},  {"no-answers", no_answers, false, false, false},
    {"long", long_run, true, true, true},       {"attack", attack, true, true, true},
};
const size_t html_cases_n = sizeof html_cases / sizeof html_cases[0];

void html_case_free(struct report_fixture *f)
{
    option_list_clear(&f->plan.given);
    mem_free(f->r->description);
    mem_free(f->r->tags);
    f->r->description = f->r->tags = NULL;
    result_free(f->r);
}
