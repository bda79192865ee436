/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/redact.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"

/* What the reader sees first: what it was, what it is worth, and the figures that everybody asks
 * for. */

/* --- verdict ---------------------------------------------------------------------------------- */

enum mood {
    MOOD_GOOD,
    MOOD_CARE, /* the figures stand, but there is something to know */
    MOOD_BAD
};

static enum mood mood_of(const struct html_page *p)
{
    const struct verdict *v = &p->r->verdict;
    if (p->r->view.partial)
        return MOOD_CARE;
    if (v->status == STATUS_VALID)
        return v->n_warnings > 0 || v->also_server_limited || p->c.ok < p->c.scheduled ? MOOD_CARE
                                                                                       : MOOD_GOOD;
    return v->status == STATUS_SERVER_LIMITED ? MOOD_CARE : MOOD_BAD;
}

static const struct {
    const char *class, *icon; /* of 24 by 24 */
} moods[] = {
    [MOOD_GOOD] = {"good",
                   "<circle cx=\"12\" cy=\"12\" r=\"11\"/><path d=\"M6.5 12.5l4 4 7-8.5\"/>"},
    [MOOD_CARE] = {"care", "<path class=\"fill\" d=\"M12 1.5L23 22H1z\"/><path d=\"M12 9v6.5M12 "
                           "18.4v.2\"/>"},
    [MOOD_BAD] = {"bad",
                  "<path class=\"fill\" d=\"M7.5 1h9L23 7.5v9L16.5 23h-9L1 16.5v-9z\"/><path "
                  "d=\"M8 8l8 8M16 8l-8 8\"/>"},
};

/* What the status means, for those who read it for the first time. */
static const char *meaning(const struct verdict *v)
{
    static const char *const texts[STATUS_COUNT] = {
        [STATUS_VALID] = "The load was sent as planned, nothing is missing, and hammer itself was "
                         "not the limit.",
        [STATUS_SERVER_LIMITED] = "The figures are sound: the server, or the number of connections "
                                  "to it, was the limit.",
        [STATUS_GENERATOR_LIMITED] = "The load machines themselves were the limit: do not read the "
                                     "latencies as the server's.",
        [STATUS_INCOMPLETE] = "Part of what was to be measured is missing.",
        [STATUS_NO_DATA] = "No request was answered.",
        [STATUS_UNREACHABLE] = "No connection to the target was ever opened.",
        [STATUS_INTERRUPTED] = "The run was cut short by hand; the figures are about what there "
                               "was of it.",
        [STATUS_ABORTED] = "A condition of --abort-on was met and ended the run.",
        [STATUS_SLO_FAILED] = "An objective of --slo did not hold.",
    };
    return texts[v->status] != NULL ? texts[v->status] : "";
}

static void sentences(const struct html_page *p)
{
    const struct verdict *v = &p->r->verdict;
    FILE *out = p->out;
    char part[HTML_NUMBER], whole[HTML_NUMBER];
    fprintf(out, "<ul>\n");
    for (size_t i = 0; i < v->n_reasons; i++) {
        fprintf(out, "<li>");
        html_text(out, v->reasons[i]);
        fprintf(out, "</li>\n");
    }
    if (p->c.ok < p->c.scheduled)
        fprintf(out, "<li>%s of %s requests did not succeed</li>\n",
                html_count(p->c.scheduled - p->c.ok, part), html_count(p->c.scheduled, whole));
    for (size_t i = 0; i < v->n_warnings; i++) {
        fprintf(out, "<li><strong>Warning:</strong> ");
        html_text(out, v->warnings[i]);
        fprintf(out, "</li>\n");
    }
    fprintf(out, "</ul>\n");
}

