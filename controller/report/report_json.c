/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/report.h"

/*
 * hammer.report/1 (docs/report-schema.json). Integers are nanoseconds or counts; what is not known
 * is null, never a made-up number and never NaN. Keys may be added, never renamed. jansson takes
 * over every value that is set, and a failed set shows in json_dumpf's result at the latest.
 */

#define SCHEMA      "hammer.report/1"
#define REAL_DIGITS 12

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value != NULL ? value : json_null());
}

static json_t *integer(uint64_t v)
{
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Peers' and users' text: what is not UTF-8 loses its foreign bytes rather than the report. */
static json_t *string(const char *text)
{
    json_t *s = json_string(text);
    if (s != NULL)
        return s;
    char *copy = mem_strdup(text);
    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p >= 128)
            *p = '?';
    s = json_string(copy);
    mem_free(copy);
    return s;
}

/* --- run and plan ----------------------------------------------------------------------------- */

static json_t *json_run(const struct result *r)
{
    char started[UNITS_TEXT];
    json_t *o = json_object();
    set(o, "id", string(r->run_id));
    set(o, "name", string(r->name));
    set(o, "started_at", json_string(units_format_utc(r->started_wall_ns, started)));
    set(o, "duration_ns", integer(r->duration_ns));
    set(o, "end_ns", integer(r->end_ns));
    return o;
}

/* Reports are passed around: what is secret stays out of them. */
static json_t *redacted_url(const char *url)
{
    char *shown = mem_calloc(2, PLAN_URL_MAX);
    redact_url(url, shown, 2 * (size_t)PLAN_URL_MAX);
    json_t *s = string(shown);
    mem_free(shown);
    return s;
}

static json_t *redacted_header(const char *line, const char *secret_headers)
{
    char *shown = mem_calloc(2, PLAN_HEADER_LINE_MAX);
    redact_header(line, secret_headers, shown, 2 * (size_t)PLAN_HEADER_LINE_MAX);
    json_t *s = string(shown);
    mem_free(shown);
    return s;
}

