/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "controller/report/given.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_table.h"

/* Agents, what they saw, what became of them; and what was given. */

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define STALLS_SHOWN  100
#define PROBLEM_SHOWN 384

const char *html_agent_name(const struct result *r, size_t i)
{
    const struct result_agent *a = &r->agents[i];
    return a->name[0] != '\0' ? a->name : a->address;
}

const char *html_main_clock(const struct html_page *p)
{
    return p->one_clock ? "latency" : "corrected";
}

/* --- agents ----------------------------------------------------------------------------------- */

static void cells_clock(struct html_table *t, const struct result_agent *a)
{
    char offset[UNITS_TEXT], bound[UNITS_TEXT];
    if (!a->started) {
        html_cell_text(t, "-");
        html_cell_text(t, "-");
        return;
    }
    if (a->same_clock)
        html_cell_text(t, "the same");
    else
        html_cell(t, "%s \xc2\xb1 %s", units_format_offset(a->clock_offset_ns, offset),
                  units_format_latency(a->clock_error_ns, bound));
    html_cell_text(t, units_format_offset(a->start_error_ns, offset));
}

static void cells_health(const struct html_page *p, struct html_table *t,
                         const struct result_agent *a)
{
    struct figures_health h = figures_health(p->r, a);
    if (h.known)
        html_cell(t, "%.0f %% (%.0f %%)", 100 * h.cpu, 100 * h.cpu_peak);
    else
        html_cell_text(t, "-");
    struct hist *lag = snapshot_hist(a->total, HIST_SEND_LAG);
    if (hist_count(lag) > 0)
        html_cell_latency(t, figures_at(lag, 99), !result_supports(99, hist_count(lag)));
    else
        html_cell_text(t, "-");
    hist_free(lag);
}

static void cells_latency(const struct html_page *p, struct html_table *t,
                          const struct result_agent *a)
{
    static const double percentiles[] = {50, 99};
    struct hist *h = figures_main_hist(p->r, a->total);
    uint64_t n = hist_count(h);
    for (size_t i = 0; i < LENGTH(percentiles); i++)
        if (n > 0)
            html_cell_latency(t, figures_at(h, percentiles[i]),
                              !result_supports(percentiles[i], n));
        else
            html_cell_text(t, "-");
    hist_free(h);
}

static const char *row_class(const struct result_agent *a)
{
    return a->state == RESULT_LOST || a->state == RESULT_REFUSED ? "bad" : "";
}

static void agent_row(const struct html_page *p, struct html_table *t, size_t i)
{
    const struct result_agent *a = &p->r->agents[i];
    struct counters c = snapshot_counters(a->total);
    html_row_class(t, row_class(a));
    if (a->name[0] != '\0' && strcmp(a->name, a->address) != 0)
        html_cell(t, "%s (%s)", a->name, a->address);
    else
        html_cell_text(t, a->address);
    html_cell_text(t, result_agent_state_name(a->state));
    html_cell_count(t, c.scheduled);
    html_cell_count(t, c.completed);
    html_cell_count(t, c.http_errors + counters_failed(&c) + c.timeouts);
    cells_latency(p, t, a);
    cells_health(p, t, a);
    cells_clock(t, a);
    html_row_end(t);
}

static void agent_notes(const struct html_page *p, size_t i)
{
    const struct result_agent *a = &p->r->agents[i];
    double limit = figures_limit(p->r, a);
    FILE *out = p->out;
    if (a->problem[0] != '\0') {
        fprintf(out, "<li>");
        html_textf(out, "%s: %s", html_agent_name(p->r, i), a->problem);
        fprintf(out, "</li>\n");
    }
    if (a->insecure) {
        fprintf(out, "<li>");
        html_textf(out, "%s: started with --insecure-listen: whoever reaches it commands its load",
                   html_agent_name(p->r, i));
        fprintf(out, "</li>\n");
    }
    if (limit > 0) {
        fprintf(out, "<li>");
        html_textf(out, "%s: every connection was busy %.3g %% of the time while requests waited",
                   html_agent_name(p->r, i), 100 * limit);
        fprintf(out, "</li>\n");
    }
    if (a->outlier.any) {
        char here[HTML_NUMBER], others[HTML_NUMBER];
        fprintf(out, "<li>");
        html_textf(out, "%s differs from the other%s: p%g about %s, there %s%s",
                   html_agent_name(p->r, i), a->outlier.pair ? "" : "s", a->outlier.percentile,
                   html_latency(a->outlier.here_ns, here),
                   html_latency(a->outlier.others_ns, others),
                   a->outlier.pair ? "; which of the two is odd nobody can tell" : "");
        fprintf(out, "</li>\n");
    }
}