static void partial_view(const struct html_page *p)
{
    const struct result_view *v = &p->r->view;
    char from[HTML_NUMBER], to[HTML_NUMBER];
    fprintf(p->out, "<strong>part of a run</strong></p>\n<ul>\n<li>Nothing is judged: this is ");
    html_textf(p->out, "from %s to %s", html_latency(v->from_ns, from),
               v->to_ns > 0 ? html_latency(v->to_ns, to) : "the end");
    if (v->agent[0] != '\0')
        html_textf(p->out, ", of agent %s", v->agent);
    if (v->request[0] != '\0')
        html_textf(p->out, ", of request %s", v->request);
    if (v->one_stage)
        html_textf(p->out, ", of stage %" PRIu32, v->stage + 1);
    fprintf(p->out, "</li>\n</ul>\n");
}

void html_verdict(const struct html_page *p)
{
    const struct verdict *v = &p->r->verdict;
    enum mood mood = mood_of(p);
    fprintf(p->out,
            "<section id=\"verdict\" class=\"%s\" aria-label=\"Verdict\">\n<svg class=\"icon\" "
            "viewBox=\"0 0 24 24\" aria-hidden=\"true\">%s</svg>\n<div>\n<p class=\"status\">",
            moods[mood].class, moods[mood].icon);
    if (p->r->view.partial) {
        partial_view(p);
        fprintf(p->out, "</div>\n</section>\n");
        return;
    }
    fprintf(p->out, "<strong>%s%s</strong>",
            v->status == STATUS_SERVER_LIMITED ? "valid, server-limited"
                                               : result_status_name(v->status),
            v->also_server_limited && v->status != STATUS_SERVER_LIMITED ? ", server-limited" : "");
    if (v->exit_code != 0)
        fprintf(p->out, " <span class=\"quiet\">exit code %d</span>", v->exit_code);
    fprintf(p->out, "</p>\n<p>%s</p>\n", meaning(v));
    if (v->n_reasons > 0 || v->n_warnings > 0 || p->c.ok < p->c.scheduled)
        sentences(p);
    fprintf(p->out, "</div>\n</section>\n");
}

/* --- what was run ----------------------------------------------------------------------------- */

static void fact(const struct html_page *p, const char *name)
{
    fprintf(p->out, "<div><dt>%s</dt><dd>", name);
}

static void fact_end(const struct html_page *p)
{
    fprintf(p->out, "</dd></div>\n");
}

static void target(const struct html_page *p)
{
    const struct plan *plan = p->r->plan;
    char *url = mem_calloc(2, PLAN_URL_MAX);
    redact_url(plan->url != NULL ? plan->url : "", url, 2 * (size_t)PLAN_URL_MAX);
    fact(p, "Target");
    html_textf(p->out, "%s ", plan->method != NULL ? plan->method : "");
    html_text(p->out, url);
    if (plan->n_entries > 1)
        fprintf(p->out, " and %zu more", plan->n_entries - 1);
    fact_end(p);
    mem_free(url);
}

static void load(const struct html_page *p)
{
    const struct plan *plan = p->r->plan;
    char text[UNITS_TEXT];
    fact(p, "Load");
    if (p->closed)
        fprintf(p->out, "closed loop%s",
                plan->think_max_ns > 0 ? " with pauses" : " at full speed");
    else if (plan->n_stages > 0)
        fprintf(p->out, "open loop in %" PRIu32 " stage%s", plan->n_stages,
                plan->n_stages == 1 ? "" : "s");
    else
        html_textf(p->out, "open loop, %s", units_format_rate(&plan->rate, text));
    if (plan->arrivals == PLAN_POISSON)
        fprintf(p->out, ", Poisson arrivals");
    fact_end(p);
}

static void length(const struct html_page *p)
{
    const struct plan *plan = p->r->plan;
    char text[UNITS_TEXT], count[HTML_NUMBER], took[HTML_NUMBER];
    fact(p, "Length");
    if (plan->requests != UINT64_MAX)
        fprintf(p->out, "%s requests%s", html_count(plan->requests, count),
                plan->duration_ns != NS_NEVER ? ", at most " : "");
    if (plan->duration_ns != NS_NEVER)
        html_text(p->out, units_format_duration(plan->duration_ns, text));
    if (plan->duration_ns == NS_NEVER && plan->requests == UINT64_MAX)
        fprintf(p->out, "until stopped");
    if (p->r->duration_ns != plan->duration_ns || p->r->interrupted)
        fprintf(p->out, "; took %s", html_latency(figures_elapsed_ns(p->r), took));
    fact_end(p);
}

