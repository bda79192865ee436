/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/text.h"

#define LABEL_MAX 26
#define CELL      40

static void agent_label(const struct result_agent *a, char out[LABEL_MAX + 1])
{
    char whole[256] = "";
    bool both = a->name[0] != '\0' && strcmp(a->name, a->address) != 0;
    if (both)
        snprintf(whole, sizeof whole, "%s (%s)", a->name, a->address);
    else
        snprintf(whole, sizeof whole, "%s", a->address);
    if (both && strlen(whole) > LABEL_MAX)
        snprintf(whole, sizeof whole, "%s (%s)", a->name, text_without_scheme(a->address));
    if (both && strlen(whole) > LABEL_MAX) /* the address is what the user gave and messages name */
        snprintf(whole, sizeof whole, "%s", a->address);
    size_t len = strlen(whole);
    if (len > LABEL_MAX) { /* both ends stay: addresses of one fleet differ there */
        size_t tail = (LABEL_MAX - 2) / 2, head = LABEL_MAX - 2 - tail;
        memmove(whole + head + 2, whole + len - tail, tail + 1);
        memcpy(whole + head, "..", 2);
    }
    memcpy(out, whole, LABEL_MAX + 1);
    for (char *p = out; *p != '\0'; p++)
        if ((unsigned char)*p < 32 || *p == 127)
            *p = '?';
}

static void cpu_cell(const struct result *r, const struct result_agent *a, char out[CELL])
{
    double average = figures_cpu(r, a);
    if (average < 0)
        snprintf(out, CELL, "-");
    else
        snprintf(out, CELL, "%.0f%% (%.0f%%)", average * 100, (double)a->total->cpu_busy_ppm / 1e4);
}

static void latency_cells(const struct result *r, const struct result_agent *a,
                          char p50[UNITS_TEXT], char p99[UNITS_TEXT])
{
    struct hist *h = figures_main_hist(r, a->total);
    struct figures f = figures_of(h);
    hist_free(h);
    snprintf(p50, UNITS_TEXT, "-");
    snprintf(p99, UNITS_TEXT, "-");
    for (size_t i = 0; i < FIGURES_PERCENTILES && f.count > 0; i++) {
        if (figures_percentiles[i].p == 50)
            units_format_latency(f.at[i], p50);
        if (figures_percentiles[i].p == 99)
            units_format_latency(f.at[i], p99);
    }
}

/* The verdict has the whole text already. */
static bool told(const struct result *r, const char *problem)
{
    for (size_t i = 0; i < r->verdict.n_reasons; i++)
        if (strstr(r->verdict.reasons[i], problem) != NULL)
            return true;
    return false;
}

/* Below the agent's row. */
static void health_line(FILE *out, const struct result *r, const struct result_agent *a)
{
    struct figures_health h = figures_health(r, a);
    if (!h.known)
        return;
    struct text_flow f = text_begin(out, "    health");
    text_item(&f, "", "spinning %.1f%%;", h.spin * 100);
    text_item(&f, " ", "%" PRIu64 " context switches,", h.switches);
    text_item(&f, " ", "%" PRIu64 " preemptions", h.preemptions);
    text_end(&f);
}

/* How far the connections were the limit; nothing where they never were. */
static void limit_line(FILE *out, const struct result *r, const struct result_agent *a)
{
    struct counters c = snapshot_counters(a->total);
    double share = figures_limit(r, a);
    if (c.limit_ns == 0 && c.unsent_dropped == 0)
        return;
    struct text_flow f = text_begin(out, "    limit");
    if (c.limit_ns > 0 && share >= 0)
        text_item(&f, "", "at the connection limit %.3g %% of the time", share * 100);
    if (c.waited > 0)
        text_item(&f, ", ", "%" PRIu64 " requests waited", c.waited);
    if (c.unsent_dropped > 0)
        text_item(&f, ", ", "%" PRIu64 " requests dropped", c.unsent_dropped);
    text_end(&f);
}

/* Its clock against ours, at the start and over the run, and how late it started. */
static void clock_line(FILE *out, const struct result_agent *a)
{
    char offset[UNITS_TEXT], bound[UNITS_TEXT], most[UNITS_TEXT];
    if (!a->started)
        return;
    struct text_flow f = text_begin(out, "    clock");
    if (a->same_clock)
        text_item(&f, "", "the same;");
    else
        text_item(&f, "", "%s +-%s;", units_format_offset(a->clock_offset_ns, offset),
                  units_format_latency(a->clock_error_ns, bound));
    text_item(&f, " ", "started %s", units_format_offset(a->start_error_ns, offset));
    if (a->drift.windows > 0) {
        uint64_t error_ns;
        double error_ppb, ppb = drift_ppb(&a->drift, &error_ppb);
        int64_t change_ns = drift_change(&a->drift, &error_ns);
        text_item(&f, "; ", "moved %s +-%s,", units_format_offset(change_ns, offset),
                  units_format_latency(error_ns, bound));
        text_item(&f, " ", "%.3g +-%.3g ppm,", ppb / 1e3, error_ppb / 1e3);
        text_item(&f, " ", "at most %s", units_format_offset(a->drift.max_ns, most));
    }
    text_end(&f);
}

static void agent_row(FILE *out, const struct result *r, const struct result_agent *a, int width)
{
    char label[LABEL_MAX + 1], cpu[CELL];
    char p50[UNITS_TEXT], p99[UNITS_TEXT];
    agent_label(a, label);
    cpu_cell(r, a, cpu);
    latency_cells(r, a, p50, p99);
    fprintf(out, "    %-*s %-8s%9" PRIu64 "%10s%10s%11s\n", width, label,
            result_agent_state_name(a->state), snapshot_counters(a->total).completed, p50, p99,
            cpu);
    clock_line(out, a);
    limit_line(out, r, a);
    health_line(out, r, a);
    if (a->insecure) {
        struct text_flow f = text_begin(out, "    insecure");
        text_words(&f, "--insecure-listen: whoever reaches this agent commands its load");
        text_end(&f);
    }
    if (a->problem[0] != '\0' && !told(r, a->problem)) {
        struct text_flow f = text_begin(out, "    note");
        text_words(&f, a->problem);
        text_end(&f);
    }
}

void text_agents(FILE *out, const struct result *r)
{
    int width = TEXT_INDENT - 5;
    for (size_t i = 0; i < r->n_agents; i++) {
        char label[LABEL_MAX + 1];
        agent_label(&r->agents[i], label);
        if ((int)strlen(label) > width)
            width = (int)strlen(label);
    }
    fprintf(out, "  %-*s %-8s%9s%10s%10s%11s\n", width + 2, "Agents", "state", "requests",
            result_one_clock(r) ? "p50" : "corr. p50", result_one_clock(r) ? "p99" : "corr. p99",
            "CPU (peak)");
    for (size_t i = 0; i < r->n_agents; i++)
        agent_row(out, r, &r->agents[i], width);
}