static void check_note(const struct html_page *p)
{
    size_t of = 0, good = 0;
    for (size_t i = 0; i < p->r->n_agents; i++) {
        if (!result_took_part(&p->r->agents[i]))
            continue;
        of++;
        good += p->r->agents[i].checked;
    }
    fprintf(p->out,
            "<li>Check: %zu of %zu agents' sums equal their own totals, bucket for bucket</li>\n",
            good, of);
}

void html_table_agents(const struct html_page *p)
{
    const struct html_column columns[] = {{"agent", false},
                                          {"state", false},
                                          {"scheduled", true},
                                          {"responses", true},
                                          {"errors", true},
                                          {p->one_clock ? "p50" : "p50 corr.", true},
                                          {p->one_clock ? "p99" : "p99 corr.", true},
                                          {"CPU (peak)", true},
                                          {"send lag p99", true},
                                          {"clock", true},
                                          {"started", true}};
    struct html_table t = html_table_begin(p->out, "t-agents", "Agents", columns, LENGTH(columns));
    for (size_t i = 0; i < p->r->n_agents; i++)
        agent_row(p, &t, i);
    html_table_end(&t);
    fprintf(p->out, "<ul class=\"notes\">\n");
    for (size_t i = 0; i < p->r->n_agents; i++)
        agent_notes(p, i);
    check_note(p);
    fprintf(p->out, "</ul>\n");
}

/* --- stalls and losses ------------------------------------------------------------------------ */

/* Whose it is follows from who saw it. */
static void cell_whose(const struct html_page *p, struct html_table *t, const struct stall *s)
{
    char text[1024] = "";
    size_t len = 0;
    if (s->of >= 2 && s->seen_by == s->of) {
        html_cell_text(t, "all agents: the server, or what all of them share");
        return;
    }
    for (uint32_t i = 0; i < s->n_agents && len < sizeof text - 1; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.100s", i > 0 ? ", " : "",
                                html_agent_name(p->r, s->agents[i]));
    if (s->of < 2)
        html_cell_text(t, text);
    else
        html_cell(t, "%s only, of %" PRIu32 " agents: its path, or theirs", text, s->of);
}

void html_table_stalls(const struct html_page *p)
{
    static const struct html_column columns[] = {
        {"at", true}, {"length", true}, {"requests due in it", true}, {"seen by", false}};
    const struct result *r = p->r;
    if (r->n_stalls == 0)
        return;
    struct html_table t = html_table_begin(p->out, "t-stalls", "Stalls", columns, LENGTH(columns));
    for (size_t i = 0; i < r->n_stalls && i < STALLS_SHOWN; i++) {
        const struct stall *s = &r->stalls[i];
        char length[HTML_NUMBER];
        html_row(&t);
        html_cell_latency(&t, s->begin_ns, false);
        html_cell(&t, "%s%s", s->open ? "\xe2\x89\xa5 " : "", html_latency(s->length_ns, length));
        html_cell_count(&t, s->due);
        cell_whose(p, &t, s);
        html_row_end(&t);
    }
    html_table_end(&t);
    if (r->n_stalls > STALLS_SHOWN)
        fprintf(p->out, "<p class=\"note\">and %zu more: the JSON report has all of them</p>\n",
                r->n_stalls - STALLS_SHOWN);
}

static void loss_row(const struct html_page *p, struct html_table *t, size_t i)
{
    const struct loss *l = &p->r->agents[i].loss;
    char at[HTML_NUMBER];
    html_row_class(t, "bad");
    html_cell_text(t, html_agent_name(p->r, i));
    html_cell_latency(t, l->at_ns, false);
    if (l->last_seq > 0)
        html_cell_latency(t, l->last_to_ns, false);
    else
        html_cell_text(t, "nothing");
    if (l->count == UINT64_MAX)
        html_cell_text(t, "unknown");
    else
        html_cell_count(t, l->count);
    html_cell(t, "%.4g %%", 100 * l->share);
    if (l->taken_over_from == UINT64_MAX)
        html_cell_text(t, "nobody sent its share");
    else
        html_cell(t, "the others sent its share from %s on", html_latency(l->taken_ns, at));
    html_row_end(t);
}