static json_t *json_stages(const struct plan *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct stage *s = &p->stages[i];
        json_t *o = json_object();
        char text[PLAN_STAGE_TEXT];
        set(o, "stage", json_string(plan_stage_text(s, text)));
        set(o, "duration_ns", integer(s->duration_ns));
        set(o, "from", real((double)s->from.num / (double)s->from.den));
        set(o, "to", real((double)s->to.num / (double)s->to.den));
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *json_abort_on(const struct result *r)
{
    json_t *all = json_array();
    for (size_t i = 0; r->abort_on != NULL && i < r->abort_on->n; i++)
        json_array_append_new(all, string(r->abort_on->items[i].text));
    return all;
}

static json_t *json_plan(const struct result *r, const struct report_options *options)
{
    const struct plan *p = r->plan;
    json_t *o = json_object(), *headers = json_array();
    if (p == NULL) {
        json_decref(headers);
        return o;
    }
    uint64_t connections = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        connections += r->agents[i].connections;
    char rate[UNITS_TEXT];
    bool open = p->rate.num > 0;
    for (size_t i = 0; i < p->headers.n; i++)
        json_array_append_new(headers,
                              redacted_header(p->headers.items[i], options->secret_headers));
    set(o, "url", p->url != NULL ? redacted_url(p->url) : NULL);
    set(o, "method", p->method != NULL ? string(p->method) : NULL);
    set(o, "headers", headers);
    set(o, "body_bytes", integer(p->body_len));
    set(o, "loop", json_string(open ? "open" : "closed"));
    set(o, "rate", open ? json_string(units_format_rate(&p->rate, rate)) : NULL);
    set(o, "stages", json_stages(p));
    set(o, "arrivals", open ? json_string(plan_arrivals_name(p)) : NULL);
    set(o, "seed", plan_is_random(p) ? integer(p->seed) : NULL);
    set(o, "jitter_percent", real((double)p->jitter / 1e7));
    set(o, "duration_ns", integer(p->duration_ns));
    set(o, "requests", integer(p->requests));
    set(o, "timeout_ns", integer(p->timeout_ns));
    set(o, "interval_ns", integer(p->interval_ns));
    set(o, "spin_ns", integer(p->spin_ns));
    set(o, "dispatch_quantum_ns", integer(p->dispatch_quantum_ns));
    set(o, "abort_on", json_abort_on(r));
    set(o, "connections", integer(connections));
    set(o, "threads", p->threads > 0 ? integer(p->threads) : NULL);
    return o;
}

static json_t *json_verdict(const struct verdict *v)
{
    json_t *o = json_object(), *reasons = json_array(), *warnings = json_array();
    for (size_t i = 0; i < v->n_reasons; i++)
        json_array_append_new(reasons, string(v->reasons[i]));
    set(o, "status", json_string(result_status_name(v->status)));
    for (size_t i = 0; i < v->n_warnings; i++)
        json_array_append_new(warnings, string(v->warnings[i]));
    set(o, "reasons", reasons);
    set(o, "warnings", warnings);
    set(o, "exit_code", json_integer(v->exit_code));
    set(o, "server_limited", json_boolean(v->also_server_limited));
    return o;
}

/* --- counters --------------------------------------------------------------------------------- */

static json_t *json_totals(const struct counters *c)
{
    json_t *o = json_object(), *errors = json_object(), *unsent = json_object();
    json_t *faults = json_object();
    const struct {
        json_t *in;
        const char *key;
        uint64_t value;
    } rows[] = {
        {errors, "connect", c->connect_errors},
        {errors, "handshake", c->handshake_errors},
        {errors, "own_connect", c->failed_connect},
        {errors, "tls", c->failed_tls},
        {errors, "read", c->failed_read},
        {errors, "write", c->failed_write},
        {errors, "protocol", c->failed_protocol},
        {unsent, "no_connection", c->unsent_no_connection},
        {unsent, "stopped", c->unsent_stopped},
        {unsent, "dropped", c->unsent_dropped},
        {faults, "fd_limit", c->fault_fd_limit},
        {faults, "ports", c->fault_ports},
        {faults, "memory", c->fault_memory},
        {o, "scheduled", c->scheduled},
        {o, "sent", c->sent},
        {o, "unsent", counters_unsent(c)},
        {o, "completed", c->completed},
        {o, "ok", c->ok},
        {o, "http_errors", c->http_errors},
        {o, "failed", counters_failed(c)},
        {o, "timeouts", c->timeouts},
        {o, "unfinished", c->unfinished},
        {o, "retries", c->retries},
        {o, "saturated", c->saturated},
        {o, "bytes_in", c->bytes_in},
        {o, "bytes_out", c->bytes_out},
        {o, "connects", c->connects},
        {o, "waited", c->waited},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        set(rows[i].in, rows[i].key, integer(rows[i].value));
    set(o, "errors", errors);
    set(o, "unsent_by", unsent);
    set(o, "generator_faults", faults);
    return o;
}

static json_t *json_rate(const struct result *r)
{
    json_t *o = json_object();
    double target = figures_target(r);
    set(o, "target", target > 0 ? real(target) : NULL);
    set(o, "achieved", real(figures_achieved(r)));
    return o;
}

static json_t *json_status(const struct snapshot *s)
{
    json_t *o = json_object();
    for (int code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code++) {
        char key[8];
        snprintf(key, sizeof key, "%d", code);
        if (s->status[code] > 0)
            set(o, key, integer(s->status[code]));
    }
    return o;
}

static json_t *json_error_texts(const struct snapshot *s)
{
    json_t *all = json_array();
    for (size_t i = 0; i < s->n_errors; i++) {
        json_t *o = json_object();
        set(o, "text", string(s->errors[i].text));
        set(o, "count", integer(s->errors[i].count));
        json_array_append_new(all, o);
    }
    return all;
}

/* --- distributions ---------------------------------------------------------------------------- */

/* Keys of percentiles that the sample cannot support: there, but not to be relied on. */
static json_t *unsupported(const bool supported[FIGURES_PERCENTILES])
{
    json_t *keys = json_array();
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        if (!supported[i])
            json_array_append_new(keys, json_string(figures_percentiles[i].key));
    return keys;
}

static json_t *json_figures(const struct hist *h)
{
    struct figures f = figures_of(h);
    bool any = f.count > 0;
    json_t *o = json_object(), *percentiles = json_object();
    set(o, "count", integer(f.count));
    set(o, "min", any ? integer(f.min) : NULL);
    set(o, "mean", any ? integer((uint64_t)(f.mean + 0.5)) : NULL);
    set(o, "stddev", any ? integer((uint64_t)(f.stddev + 0.5)) : NULL);
    set(o, "max", any ? integer(f.max) : NULL);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        set(percentiles, figures_percentiles[i].key, any ? integer(f.at[i]) : NULL);
    set(o, "percentiles", percentiles);
    set(o, "unsupported", unsupported(f.supported));
    return o;
}

static json_t *json_all_due(const struct snapshot *s, const struct hist *corrected)
{
    struct figures_all_due f = figures_all_due(s, corrected);
    bool any = hist_count(corrected) > 0, whole = any && f.incomplete == 0;
    json_t *o = json_object(), *percentiles = json_object();
    set(o, "count", integer(f.count));
    set(o, "min", any ? integer(hist_min(corrected)) : NULL);
    set(o, "mean", whole ? integer((uint64_t)(hist_mean_exact(corrected) + 0.5)) : NULL);
    set(o, "stddev", whole ? integer((uint64_t)(hist_stddev(corrected) + 0.5)) : NULL);
    set(o, "max", whole ? integer(hist_max(corrected)) : NULL);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        set(percentiles, figures_percentiles[i].key, f.known[i] ? integer(f.at[i]) : NULL);
    set(o, "percentiles", percentiles);
    set(o, "unsupported", unsupported(f.supported));
    set(o, "limit", f.incomplete > 0 && f.limit > 0 ? integer(f.limit) : NULL);
    return o;
}

static json_t *json_latency(const struct result *r, const struct snapshot *s)
{
    json_t *o = json_object();
    struct hist *corrected = snapshot_hist(s, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(s, HIST_UNCORRECTED);
    set(o, "corrected", json_figures(corrected));
    set(o, "uncorrected", json_figures(uncorrected));
    /* A closed loop has no due times: what was sent is what was due. */
    set(o, "all_due", json_all_due(s, figures_closed_loop(r) ? uncorrected : corrected));
    hist_free(corrected);
    hist_free(uncorrected);
    return o;
}

static json_t *json_lag(const struct snapshot *s)
{
    static const enum hist_kind kinds[] = {HIST_SEND_LAG, HIST_WAIT, HIST_RECEIVE};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct hist *h = snapshot_hist(s, kinds[i]);
        json_t *o = json_figures(h);
        if (kinds[i] == HIST_SEND_LAG)
            set(o, "late", integer(snapshot_counters(s).late));
        set(all, hist_kind_name(kinds[i]), o);
        hist_free(h);
    }
    return all;
}

/* What most connections agreed on; `suite` is "VERSION CIPHER". */
static const char *main_suite(const struct snapshot *s)
{
    const struct error_row *best = NULL;
    for (size_t i = 0; i < s->n_suites; i++)
        if (best == NULL || s->suites[i].count > best->count)
            best = &s->suites[i];
    return best != NULL ? best->text : NULL;
}

/* null for a target in the clear. */
static json_t *json_tls(const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    if (c.handshakes == 0 && c.handshake_errors == 0)
        return NULL;
    json_t *o = json_object(), *suites = json_object();
    struct hist *h = snapshot_hist(r->total, HIST_TLS);
    const char *suite = main_suite(r->total), *space = suite == NULL ? NULL : strchr(suite, ' ');
    for (size_t i = 0; i < r->total->n_suites; i++)
        set(suites, r->total->suites[i].text, integer(r->total->suites[i].count));
    set(o, "handshakes", integer(c.handshakes));
    set(o, "resumed", integer(c.resumed));
    set(o, "failed", integer(c.handshake_errors));
    set(o, "verified", r->plan != NULL ? json_boolean(!r->plan->insecure) : NULL);
    set(o, "version", space != NULL ? json_stringn(suite, (size_t)(space - suite)) : NULL);
    set(o, "cipher", space != NULL ? string(space + 1) : NULL);
    set(o, "suites", suites);
    set(o, "handshake", json_figures(h));
    hist_free(h);
    return o;
}

/* --- agents and timeline ---------------------------------------------------------------------- */

static json_t *json_clock(const struct result_agent *a)
{
    json_t *o = json_object();
    bool known = a->same_clock || a->started;
    set(o, "offset_ns", known ? json_integer(a->clock_offset_ns) : NULL);
    set(o, "error_ns", known ? integer(a->clock_error_ns) : NULL);
    set(o, "same_clock", json_boolean(a->same_clock));
    const struct drift *d = &a->drift;
    bool tracked = d->windows > 0;
    uint64_t change_error_ns;
    double error_ppb, ppb = drift_ppb(d, &error_ppb);
    int64_t change_ns = drift_change(d, &change_error_ns);
    set(o, "change_ns", tracked ? json_integer(change_ns) : NULL);
    set(o, "change_error_ns", tracked ? integer(change_error_ns) : NULL);
    set(o, "max_change_ns", tracked ? json_integer(d->max_ns) : NULL);
    set(o, "drift_ppb", tracked ? real(ppb) : NULL);
    set(o, "drift_error_ppb", tracked ? real(error_ppb) : NULL);
    return o;
}

/* null where the figure does not exist. */
static json_t *json_loss(const struct loss *l)
{
    if (!l->any)
        return json_null();
    json_t *o = json_object();
    set(o, "at_ns", integer(l->at_ns));
    set(o, "collected", json_boolean(l->collected));
    set(o, "last_seq", integer(l->last_seq));
    set(o, "last_to_ns", integer(l->last_to_ns));
    set(o, "scheduled", integer(l->scheduled));
    set(o, "open", integer(l->open));
    set(o, "overlap", integer(l->overlap));
    set(o, "first_index", integer(l->first_index));
    set(o, "last_index", integer(l->last_index));
    set(o, "count", integer(l->count));
    set(o, "share", real(l->share));
    set(o, "taken_over_from", integer(l->taken_over_from));
    return o;
}

static json_t *json_late(const struct result_agent *a)
{
    json_t *o = json_object();
    set(o, "times", integer(a->times_late));
    set(o, "longest_ns", integer(a->longest_late_ns));
    return o;
}

static json_t *json_outlier(const struct outlier *f)
{
    if (!f->any)
        return json_null();
    json_t *o = json_object();
    set(o, "percentile", real(f->percentile));
    set(o, "here_ns", integer(f->here_ns));
    set(o, "others_ns", integer(f->others_ns));
    set(o, "pair", json_boolean(f->pair));
    return o;
}

static json_t *json_health(const struct result *r, const struct result_agent *a)
{
    json_t *o = json_object();
    struct figures_health h = figures_health(r, a);
    set(o, "cpu", h.known ? real(h.cpu) : NULL);
    set(o, "cpu_peak", h.known ? real(h.cpu_peak) : NULL);
    set(o, "spin_share", h.known ? real(h.spin) : NULL);
    set(o, "context_switches", h.known ? integer(h.switches) : NULL);
    set(o, "preemptions", h.known ? integer(h.preemptions) : NULL);
    return o;
}

static json_t *json_agent(const struct result *r, const struct result_agent *a)
{
    json_t *o = json_object();
    struct counters c = snapshot_counters(a->total);
    double cpu = figures_cpu(r, a);
    set(o, "name", string(a->name));
    set(o, "address", string(a->address));
    set(o, "version", string(a->version));
    set(o, "state", json_string(result_agent_state_name(a->state)));
    set(o, "problem", a->problem[0] != '\0' ? string(a->problem) : NULL);
    set(o, "insecure", json_boolean(a->insecure));
    set(o, "weight", integer(a->weight));
    set(o, "threads", integer(a->threads));
    set(o, "connections", integer(a->connections));
    set(o, "clock", json_clock(a));
    set(o, "start_error_ns", a->started ? json_integer(a->start_error_ns) : NULL);
    set(o, "checked", json_boolean(a->checked));
    set(o, "left_out", json_boolean(a->left_out));
    set(o, "loss", json_loss(&a->loss));
    set(o, "late", json_late(a));
    set(o, "outlier", json_outlier(&a->outlier));
    set(o, "outlier_tested", json_boolean(a->outlier.tested));
    set(o, "cpu", cpu >= 0 ? real(cpu) : NULL);
    set(o, "cpu_peak", a->started ? real((double)a->total->cpu_busy_ppm / 1e6) : NULL);
    set(o, "health", json_health(r, a));
    set(o, "totals", json_totals(&c));
    set(o, "latency", json_latency(r, a->total));
    set(o, "lag", json_lag(a->total));
    return o;
}

static json_t *json_row_latency(const struct result_latency *l)
{
    json_t *o = json_object();
    bool any = l->count > 0;
    set(o, "count", integer(l->count));
    set(o, "min", any ? integer(l->min) : NULL);
    set(o, "mean", any ? integer(l->mean) : NULL);
    set(o, "p50", any ? integer(l->p50) : NULL);
    set(o, "p99", any ? integer(l->p99) : NULL);
    set(o, "max", any ? integer(l->max) : NULL);
    return o;
}

static json_t *json_interval(const struct plan *p, const struct result_interval *row)
{
    json_t *o = json_object();
    set(o, "from_ns", integer(row->from_ns));
    set(o, "to_ns", integer(row->to_ns));
    set(o, "sent", integer(row->sent));
    set(o, "completed", integer(row->completed));
    set(o, "errors", integer(row->errors));
    set(o, "corrected", json_row_latency(&row->corrected));
    set(o, "uncorrected", json_row_latency(&row->uncorrected));
    set(o, "agents_reporting", integer(row->agents_reporting));
    set(o, "agents_lost", integer(row->agents_lost));
    set(o, "agents_late", integer(row->agents_late));
    set(o, "slots", integer(row->slots));
    set(o, "backlog", integer(row->backlog));
    set(o, "cpu_peak", real((double)row->cpu_busy_ppm / 1e6));
    set(o, "send_p99", integer(row->send_lag_p99));
    set(o, "receive_p99", integer(row->receive_p99));
    if (p != NULL && p->n_stages > 0)
        set(o, "stage", integer(plan_stage_at(p, row->from_ns)));
    return o;
}

static json_t *json_stall(const struct result *r, const struct stall *s)
{
    json_t *o = json_object(), *agents = json_array();
    for (uint32_t i = 0; i < s->n_agents; i++) {
        const struct result_agent *a = &r->agents[s->agents[i]];
        json_array_append_new(agents, string(a->address[0] != '\0' ? a->address : a->name));
    }
    set(o, "begin_ns", integer(s->begin_ns));
    set(o, "length_ns", integer(s->length_ns));
    set(o, "open", json_boolean(s->open));
    set(o, "due", integer(s->due));
    set(o, "seen_by", integer(s->seen_by));
    set(o, "of", integer(s->of));
    set(o, "agents", agents);
    return o;
}

static json_t *json_report(const struct result *r, const struct report_options *options)
{
    json_t *o = json_object(), *agents = json_array(), *timeline = json_array();
    json_t *stalls = json_array();
    struct counters c = snapshot_counters(r->total);
    json_t *totals = json_totals(&c);
    set(totals, "missing", integer(result_missing(r)));
    for (size_t i = 0; i < r->n_agents; i++)
        json_array_append_new(agents, json_agent(r, &r->agents[i]));
    for (size_t i = 0; i < r->n_intervals; i++)
        json_array_append_new(timeline, json_interval(r->plan, &r->intervals[i]));
    for (size_t i = 0; i < r->n_stalls; i++)
        json_array_append_new(stalls, json_stall(r, &r->stalls[i]));
    set(o, "schema", json_string(SCHEMA));
    set(o, "version", json_string(HAMMER_VERSION));
    set(o, "run", json_run(r));
    set(o, "plan", json_plan(r, options));
    set(o, "verdict", json_verdict(&r->verdict));
    set(o, "totals", totals);
    set(o, "rate", json_rate(r));
    set(o, "status_codes", json_status(r->total));
    set(o, "error_texts", json_error_texts(r->total));
    set(o, "latency", json_latency(r, r->total));
    set(o, "lag", json_lag(r->total));
    set(o, "tls", json_tls(r));
    set(o, "agents", agents);
    set(o, "stalls", stalls);
    set(o, "stalls_dropped", integer(r->stalls_dropped));
    set(o, "timeline", timeline);
    return o;
}

static enum err write_json(const struct result *r, const struct report_options *o, FILE *out)
{
    json_t *report = json_report(r, o);
    int failed = json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(report);
    if (failed != 0 || fputc('\n', out) == EOF || fflush(out) != 0)
        return ERR_SYSTEM;
    return ERR_OK;
}

const struct report_format report_json = {.name = "json", .write = write_json};
