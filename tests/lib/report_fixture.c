/* SPDX-License-Identifier: MIT */
#include "tests/lib/report_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/blocks.h"
#include "controller/run/verdict.h"

static void fill_series(struct snapshot *s, uint64_t n, uint64_t slow)
{
    struct series *series = snapshot_series(s, 0, "");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t service = 150000 + (i * 7919) % 120000;
        uint64_t stalled = i < slow ? (slow - i) * (NS_PER_SEC / slow) : 0;
        hist_record(series_hist(series, HIST_UNCORRECTED), service + (i == 0 ? stalled : 0), 1);
        hist_record(series_hist(series, HIST_CORRECTED), service + 20000 + stalled, 1);
        hist_record(series_hist(series, HIST_SEND_LAG), 8000 + (i * 31) % 30000, 1);
        hist_record(series_hist(series, HIST_RECEIVE), 3000 + (i * 17) % 9000, 1);
        if (i > 0 && i < slow)
            hist_record(series_hist(series, HIST_WAIT), stalled, 1);
    }
    series->counters = (struct counters){.scheduled = n,
                                         .sent = n,
                                         .completed = n,
                                         .ok = n,
                                         .connects = 10,
                                         .bytes_in = n * 78,
                                         .bytes_out = n * 45,
                                         .waited = slow > 0 ? slow - 1 : 0};
    s->status[200] = n;
    s->cpu_ns = n * 70000;
    s->cpu_busy_ppm = 120000;
    s->spin_ns = n * 12000;
    s->context_switches = n * 2 + 7;
    s->preemptions = n / 100;
}

static void fill_agent(struct result_agent *a, size_t i)
{
    snprintf(a->address, sizeof a->address, "127.0.0.1:%zu", 7400 + i);
    snprintf(a->name, sizeof a->name, i == 0 ? "127.0.0.1:7400" : "box-b");
    snprintf(a->version, sizeof a->version, "0.1.0");
    a->weight = 1;
    a->threads = 2;
    a->connections = 10;
    a->same_clock = i == 0;
    a->clock_offset_ns = i == 0 ? 0 : 12400;
    a->clock_error_ns = i == 0 ? 0 : 35000;
    if (i > 0) {
        drift_begin(&a->drift, NS_PER_SEC, 12400, 35000);
        drift_probe(&a->drift, 7 * NS_PER_SEC, 7 * NS_PER_SEC + 45400, 7 * NS_PER_SEC + 45400,
                    7 * NS_PER_SEC + 60000);
        drift_end(&a->drift);
    }
    a->start_error_ns = 9100 + (int64_t)i * 81000;
    a->started = a->checked = true;
}

void report_fixture(struct report_fixture *f, uint64_t n, uint64_t slow)
{
    static char url[] = "http://127.0.0.1:8080/", get[] = "GET";
    *f = (struct report_fixture){.plan = {.url = url,
                                          .method = get,
                                          .rate = {500, 1},
                                          .duration_ns = 6 * NS_PER_SEC,
                                          .requests = UINT64_MAX,
                                          .timeout_ns = 2 * NS_PER_SEC,
                                          .interval_ns = NS_PER_SEC,
                                          .connections = 20}};
    struct result *r = f->r = result_new(2);
    r->plan = &f->plan;
    snprintf(r->run_id, sizeof r->run_id, "00112233445566778899aabbccddeeff");
    r->started_wall_ns = UINT64_C(1760000000) * NS_PER_SEC;
    r->duration_ns = 6 * NS_PER_SEC;
    r->end_ns = n > 0 ? 6 * NS_PER_SEC + 400000 : 0;
    for (size_t i = 0; i < 2; i++) {
        fill_agent(&r->agents[i], i);
        if (n > 0)
            fill_series(r->agents[i].total, n / 2, slow / 2);
    }
    r->n_intervals = n > 0 ? 6 : 0;
    r->intervals = mem_calloc(6, sizeof *r->intervals);
    for (size_t i = 0; i < 6; i++)
        r->intervals[i] = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                                   .to_ns = (i + 1) * NS_PER_SEC,
                                                   .sent = n / 6,
                                                   .completed = n / 6,
                                                   .agents_reporting = 2};
}