void html_table_losses(const struct html_page *p)
{
    static const struct html_column columns[] = {{"lost agent", false}, {"lost at", true},
                                                 {"known until", true}, {"requests missing", true},
                                                 {"of the load", true}, {"from then on", false}};
    size_t lost = 0;
    for (size_t i = 0; i < p->r->n_agents; i++)
        lost += p->r->agents[i].loss.any;
    if (lost == 0)
        return;
    struct html_table t =
        html_table_begin(p->out, "t-losses", "Lost agents", columns, LENGTH(columns));
    for (size_t i = 0; i < p->r->n_agents; i++)
        if (p->r->agents[i].loss.any)
            loss_row(p, &t, i);
    html_table_end(&t);
}

/* --- what was given, and where ---------------------------------------------------------------- */

static void option_row(void *arg, const struct given *g)
{
    struct html_table *t = arg;
    html_row(t);
    html_cell(t, "--%s", g->name);
    html_cell_text(t, g->flag ? "" : g->value);
    html_row_end(t);
}

void html_table_options(const struct html_page *p)
{
    static const struct html_column columns[] = {{"option", false}, {"value", false}};
    if (p->r->plan == NULL)
        return;
    struct html_table t =
        html_table_begin(p->out, "t-options", "Options given", columns, LENGTH(columns));
    given_each(p->r->plan, p->o->secret_headers, option_row, &t);
    if (p->r->abort_on != NULL)
        for (size_t i = 0; i < p->r->abort_on->n; i++) {
            html_row(&t);
            html_cell_text(&t, "--abort-on");
            html_cell_text(&t, p->r->abort_on->items[i].text);
            html_row_end(&t);
        }
    html_table_end(&t);
}

static void environment_row(struct html_table *t, const char *name, const char *value)
{
    html_row(t);
    html_cell_text(t, name);
    html_cell_text(t, value);
    html_row_end(t);
}

static void bytes_row(struct html_table *t, const char *name, uint64_t bytes)
{
    char text[UNITS_TEXT];
    environment_row(t, name, units_format_bytes((double)bytes, text));
}

static void rows_of_connections(struct html_table *t, const struct html_page *p)
{
    const struct snapshot *s = p->r->total;
    for (size_t i = 0; i < s->n_addresses; i++) {
        html_row(t);
        html_cell(t, "connections to %s", s->addresses[i].text);
        html_cell_count(t, s->addresses[i].count);
        html_row_end(t);
    }
    for (size_t i = 0; i < s->n_suites; i++) {
        html_row(t);
        html_cell(t, "handshakes, %s", s->suites[i].text);
        html_cell_count(t, s->suites[i].count);
        html_row_end(t);
    }
}

void html_table_environment(const struct html_page *p)
{
    static const struct html_column columns[] = {{"what", false}, {"how much", false}};
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {
        {"connections opened", p->c.connects},
        {"connection errors", p->c.connect_errors},
        {"TLS handshakes", p->c.handshakes},
        {"of these resumed", p->c.resumed},
        {"failed TLS handshakes", p->c.handshake_errors},
        {"retries", p->c.retries},
        {"redirects followed", p->c.redirects},
        {"unexpected responses", p->c.unexpected},
        {"waited for a connection", p->c.waited},
        {"look-ups during the run", p->c.lookups},
        {"generator faults", counters_faults(&p->c)},
        {"latencies over one hour", p->c.saturated},
    };
    struct html_table t = html_table_begin(p->out, "t-environment", "Connections and server",
                                           columns, LENGTH(columns));
    if (p->r->total->server[0] != '\0')
        environment_row(&t, "server", p->r->total->server);
    rows_of_connections(&t, p);
    bytes_row(&t, "read", p->c.bytes_in);
    bytes_row(&t, "written", p->c.bytes_out);
    for (size_t i = 0; i < LENGTH(counts); i++) {
        if (counts[i].n == 0)
            continue;
        html_row(&t);
        html_cell_text(&t, counts[i].name);
        html_cell_count(&t, counts[i].n);
        html_row_end(&t);
    }
    html_table_end(&t);
}
