/* SPDX-License-Identifier: MIT */
#include "controller/watch/openmetrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/watch/columns.h"

struct writer {
    const struct progress *p;
    const struct openmetrics_run *run;
    bool open;
    char *text;
    size_t len, cap;
};

static void put(struct writer *w, const char *text, size_t len)
{
    if (w->len + len + 1 > w->cap) {
        w->cap = 2 * (w->len + len + 1);
        w->text = mem_realloc(w->text, w->cap, 1);
    }
    memcpy(w->text + w->len, text, len);
    w->len += len;
    w->text[w->len] = '\0';
}

static void PRINTF_LIKE(2, 3) print(struct writer *w, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put(w, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* --- pieces --------------------------------------------------------------------------------- */

enum family_type {
    COUNTER,
    GAUGE,
    HISTOGRAM,
    INFO
};

static const struct {
    const char *open, *old;             /* names of the type */
    const char *family_suffix, *suffix; /* of samples: the second; of the old family, too */
} types[] = {[COUNTER] = {"counter", "counter", "_total", "_total"},
             [GAUGE] = {"gauge", "gauge", "", ""},
             [HISTOGRAM] = {"histogram", "histogram", "", ""},
             [INFO] = {"info", "gauge", "_info", "_info"}};

static void family(struct writer *w, enum family_type type, const char *name, const char *unit,
                   const char *help)
{
    const char *suffix = w->open ? "" : types[type].family_suffix;
    print(w, "# TYPE %s%s %s\n", name, suffix, w->open ? types[type].open : types[type].old);
    if (w->open && unit != NULL)
        print(w, "# UNIT %s %s\n", name, unit);
    print(w, "# HELP %s%s %s\n", name, suffix, help);
}

/* A label's value: no byte of it may end it, and all of it is UTF-8. */
static void put_value(struct writer *w, const char *text)
{
    for (size_t len; *text != '\0'; text += len) {
        uint32_t point = columns_point(text, &len);
        if (point == UINT32_MAX)
            put(w, "?", 1);
        else if (point == '\n')
            put(w, "\\n", 2);
        else if (point == '"' || point == '\\')
            print(w, "\\%c", (char)point);
        else
            put(w, text, len);
    }
}

static void label(struct writer *w, const char *before, const char *name, const char *value)
{
    print(w, "%s%s=\"", before, name);
    put_value(w, value);
    put(w, "\"", 1);
}

static void sample(struct writer *w, enum family_type type, const char *name, const char *key,
                   const char *value, uint64_t n)
{
    print(w, "%s%s", name, types[type].suffix);
    if (key != NULL) {
        label(w, "{", key, value);
        put(w, "}", 1);
    }
    print(w, " %" PRIu64 "\n", n);
}

/* --- the run -------------------------------------------------------------------------------- */

static void put_run(struct writer *w)
{
    family(w, INFO, "hammer_run", NULL, "The run that these figures are of.");
    put(w, "hammer_run_info", 15);
    label(w, "{", "run", w->run->id);
    label(w, ",", "name", w->run->name);
    label(w, ",", "version", w->run->version);
    put(w, "} 1\n", 4);
    family(w, GAUGE, "hammer_run_phase", NULL, "1 for the phase that the run is in.");
    for (size_t i = 0; i < PROGRESS_PHASES; i++)
        sample(w, GAUGE, "hammer_run_phase", "phase", progress_phase_name((enum progress_phase)i),
               w->p->phase == i);
    family(w, GAUGE, "hammer_run_elapsed_seconds", "seconds", "Time since the start of the load.");
    print(w, "hammer_run_elapsed_seconds %.3f\n", (double)progress_elapsed_ns(w->p) / 1e9);
    if (w->p->planned_ns != NS_NEVER) {
        family(w, GAUGE, "hammer_run_planned_seconds", "seconds", "How long the plan sends.");
        print(w, "hammer_run_planned_seconds %.3f\n", (double)w->p->planned_ns / 1e9);
    }
}

/* Families with one counter a sample, in the order of the table. */
static const struct {
    const char *family, *unit, *help; /* NULL = more of the one before */
    const char *key, *value;          /* NULL = no label */
    size_t counter;
} counters[] = {
    {"hammer_requests_scheduled", NULL, "Requests that were due, without the warm-up.", NULL, NULL,
     COUNTER_scheduled},
    {"hammer_requests_sent", NULL, "Requests sent, without the warm-up.", NULL, NULL, COUNTER_sent},
    {"hammer_requests_unsent", NULL, "Requests that were due and will not be sent, by reason.",
     "reason", "no_connection", COUNTER_unsent_no_connection},
    {NULL, NULL, NULL, "reason", "stopped", COUNTER_unsent_stopped},
    {NULL, NULL, NULL, "reason", "dropped", COUNTER_unsent_dropped},
    {"hammer_requests", NULL,
     "Requests that came to an end, by outcome; their sum and what is in "
     "flight make those sent.",
     "outcome", "ok", COUNTER_ok},
    {NULL, NULL, NULL, "outcome", "http_error", COUNTER_http_errors},
    {NULL, NULL, NULL, "outcome", "timeout", COUNTER_timeouts},
    {NULL, NULL, NULL, "outcome", "failed_connect", COUNTER_failed_connect},
    {NULL, NULL, NULL, "outcome", "failed_tls", COUNTER_failed_tls},
    {NULL, NULL, NULL, "outcome", "failed_read", COUNTER_failed_read},
    {NULL, NULL, NULL, "outcome", "failed_write", COUNTER_failed_write},
    {NULL, NULL, NULL, "outcome", "failed_protocol", COUNTER_failed_protocol},
    {NULL, NULL, NULL, "outcome", "unfinished", COUNTER_unfinished},
    {"hammer_errors", NULL,
     "What went wrong, by kind; connections and handshakes are attempts, "
     "not requests.",
     "kind", "http", COUNTER_http_errors},
    {NULL, NULL, NULL, "kind", "timeout", COUNTER_timeouts},
    {NULL, NULL, NULL, "kind", "read", COUNTER_failed_read},
    {NULL, NULL, NULL, "kind", "write", COUNTER_failed_write},
    {NULL, NULL, NULL, "kind", "protocol", COUNTER_failed_protocol},
    {NULL, NULL, NULL, "kind", "tls", COUNTER_failed_tls},
    {NULL, NULL, NULL, "kind", "connection", COUNTER_connect_errors},
    {NULL, NULL, NULL, "kind", "handshake", COUNTER_handshake_errors},
    {NULL, NULL, NULL, "kind", "unexpected", COUNTER_unexpected},
    {"hammer_generator_faults", NULL, "What the generators ran out of.", "kind", "descriptors",
     COUNTER_fault_fd_limit},
    {NULL, NULL, NULL, "kind", "ports", COUNTER_fault_ports},
    {NULL, NULL, NULL, "kind", "memory", COUNTER_fault_memory},
    {"hammer_connections_opened", NULL, "Connections opened to the target.", NULL, NULL,
     COUNTER_connects},
    {"hammer_received_bytes", "bytes", "Bytes read from the target.", NULL, NULL, COUNTER_bytes_in},
    {"hammer_sent_bytes", "bytes", "Bytes written to the target.", NULL, NULL, COUNTER_bytes_out},
};

static void put_counters(struct writer *w)
{
    const char *name = NULL;
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        if (counters[i].family != NULL) {
            name = counters[i].family;
            family(w, COUNTER, name, counters[i].unit, counters[i].help);
        }
        sample(w, COUNTER, name, counters[i].key, counters[i].value,
               counters_get(&w->p->total, counters[i].counter));
    }
    family(w, COUNTER, "hammer_warmup_requests_sent", NULL,
           "Requests sent that were due in the warm-up; they are in no other figure.");
    sample(w, COUNTER, "hammer_warmup_requests_sent", NULL, NULL, w->p->warmup.sent);
}

static void put_rates(struct writer *w)
{
    const struct progress *p = w->p;
    family(w, GAUGE, "hammer_target_rate", NULL,
           "Requests per second that the plan wants now; 0 = as many as get through.");
    print(w, "hammer_target_rate %.6f\n", progress_target(p, progress_elapsed_ns(p)));
    family(w, GAUGE, "hammer_achieved_rate", NULL,
           "Complete responses per second of the last whole second.");
    print(w, "hammer_achieved_rate %.6f\n", progress_rate(&p->last));
    family(w, GAUGE, "hammer_backlog_requests", NULL, "Requests that are due and not sent yet.");
    sample(w, GAUGE, "hammer_backlog_requests", NULL, NULL, p->backlog);
    family(w, GAUGE, "hammer_in_flight_requests", NULL, "Requests that wait for their response.");
    sample(w, GAUGE, "hammer_in_flight_requests", NULL, NULL, p->in_flight);
}

/* --- agents --------------------------------------------------------------------------------- */

static bool is_up(const struct progress_agent *a)
{
    return a->state > COORD_GREETING && a->state < COORD_REFUSED && !progress_agent_late(a);
}

static void put_agents(struct writer *w)
{
    const struct progress *p = w->p;
    uint64_t n[COORD_STATES] = {0}, late = 0;
    for (size_t i = 0; i < p->n_agents; i++) {
        n[p->agents[i].state]++;
        late += progress_agent_late(&p->agents[i]);
    }
    family(w, GAUGE, "hammer_agents", NULL, "Agents by state.");
    for (size_t i = 0; i < COORD_STATES; i++)
        sample(w, GAUGE, "hammer_agents", "state", coord_state_name((enum coord_agent_state)i),
               n[i]);
    family(w, GAUGE, "hammer_agents_late", NULL,
           "Agents that are not heard of at the moment, whatever their state.");
    sample(w, GAUGE, "hammer_agents_late", NULL, NULL, late);
    family(w, GAUGE, "hammer_agent_up", NULL,
           "1 for an agent that is there, 0 for one that is "
           "late, lost, has refused or has not answered yet.");
    for (size_t i = 0; i < p->n_agents; i++) {
        put(w, "hammer_agent_up", 15);
        label(w, "{", "address", p->agents[i].address);
        label(w, ",", "agent", p->agents[i].name);
        print(w, "} %d\n", is_up(&p->agents[i]));
    }
}

/* --- latencies ------------------------------------------------------------------------------ */

static const struct {
    uint64_t ns;
    const char *text; /* OpenMetrics wants floats */
} bounds[] = {
    {100 * NS_PER_US, "0.0001"}, {200 * NS_PER_US, "0.0002"}, {500 * NS_PER_US, "0.0005"},
    {1 * NS_PER_MS, "0.001"},    {2 * NS_PER_MS, "0.002"},    {5 * NS_PER_MS, "0.005"},
    {10 * NS_PER_MS, "0.01"},    {20 * NS_PER_MS, "0.02"},    {50 * NS_PER_MS, "0.05"},
    {100 * NS_PER_MS, "0.1"},    {200 * NS_PER_MS, "0.2"},    {500 * NS_PER_MS, "0.5"},
    {1 * NS_PER_SEC, "1.0"},     {2 * NS_PER_SEC, "2.0"},     {5 * NS_PER_SEC, "5.0"},
    {10 * NS_PER_SEC, "10.0"},   {20 * NS_PER_SEC, "20.0"},   {50 * NS_PER_SEC, "50.0"},
    {60 * NS_PER_SEC, "60.0"},
};

#define LATENCY "hammer_latency_seconds"

static void put_histogram(struct writer *w, const char *clock, const struct hist *h)
{
    const struct hist_geometry *g = hist_geometry_of(h);
    uint64_t sum = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        uint32_t last = hist_index(g, bounds[i].ns);
        sum += hist_count_between(h, next, last);
        next = last + 1;
        print(w, LATENCY "_bucket{clock=\"%s\",le=\"%s\"} %" PRIu64 "\n", clock, bounds[i].text,
              sum);
    }
    print(w, LATENCY "_bucket{clock=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", clock, hist_count(h));
    print(w, LATENCY "_count{clock=\"%s\"} %" PRIu64 "\n", clock, hist_count(h));
    print(w, LATENCY "_sum{clock=\"%s\"} %.9f\n", clock, hist_sum(h) / 1e9);
}

static void put_latencies(struct writer *w)
{
    family(w, HISTOGRAM, LATENCY, "seconds",
           "Latency of complete responses, corrected: from when the request was due, uncorrected: "
           "from when it was sent. Samples up to 0.1 % above a bound may be counted with it.");
    if (!w->p->one_clock)
        put_histogram(w, "corrected", w->p->corrected);
    put_histogram(w, "uncorrected", w->p->uncorrected);
}

char *openmetrics_text(const struct progress *p, const struct openmetrics_run *run, bool open,
                       size_t *len)
{
    struct writer w = {.p = p, .run = run, .open = open};
    put_run(&w);
    put_counters(&w);
    put_rates(&w);
    put_agents(&w);
    put_latencies(&w);
    if (open)
        put(&w, "# EOF\n", 6);
    *len = w.len;
    return w.text;
}