static void add_agent(struct result *r, const struct result_agent *a)
{
    ck_assert_int_eq(snapshot_add(r->total, a->total, false), ERR_OK);
    if (a->warmup == NULL)
        return;
    if (r->warmup == NULL)
        r->warmup = snapshot_new();
    ck_assert_int_eq(snapshot_add(r->warmup, a->warmup, false), ERR_OK);
}

/* What was quick is dealt out to the intervals in turn; what was slow was all of the third one. */
static void deal_out(const struct hist *all, size_t n, struct hist **rows)
{
    const struct hist_geometry *g = hist_geometry_of(all);
    size_t next = 0;
    for (uint32_t i = 0; i <= hist_top_index(all); i++)
        for (uint64_t left = hist_count_at(all, i), v = hist_low(g, i); left > 0; left--)
            hist_record(rows[v > 10 * NS_PER_MS && n > 2 ? 2 : next++ % n], v, 1);
}

static struct result_latency in_short(const struct hist *h)
{
    return (struct result_latency){.count = hist_count(h),
                                   .min = hist_min(h),
                                   .mean = (uint64_t)hist_mean_exact(h),
                                   .p50 = hist_value_at_percentile(h, 50),
                                   .p99 = hist_value_at_percentile(h, 99),
                                   .max = hist_max(h)};
}

static void fill_timeline(struct result *r)
{
    static const enum hist_kind kinds[] = {HIST_CORRECTED, HIST_UNCORRECTED};
    size_t n = r->n_intervals;
    struct hist **rows = mem_calloc(2 * n + 1, sizeof(struct hist *));
    for (size_t i = 0; i < 2 * n; i++)
        rows[i] = hist_new_default();
    for (size_t k = 0; k < 2 && n > 0; k++) {
        struct hist *all = snapshot_hist(r->total, kinds[k]);
        deal_out(all, n, rows + k * n);
        hist_free(all);
    }
    r->blocks = blocks_new();
    for (size_t i = 0; i < n; i++) {
        struct result_interval *row = &r->intervals[i];
        if (row->corrected.p50 == 0 && row->uncorrected.p50 == 0) { /* not made by the test */
            row->corrected = in_short(rows[i]);
            row->uncorrected = in_short(rows[n + i]);
        }
        row->slots = 1;
        struct merge_view v = {.row = row, .corrected = rows[i], .uncorrected = rows[n + i]};
        blocks_add(r->blocks, &v);
    }
    for (size_t i = 0; i < 2 * n; i++)
        hist_free(rows[i]);
    mem_free(rows);
}

void report_fixture_finish(struct report_fixture *f)
{
    for (size_t i = 0; i < 2; i++)
        add_agent(f->r, &f->r->agents[i]);
    if (f->r->blocks == NULL) /* not made by the test */
        fill_timeline(f->r);
    verdict_eval(f->r);
}

void report_fixture_groups(struct report_fixture *f)
{
    struct result *r = f->r;
    r->every_ns = 2 * NS_PER_SEC;
    r->n_groups = (r->n_intervals + 1) / 2;
    r->groups = mem_calloc(r->n_groups + 1, sizeof *r->groups);
    for (size_t i = 0; i < r->n_intervals; i++) {
        const struct result_interval *row = &r->intervals[i];
        struct result_interval *g = &r->groups[i / 2];
        if (i % 2 == 0) {
            *g = *row;
            continue;
        }
        g->to_ns = row->to_ns;
        g->sent += row->sent;
        g->completed += row->completed;
        g->errors += row->errors;
        g->slots += row->slots;
        g->corrected.count += row->corrected.count;
        g->uncorrected.count += row->uncorrected.count;
    }
}

