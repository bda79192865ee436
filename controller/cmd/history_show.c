/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/cmd/history_row.h"
#include "controller/report/doc.h"
#include "controller/report/given.h"
#include "proto/msg.h"

/* --- JSON ----------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? doc_text(text) : NULL;
}

static json_t *words(const char *list)
{
    json_t *a = json_array();
    for (const char *p = list != NULL ? list : ""; *p != '\0'; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        char *word = mem_dup(p, len);
        json_array_append_new(a, doc_text(word));
        mem_free(word);
        p += len;
    }
    return a;
}

static json_t *instant(uint64_t wall_ns)
{
    char text[UNITS_TEXT];
    return wall_ns > 0 ? text_or_null(units_format_utc(wall_ns, text)) : NULL;
}

static json_t *json_row(const struct history_row *row)
{
    json_t *o = json_object(), *rate = json_object(), *latency = json_object();
    doc_set(o, "id", doc_text(row->id));
    doc_set(o, "name", text_or_null(row->name));
    doc_set(o, "description", text_or_null(row->description));
    doc_set(o, "tags", words(row->tags));
    doc_set(o, "plan_id", doc_text(row->plan_id));
    doc_set(o, "started_at", instant(row->started_wall_ns));
    doc_set(o, "ended_at", instant(row->ended_wall_ns));
    doc_set(o, "version", doc_text(row->version));
    doc_set(o, "status", doc_text(row->state));
    doc_set(o, "exit_code", row->known ? json_integer(row->exit_code) : NULL);
    doc_set(o, "lost_rows", doc_integer(row->lost_rows));
    doc_set(o, "duration_ns", row->known ? doc_integer(row->duration_ns) : NULL);
    doc_set(o, "errors", row->known ? doc_integer(row->errors) : NULL);
    doc_set(rate, "target", row->target > 0 ? doc_real(row->target) : NULL);
    doc_set(rate, "achieved", row->known ? doc_real(row->achieved) : NULL);
    doc_set(o, "rate", rate);
    doc_set(latency, "50", row->all ? doc_integer(row->p50) : NULL);
    doc_set(latency, "99", row->all ? doc_integer(row->p99) : NULL);
    doc_set(latency, "99.9", row->all ? doc_integer(row->p999) : NULL);
    doc_set(o, "percentiles", latency);
    return o;
}

static bool print(json_t *o, FILE *out)
{
    bool ok = o != NULL && json_dumpf(o, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
    json_decref(o);
    return ok;
}

bool history_print_json(const struct history_row *rows, size_t n, FILE *out)
{
    json_t *o = json_object(), *runs = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(runs, json_row(&rows[i]));
    doc_set(o, "schema", json_string("hammer.runs/1"));
    doc_set(o, "runs", runs);
    return print(o, out);
}

/* --- the plan as it was given --------------------------------------------------------------- */

struct given_out {
    FILE *out; /* or */
    json_t *list;
};

static void on_given(void *arg, const struct given *g)
{
    const struct given_out *to = arg;
    char *value = mem_strdup(g->value);
    msg_sanitise(value);
    size_t size = strlen(g->name) + strlen(value) + 8;
    char *line = mem_calloc(size, 1);
    snprintf(line, size, "--%s%s%s", g->name, g->flag ? "" : " ", g->flag ? "" : value);
    if (to->list != NULL)
        json_array_append_new(to->list, doc_text(line));
    else
        fprintf(to->out, "  %-18s%s\n", "", line);
    mem_free(line);
    mem_free(value);
}

/* The URLs, then every option. false = the plan cannot be read. */
static bool each_given(const struct recording *r, struct plan *p, given_fn fn, void *arg)
{
    struct errmsg msg;
    if (r->plan == NULL || plan_decode(r->plan, r->plan_len, p, &msg) != ERR_OK)
        return false;
    if (fn != NULL)
        given_each(p, r->redact, fn, arg);
    return true;
}

bool history_print_run_json(const struct recording *r, FILE *out)
{
    struct history_row row;
    struct plan p;
    struct given_out to = {.list = json_array()};
    json_t *o, *agents = json_array(), *plan = json_object();
    history_row_fill(&row, r);
    o = json_row(&row);
    if (each_given(r, &p, on_given, &to)) {
        doc_set(plan, "url", doc_text(p.url));
        doc_set(plan, "requests", doc_integer(p.n_entries > 0 ? p.n_entries : 1));
        plan_clear(&p);
    }
    doc_set(plan, "given", to.list);
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        json_t *agent = json_object();
        doc_set(agent, "name", doc_text(a->name));
        doc_set(agent, "address", doc_text(a->address));
        doc_set(agent, "version", text_or_null(a->version));
        doc_set(agent, "weight", doc_integer(a->weight));
        doc_set(agent, "state", row.known ? json_string(result_agent_state_name(a->state)) : NULL);
        doc_set(agent, "problem", text_or_null(a->problem));
        json_array_append_new(agents, agent);
    }
    doc_set(o, "schema", json_string("hammer.runs/1"));
    doc_set(o, "plan", plan);
    doc_set(o, "secrets", words(r->secrets));
    doc_set(o, "environment", r->environment != NULL ? json_loads(r->environment, 0, NULL) : NULL);
    doc_set(o, "agents", agents);
    history_row_clear(&row);
    return print(o, out);
}

