/* SPDX-License-Identifier: MIT */
#include "controller/store/recording_result.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "controller/report/doc.h"
#include "controller/report/figures.h"

/* For lists: as the report has them, of the run's main clock. */
static json_t *latency(const struct result *result)
{
    struct hist *h = figures_main_hist(result, result->total);
    json_t *o = json_object();
    doc_set(o, result_one_clock(result) ? "uncorrected" : "corrected", doc_figures(h));
    hist_free(h);
    return o;
}

static char *totals(const struct result *result)
{
    struct counters c = snapshot_counters(result->total);
    double target = figures_target(result);
    json_t *o = json_object(), *rate = json_object();
    doc_set(rate, "target", target > 0 ? doc_real(target) : NULL);
    doc_set(rate, "achieved", doc_real(figures_achieved(result)));
    doc_set(o, "duration_ns", doc_integer(result->duration_ns));
    doc_set(o, "totals", doc_ledger(&c));
    doc_set(o, "rate", rate);
    doc_set(o, "latency", latency(result));
    char *dumped = json_dumps(o, JSON_COMPACT);
    char *text = mem_strdup(dumped);
    json_decref(o);
    free(dumped);
    return text;
}

static void take_text(char **to, const char *text)
{
    mem_free(*to);
    *to = text[0] != '\0' ? mem_strdup(text) : NULL;
}

void recording_take_result(struct recording *r, const struct result *result)
{
    r->interrupted = result->interrupted;
    r->no_target = result->no_target;
    r->takeover_late = result->takeover_late;
    take_text(&r->aborted, result->aborted);
    take_text(&r->takeover, result->takeover);
    snprintf(r->status, sizeof r->status, "%s", result_status_name(result->verdict.status));
    r->exit_code = result->verdict.exit_code;
    mem_free(r->agents);
    r->n_agents = result->n_agents;
    r->agents = mem_dup(result->agents, result->n_agents * sizeof *result->agents);
    for (size_t i = 0; i < r->n_agents; i++)
        r->agents[i].total = r->agents[i].warmup = NULL;
    mem_free(r->totals);
    r->totals = totals(result);
}