void report_fixture_errors(struct report_fixture *f)
{
    static const char *const texts[] = {"timeout: no complete response within 2s",
                                        "read: connection reset by peer",
                                        "read: the server closed before the response was complete",
                                        "protocol: a header line has no colon",
                                        "write: broken pipe",
                                        "connect: connection refused",
                                        "status 503"};
    struct snapshot *s = f->r->agents[1].total;
    struct counters *c = &snapshot_series(s, 0, "")->counters;
    c->scheduled += 90;
    c->sent += 80;
    c->timeouts = 60;
    c->failed_read = 12;
    c->failed_protocol = 3;
    c->failed_write = 1;
    c->unfinished = 4;
    c->unsent_no_connection = 10;
    c->connect_errors = 5;
    c->retries = 2;
    c->late = 4;
    c->ok -= 30;
    c->http_errors = 30;
    c->fault_ports = 1;
    s->status[200] -= 30;
    s->status[503] = 30;
    s->censored_age_ns = 2 * NS_PER_SEC + 1500000;
    for (uint64_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        snapshot_add_error(s, texts[i], 60 / (i + 1));
}

void report_fixture_stalls(struct report_fixture *f)
{
    static const struct stall stalls[] = {
        {2013 * NS_PER_MS, 501 * NS_PER_MS, 250, 2, 2, false, 2, {0, 1}},
        {5100 * NS_PER_MS, 702 * NS_PER_MS, 175, 1, 2, true, 1, {1}},
    };
    f->r->n_stalls = sizeof stalls / sizeof stalls[0];
    f->r->stalls = mem_calloc(f->r->n_stalls, sizeof *f->r->stalls);
    for (size_t i = 0; i < f->r->n_stalls; i++)
        f->r->stalls[i] = stalls[i];
    f->r->agents[1].outlier = (struct outlier){.tested = true,
                                               .any = true,
                                               .pair = true,
                                               .percentile = 99,
                                               .here_ns = 3700 * NS_PER_US,
                                               .others_ns = 288 * NS_PER_US};
}

/* The series of one request of a fixture. */
static struct series *series_of(struct snapshot *s, uint64_t i)
{
    static const char *const names[] = {"login", "cart", "login", "", "cart", "login"};
    return snapshot_series(s, i < 300 ? 0 : 1, names[i % 6]);
}

static void split_agent(struct snapshot *s)
{
    struct counters whole = s->series[0].counters;
    uint64_t n = whole.scheduled;
    struct series *first = &s->series[0];
    for (size_t k = 0; k < HIST_KINDS; k++) {
        bool moves = k == HIST_CORRECTED || k == HIST_UNCORRECTED;
        if (moves && first->hists[k] != NULL)
            hist_reset(first->hists[k]);
    }
    first->counters.scheduled = first->counters.sent = 0;
    first->counters.completed = first->counters.ok = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct series *one = series_of(s, i);
        uint64_t service = 150000 + (i * 7919) % 120000;
        hist_record(series_hist(one, HIST_UNCORRECTED), service, 1);
        hist_record(series_hist(one, HIST_CORRECTED), service + 20000, 1);
        one->counters.scheduled++;
        one->counters.sent++;
        one->counters.completed++;
        one->counters.ok++;
    }
}

void report_fixture_series(struct report_fixture *f)
{
    static char urls[3][40] = {"http://127.0.0.1:8080/login", "http://127.0.0.1:8080/cart",
                               "http://127.0.0.1:8080/?token=s3cret"};
    static char login[] = "login", cart[] = "cart";
    f->entries[0] = (struct plan_entry){.name = login, .url = urls[0], .weight = 3};
    f->entries[1] = (struct plan_entry){.name = cart, .url = urls[1], .weight = 2};
    f->entries[2] = (struct plan_entry){.url = urls[2], .weight = 1};
    f->plan.entries = f->entries;
    f->plan.n_entries = 3;
    f->plan.rate = (struct rate){600, 1};
    f->plan.n_stages = 2;
    f->plan.stages[0] = (struct stage){2 * NS_PER_SEC, {300, 1}, {300, 1}};
    f->plan.stages[1] = (struct stage){4 * NS_PER_SEC, {600, 1}, {600, 1}};
    for (size_t i = 0; i < 2; i++)
        split_agent(f->r->agents[i].total);
}