/* --- text ----------------------------------------------------------------------------------- */

static void line(FILE *out, const char *what, const char *text)
{
    if (text != NULL && text[0] != '\0')
        fprintf(out, "  %-18s%s\n", what, text);
}

static const char *local(uint64_t wall_ns, char buf[48])
{
    time_t at = (time_t)(wall_ns / NS_PER_SEC);
    struct tm tm;
    if (wall_ns == 0 || localtime_r(&at, &tm) == NULL ||
        strftime(buf, 48, "%F %H:%M:%S %z", &tm) == 0)
        buf[0] = '\0';
    return buf;
}

static void print_secrets(const char *list, FILE *out)
{
    if (list == NULL || list[0] == '\0')
        return;
    fprintf(out, "  %-18s", "Secrets not kept");
    for (const char *p = list; *p != '\0'; p++)
        fputs(*p == ',' ? ", " : (const char[]){*p, '\0'}, out);
    fputc('\n', out);
}

static void print_figures(const struct history_row *row, FILE *out)
{
    char p50[UNITS_TEXT], p99[UNITS_TEXT], p999[UNITS_TEXT];
    if (!row->known)
        return;
    if (row->target > 0)
        fprintf(out, "  %-18s%.6g/s of %.6g/s\n", "Rate", row->achieved, row->target);
    else
        fprintf(out, "  %-18s%.6g/s\n", "Rate", row->achieved);
    if (row->all)
        fprintf(out, "  %-18sp50 %s  p99 %s  p99.9 %s\n", "Latency",
                units_format_latency(row->p50, p50), units_format_latency(row->p99, p99),
                units_format_latency(row->p999, p999));
    fprintf(out, "  %-18s%" PRIu64 "\n", "Errors", row->errors);
    if (row->lost_rows > 0)
        fprintf(out, "  %-18s%" PRIu64 " snapshots could not be stored\n", "Incomplete",
                row->lost_rows);
}

static void print_plan(const struct recording *r, FILE *out)
{
    struct plan p;
    struct given_out to = {.out = out};
    if (!each_given(r, &p, NULL, NULL)) {
        fprintf(out, "  %-18scannot be read\n", "Plan");
        return;
    }
    msg_sanitise(p.url);
    if (p.n_entries > 1)
        fprintf(out, "  %-18s%s and %zu more\n", "Plan", p.url, p.n_entries - 1);
    else
        fprintf(out, "  %-18s%s\n", "Plan", p.url);
    given_each(&p, r->redact, on_given, &to);
    plan_clear(&p);
}

static void print_environment(const char *text, FILE *out)
{
    const char *key;
    json_t *value, *o = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_object_foreach(o, key, value)
    {
        char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        if (json_is_string(value))
            fprintf(out, "  %-18s%.*s\n", key, (int)strlen(dumped) - 2, dumped + 1);
        else if (!json_is_null(value))
            fprintf(out, "  %-18s%s\n", key, dumped);
        free(dumped);
    }
    json_decref(o);
}

static void print_agents(const struct recording *r, bool known, FILE *out)
{
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        fprintf(out, "  %-18s%s%s%s%s%s%s%s\n", i == 0 ? "Agents" : "", a->name,
                strcmp(a->name, a->address) != 0 ? " at " : "",
                strcmp(a->name, a->address) != 0 ? a->address : "", known ? ", " : "",
                known ? result_agent_state_name(a->state) : "", a->problem[0] != '\0' ? ": " : "",
                a->problem);
    }
}

void history_print_run(const struct recording *r, FILE *out)
{
    char when[48];
    struct history_row row;
    history_row_fill(&row, r);
    fprintf(out, "run %s%s%s\n", r->run_id, row.name[0] != '\0' ? " " : "", row.name);
    line(out, "Description", r->description);
    line(out, "Tags", r->tags);
    line(out, "Verdict", row.state);
    line(out, "Started", local(r->started_wall_ns, when));
    line(out, "Ended", local(r->ended_wall_ns, when));
    print_figures(&row, out);
    line(out, "Plan id", r->plan_id);
    print_plan(r, out);
    print_secrets(r->secrets, out);
    print_agents(r, row.known, out);
    line(out, "Version", r->version);
    print_environment(r->environment, out);
    history_row_clear(&row);
}
