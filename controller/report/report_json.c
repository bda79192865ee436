/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "controller/report/doc.h"
#include "controller/report/doc_write.h"
#include "controller/report/figures.h"

/*
 * hammer.report/1 (docs/report-schema.json). Integers are nanoseconds or counts; what is not known
 * is null, never a made-up number and never NaN. Keys may be added, never renamed.
 */

#define SCHEMA      "hammer.report/1"
#define REAL_DIGITS 12

/* --- run and plan ----------------------------------------------------------------------------- */

static json_t *json_run(const struct result *r)
{
    char started[UNITS_TEXT];
    json_t *o = json_object();
    doc_set(o, "id", doc_text(r->run_id));
    doc_set(o, "name", doc_text(r->name));
    doc_set(o, "description", r->description != NULL ? doc_text(r->description) : NULL);
    doc_set(o, "tags", r->tags != NULL ? doc_text(r->tags) : NULL);
    doc_set(o, "started_at", json_string(units_format_utc(r->started_wall_ns, started)));
    doc_set(o, "duration_ns", doc_integer(r->duration_ns));
    doc_set(o, "end_ns", doc_integer(r->end_ns));
    return o;
}

static json_t *json_verdict(const struct verdict *v)
{
    json_t *o = json_object(), *reasons = json_array(), *warnings = json_array();
    for (size_t i = 0; i < v->n_reasons; i++)
        json_array_append_new(reasons, doc_text(v->reasons[i]));
    doc_set(o, "status", json_string(result_status_name(v->status)));
    for (size_t i = 0; i < v->n_warnings; i++)
        json_array_append_new(warnings, doc_text(v->warnings[i]));
    doc_set(o, "reasons", reasons);
    doc_set(o, "warnings", warnings);
    doc_set(o, "exit_code", json_integer(v->exit_code));
    doc_set(o, "server_limited", json_boolean(v->also_server_limited));
    return o;
}

static json_t *json_objectives(const struct result *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->n_objectives; i++) {
        const struct objective *one = &r->objectives[i];
        json_t *o = json_object();
        char said[CONDITION_SAID];
        doc_set(o, "objective", doc_text(one->condition->text));
        doc_set(o, "held", json_boolean(one->held));
        doc_set(o, "measured", one->measured ? doc_text(objective_say(one, said)) : NULL);
        json_array_append_new(all, o);
    }
    return all;
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
        {o, "limit_ns", c->limit_ns},
        {o, "unexpected", c->unexpected},
        {o, "redirects", c->redirects},
        {o, "reused", c->reused},
        {o, "head_bytes", c->head_bytes},
        {o, "body_bytes", c->body_bytes},
        {o, "lookups", c->lookups},
        {o, "lookup_errors", c->lookup_errors},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        doc_set(rows[i].in, rows[i].key, doc_integer(rows[i].value));
    doc_set(o, "errors", errors);
    doc_set(o, "unsent_by", unsent);
    doc_set(o, "generator_faults", faults);
    return o;
}

static json_t *json_rate(const struct result *r)
{
    json_t *o = json_object();
    double target = figures_target(r);
    doc_set(o, "target", target > 0 ? doc_real(target) : NULL);
    doc_set(o, "achieved", doc_real(figures_achieved(r)));
    return o;
}

static json_t *json_status(const struct snapshot *s)
{
    json_t *o = json_object();
    for (int code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code++) {
        char key[8];
        snprintf(key, sizeof key, "%d", code);
        if (s->status[code] > 0)
            doc_set(o, key, doc_integer(s->status[code]));
    }
    return o;
}

static json_t *json_addresses(const struct snapshot *s)
{
    json_t *o = json_object();
    for (size_t i = 0; i < s->n_addresses; i++)
        doc_set(o, s->addresses[i].text, doc_integer(s->addresses[i].count));
    return o;
}

/* What the first response said of the server; null = there was none. */
static json_t *json_first(const struct snapshot *s)
{
    if (s->first_ns == 0)
        return NULL;
    json_t *o = json_object();
    doc_set(o, "server", s->server[0] != '\0' ? doc_text(s->server) : NULL);
    doc_set(o, "document_bytes", doc_integer(s->document_bytes));
    return o;
}