void report_fixture_phases(struct report_fixture *f)
{
    for (size_t i = 0; i < 2; i++) {
        struct snapshot *s = f->r->agents[i].total;
        struct series *one = &s->series[0];
        uint64_t n = snapshot_counters(s).completed;
        for (uint64_t k = 0; k < n; k++) {
            uint64_t service = 150000 + (k * 7919) % 120000;
            hist_record(series_hist(one, HIST_UPLOAD), 9000 + k % 500, 1);
            hist_record(series_hist(one, HIST_FIRST_BYTE), service - 40000 - k % 500, 1);
            hist_record(series_hist(one, HIST_DOWNLOAD), 31000, 1);
        }
        for (uint64_t k = 0; k < 10; k++)
            hist_record(series_hist(one, HIST_CONNECT), 60000 + 7000 * k, 1);
        hist_record(series_hist(one, HIST_DNS), 1200000, 1);
        one->counters.reused = n - 10;
        one->counters.head_bytes = n * 66;
        one->counters.body_bytes = n * 12;
        one->counters.limit_ns = i * 720 * NS_PER_MS;
        one->counters.waited = i * 17;
        one->counters.redirects = 6;
        one->counters.unexpected = i * 3;
        one->counters.lookups = 2;
        one->counters.lookup_errors = i;
        snapshot_note_first(s, 1000 + i, 12, "nginx/1.22.1");
    }
}

void report_fixture_warmup(struct report_fixture *f)
{
    f->plan.warmup_ns = NS_PER_SEC;
    f->plan.duration_ns = f->r->duration_ns = 7 * NS_PER_SEC;
    f->r->end_ns = 7 * NS_PER_SEC + 400000;
    for (size_t i = 0; i < 2; i++) {
        struct snapshot *s = f->r->agents[i].warmup = snapshot_new();
        struct series *one = snapshot_series(s, SERIES_STAGE_WARMUP, "");
        for (uint64_t k = 0; k < 245 + 5 * i; k++) {
            hist_record(series_hist(one, HIST_CORRECTED), 9 * NS_PER_MS + k * NS_PER_US, 1);
            hist_record(series_hist(one, HIST_UNCORRECTED), 8 * NS_PER_MS + k * NS_PER_US, 1);
        }
        one->counters = (struct counters){.scheduled = 250,
                                          .sent = 250,
                                          .completed = 245 + 5 * i,
                                          .ok = 245 + 5 * i,
                                          .timeouts = 5 - 5 * i};
    }
}

void report_fixture_from_send(struct report_fixture *f)
{
    f->plan.closed_loop = true;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < f->r->agents[i].total->n_series; k++)
            hist_reset(series_hist(&f->r->agents[i].total->series[k], HIST_CORRECTED));
}

void report_fixture_given(struct report_fixture *f)
{
    static const char *const given[] = {"stages=2s@300,4s@600",
                                        "connections=20",
                                        "timeout=2s",
                                        "proxy=http://me:s3cret@10.0.0.1:3128",
                                        "insecure",
                                        "data=a text with s3cret"};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        option_list_add(&f->plan.given, given[i]);
}

char *report_render(const struct report_format *format, const struct result *r, bool verbose,
                    bool spectrum)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct report_options o = {.verbose = verbose, .spectrum = spectrum};
    ck_assert_int_eq(format->write(r, &o, out), ERR_OK);
    fclose(out);
    return text;
}