static void from_whom(const struct html_page *p)
{
    uint64_t threads = 0, connections = 0;
    size_t n = p->r->n_agents;
    for (size_t i = 0; i < n; i++) {
        threads += p->r->agents[i].threads;
        connections += p->r->agents[i].connections;
    }
    fact(p, "From");
    fprintf(p->out, "%zu agent%s, %" PRIu64 " thread%s, %" PRIu64 " connection%s", n,
            n == 1 ? "" : "s", threads, threads == 1 ? "" : "s", connections,
            connections == 1 ? "" : "s");
    fact_end(p);
}

static void fact_text(const struct html_page *p, const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    fact(p, name);
    html_text(p->out, text);
    fact_end(p);
}

void html_facts(const struct html_page *p)
{
    char started[UNITS_TEXT];
    fprintf(p->out, "<dl class=\"facts\">\n");
    if (p->r->plan != NULL) {
        target(p);
        load(p);
        length(p);
    }
    from_whom(p);
    fact_text(p, "Started", units_format_utc(p->r->started_wall_ns, started));
    fact_text(p, "Tags", p->r->tags);
    fact(p, "Run");
    fprintf(p->out, "<span class=\"small\">");
    html_text(p->out, p->r->run_id);
    fprintf(p->out, "</span>");
    fact_end(p);
    fprintf(p->out, "</dl>\n");
}

/* --- key figures ------------------------------------------------------------------------------ */

static void tile(const struct html_page *p, const char *name, const char *value, const char *note)
{
    fprintf(p->out, "<div><dt>%s</dt><dd><b>", name);
    html_text(p->out, value);
    fprintf(p->out, "</b>");
    if (note[0] != '\0')
        fprintf(p->out, "<span>");
    html_text(p->out, note);
    fprintf(p->out, note[0] != '\0' ? "</span></dd></div>\n" : "</dd></div>\n");
}

static void tile_latency(const struct html_page *p, const char *name, double percentile)
{
    char value[HTML_NUMBER], sent[HTML_NUMBER], note[96] = "";
    if (p->due.count == 0) {
        tile(p, name, "-", "no answers");
        return;
    }
    if (!p->one_clock)
        snprintf(note, sizeof note, "%s uncorrected",
                 html_latency(figures_at(p->uncorrected, percentile), sent));
    tile(p, name, html_latency(figures_at(p->corrected, percentile), value), note);
}

void html_key_figures(const struct html_page *p)
{
    char value[HTML_NUMBER], a[HTML_NUMBER], b[HTML_NUMBER], note[128] = "";
    uint64_t errors = p->c.http_errors + counters_failed(&p->c) + p->c.timeouts;
    double wanted = figures_target(p->r), achieved = figures_achieved(p->r);
    fprintf(p->out, "<dl class=\"tiles\">\n");
    if (wanted > 0)
        snprintf(note, sizeof note, "of %s wanted", html_rate(wanted, a));
    tile(p, "Responses/s", html_rate(achieved, value), note);
    tile_latency(p, p->one_clock ? "Median" : "Median, corrected", 50);
    tile_latency(p, p->one_clock ? "p99" : "p99, corrected", 99);
    tile_latency(p, p->one_clock ? "Slowest" : "Slowest, corrected", 100);
    snprintf(note, sizeof note, "%s of %s requests", html_count(p->c.ok, a),
             html_count(p->c.scheduled, b));
    tile(p, "Success", html_share(p->c.ok, p->c.scheduled, value), note);
    snprintf(note, sizeof note, "%s unsent, %s unfinished", html_count(counters_unsent(&p->c), a),
             html_count(p->c.unfinished, b));
    tile(p, "Errors", html_count(errors, value), note);
    fprintf(p->out, "</dl>\n");
}