static json_t *json_error_texts(const struct snapshot *s)
{
    json_t *all = json_array();
    for (size_t i = 0; i < s->n_errors; i++) {
        json_t *o = json_object();
        doc_set(o, "text", doc_text(s->errors[i].text));
        doc_set(o, "count", doc_integer(s->errors[i].count));
        json_array_append_new(all, o);
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
        doc_set(suites, r->total->suites[i].text, doc_integer(r->total->suites[i].count));
    doc_set(o, "handshakes", doc_integer(c.handshakes));
    doc_set(o, "resumed", doc_integer(c.resumed));
    doc_set(o, "failed", doc_integer(c.handshake_errors));
    doc_set(o, "verified", r->plan != NULL ? json_boolean(!r->plan->insecure) : NULL);
    doc_set(o, "version", space != NULL ? json_stringn(suite, (size_t)(space - suite)) : NULL);
    doc_set(o, "cipher", space != NULL ? doc_text(space + 1) : NULL);
    doc_set(o, "suites", suites);
    doc_set(o, "handshake", doc_figures(h));
    hist_free(h);
    return o;
}

/* --- agents and timeline ---------------------------------------------------------------------- */

static json_t *json_clock(const struct result_agent *a)
{
    json_t *o = json_object();
    bool known = a->same_clock || a->started;
    doc_set(o, "offset_ns", known ? json_integer(a->clock_offset_ns) : NULL);
    doc_set(o, "error_ns", known ? doc_integer(a->clock_error_ns) : NULL);
    doc_set(o, "same_clock", json_boolean(a->same_clock));
    const struct drift *d = &a->drift;
    bool tracked = d->windows > 0;
    uint64_t change_error_ns;
    double error_ppb, ppb = drift_ppb(d, &error_ppb);
    int64_t change_ns = drift_change(d, &change_error_ns);
    doc_set(o, "change_ns", tracked ? json_integer(change_ns) : NULL);
    doc_set(o, "change_error_ns", tracked ? doc_integer(change_error_ns) : NULL);
    doc_set(o, "max_change_ns", tracked ? json_integer(d->max_ns) : NULL);
    doc_set(o, "drift_ppb", tracked ? doc_real(ppb) : NULL);
    doc_set(o, "drift_error_ppb", tracked ? doc_real(error_ppb) : NULL);
    return o;
}

/* null where the figure does not exist. */
static json_t *json_loss(const struct loss *l)
{
    if (!l->any)
        return json_null();
    json_t *o = json_object();
    doc_set(o, "at_ns", doc_integer(l->at_ns));
    doc_set(o, "collected", json_boolean(l->collected));
    doc_set(o, "last_seq", doc_integer(l->last_seq));
    doc_set(o, "last_to_ns", doc_integer(l->last_to_ns));
    doc_set(o, "scheduled", doc_integer(l->scheduled));
    doc_set(o, "open", doc_integer(l->open));
    doc_set(o, "overlap", doc_integer(l->overlap));
    doc_set(o, "first_index", doc_integer(l->first_index));
    doc_set(o, "last_index", doc_integer(l->last_index));
    doc_set(o, "count", doc_integer(l->count));
    doc_set(o, "share", doc_real(l->share));
    doc_set(o, "taken_over_from", doc_integer(l->taken_over_from));
    return o;
}

static json_t *json_late(const struct result_agent *a)
{
    json_t *o = json_object();
    doc_set(o, "times", doc_integer(a->times_late));
    doc_set(o, "longest_ns", doc_integer(a->longest_late_ns));
    return o;
}

static json_t *json_outlier(const struct outlier *f)
{
    if (!f->any)
        return json_null();
    json_t *o = json_object();
    doc_set(o, "percentile", doc_real(f->percentile));
    doc_set(o, "here_ns", doc_integer(f->here_ns));
    doc_set(o, "others_ns", doc_integer(f->others_ns));
    doc_set(o, "pair", json_boolean(f->pair));
    return o;
}

static json_t *json_health(const struct result *r, const struct result_agent *a)
{
    json_t *o = json_object();
    struct figures_health h = figures_health(r, a);
    doc_set(o, "cpu", h.known ? doc_real(h.cpu) : NULL);
    doc_set(o, "cpu_peak", h.known ? doc_real(h.cpu_peak) : NULL);
    doc_set(o, "spin_share", h.known ? doc_real(h.spin) : NULL);
    doc_set(o, "context_switches", h.known ? doc_integer(h.switches) : NULL);
    doc_set(o, "preemptions", h.known ? doc_integer(h.preemptions) : NULL);
    return o;
}

static json_t *json_agent(const struct result *r, const struct result_agent *a)
{
    json_t *o = json_object();
    struct counters c = snapshot_counters(a->total);
    double cpu = figures_cpu(r, a), limit = figures_limit(r, a);
    doc_set(o, "name", doc_text(a->name));
    doc_set(o, "address", doc_text(a->address));
    doc_set(o, "version", doc_text(a->version));
    doc_set(o, "state", json_string(result_agent_state_name(a->state)));
    doc_set(o, "problem", a->problem[0] != '\0' ? doc_text(a->problem) : NULL);
    doc_set(o, "insecure", json_boolean(a->insecure));
    doc_set(o, "weight", doc_integer(a->weight));
    doc_set(o, "threads", doc_integer(a->threads));
    doc_set(o, "connections", doc_integer(a->connections));
    doc_set(o, "clock", json_clock(a));
    doc_set(o, "start_error_ns", a->started ? json_integer(a->start_error_ns) : NULL);
    doc_set(o, "checked", json_boolean(a->checked));
    doc_set(o, "left_out", json_boolean(a->left_out));
    doc_set(o, "loss", json_loss(&a->loss));
    doc_set(o, "late", json_late(a));
    doc_set(o, "outlier", json_outlier(&a->outlier));
    doc_set(o, "outlier_tested", json_boolean(a->outlier.tested));
    doc_set(o, "cpu", cpu >= 0 ? doc_real(cpu) : NULL);
    doc_set(o, "cpu_peak", a->started ? doc_real((double)a->total->cpu_busy_ppm / 1e6) : NULL);
    doc_set(o, "health", json_health(r, a));
    doc_set(o, "totals", json_totals(&c));
    doc_set(o, "latency", doc_latency(r, a->total));
    doc_set(o, "lag", result_is_row(r) ? NULL : doc_lag(a->total));
    doc_set(o, "limit_share", limit >= 0 ? doc_real(limit) : NULL);
    doc_set(o, "stages", doc_agent_slices(r, a->total, SLICE_STAGE));
    doc_set(o, "requests", doc_agent_slices(r, a->total, SLICE_NAME));
    return o;
}

static json_t *json_interval(const struct plan *p, const struct result_interval *row)
{
    json_t *o = json_object();
    doc_set(o, "from_ns", doc_integer(row->from_ns));
    doc_set(o, "to_ns", doc_integer(row->to_ns));
    doc_set(o, "sent", doc_integer(row->sent));
    doc_set(o, "completed", doc_integer(row->completed));
    doc_set(o, "errors", doc_integer(row->errors));
    doc_set(o, "corrected", doc_row_latency(&row->corrected));
    doc_set(o, "uncorrected", doc_row_latency(&row->uncorrected));
    doc_set(o, "agents_reporting", doc_integer(row->agents_reporting));
    doc_set(o, "agents_lost", doc_integer(row->agents_lost));
    doc_set(o, "agents_late", doc_integer(row->agents_late));
    doc_set(o, "slots", doc_integer(row->slots));
    doc_set(o, "backlog", doc_integer(row->backlog));
    doc_set(o, "cpu_peak", doc_real((double)row->cpu_busy_ppm / 1e6));
    doc_set(o, "send_p99", doc_integer(row->send_lag_p99));
    doc_set(o, "receive_p99", doc_integer(row->receive_p99));
    if (p != NULL && p->n_stages > 0)
        doc_set(o, "stage", doc_integer(plan_stage_at(p, row->from_ns)));
    return o;
}

static json_t *json_stall(const struct result *r, const struct stall *s)
{
    json_t *o = json_object(), *agents = json_array();
    for (uint32_t i = 0; i < s->n_agents; i++) {
        const struct result_agent *a = &r->agents[s->agents[i]];
        json_array_append_new(agents, doc_text(a->address[0] != '\0' ? a->address : a->name));
    }
    doc_set(o, "begin_ns", doc_integer(s->begin_ns));
    doc_set(o, "length_ns", doc_integer(s->length_ns));
    doc_set(o, "open", json_boolean(s->open));
    doc_set(o, "due", doc_integer(s->due));
    doc_set(o, "seen_by", doc_integer(s->seen_by));
    doc_set(o, "of", doc_integer(s->of));
    doc_set(o, "agents", agents);
    return o;
}

static json_t *json_dump(const struct result_dump *d)
{
    if (d->file == NULL)
        return NULL;
    json_t *o = json_object();
    doc_set(o, "file", doc_text(d->file));
    doc_set(o, "requests", doc_integer(d->rows));
    doc_set(o, "written", doc_integer(d->written));
    doc_set(o, "dropped", doc_integer(d->dropped));
    doc_set(o, "not_written", doc_integer(d->not_written));
    doc_set(o, "lost", doc_integer(d->lost));
    return o;
}

/* Without the lists that write_json makes as it goes. */
static json_t *json_report(const struct result *r, const struct report_options *options)
{
    json_t *o = json_object(), *stalls = json_array();
    struct counters c = snapshot_counters(r->total);
    json_t *totals = json_totals(&c);
    doc_set(totals, "missing", r->view.partial ? NULL : doc_integer(result_missing(r)));
    for (size_t i = 0; i < r->n_stalls; i++)
        json_array_append_new(stalls, json_stall(r, &r->stalls[i]));
    doc_set(o, "schema", json_string(SCHEMA));
    doc_set(o, "version", json_string(HAMMER_VERSION));
    doc_set(o, "run", json_run(r));
    doc_set(o, "view", doc_view(r));
    doc_set(o, "plan", doc_plan(r, options));
    doc_set(o, "slo", json_objectives(r));
    doc_set(o, "verdict", json_verdict(&r->verdict));
    doc_set(o, "totals", totals);
    doc_set(o, "rate", json_rate(r));
    doc_set(o, "status_codes", result_is_row(r) ? NULL : json_status(r->total));
    doc_set(o, "error_texts", result_is_row(r) ? NULL : json_error_texts(r->total));
    doc_set(o, "latency", doc_latency(r, r->total));
    doc_set(o, "lag", result_is_row(r) ? NULL : doc_lag(r->total));
    doc_set(o, "tls", json_tls(r));
    doc_set(o, "warmup", doc_warmup(r));
    doc_set(o, "stages", doc_slices(r, SLICE_STAGE));
    doc_set(o, "requests", doc_slices(r, SLICE_NAME));
    doc_set(o, "series", doc_slices(r, SLICE_BOTH));
    doc_set(o, "phases", doc_phases(r->total));
    doc_set(o, "peers", doc_peers(r));
    doc_set(o, "addresses", json_addresses(r->total));
    doc_set(o, "target", json_first(r->total));
    doc_set(o, "requests_dump", json_dump(&r->dump));
    doc_set(o, "agents", json_null());
    doc_set(o, "stalls", stalls);
    doc_set(o, "stalls_dropped", doc_integer(r->stalls_dropped));
    doc_set(o, "stationarity", doc_stationarity(&r->stationarity));
    doc_set(o, "every_ns", r->every_ns > 0 ? doc_integer(r->every_ns) : NULL);
    doc_set(o, "groups", json_null());
    doc_set(o, "timeline", json_null());
    return o;
}

static json_t *agent_at(const void *arg, size_t i)
{
    const struct result *r = arg;
    return json_agent(r, &r->agents[i]);
}

static json_t *interval_at(const void *arg, size_t i)
{
    const struct result *r = arg;
    return json_interval(r->plan, &r->intervals[i]);
}

static json_t *group_at(const void *arg, size_t i)
{
    const struct result *r = arg;
    return json_interval(r->plan, &r->groups[i]);
}

static enum err write_json(const struct result *r, const struct report_options *o, FILE *out)
{
    const struct doc_list lists[] = {{"agents", r->n_agents, agent_at},
                                     {"groups", r->n_groups, group_at},
                                     {"timeline", r->n_intervals, interval_at}};
    json_t *report = json_report(r, o);
    bool written = doc_write(report, lists, sizeof lists / sizeof lists[0], r,
                             JSON_REAL_PRECISION(REAL_DIGITS), out);
    json_decref(report);
    return written && fflush(out) == 0 ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_json = {.name = "json",
                                          .suffix = ".json",
                                          .text = "everything, schema hammer.report/1",
                                          .write = write_json};
