/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/clock.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/foreign.h"
#include "controller/report/report.h"
#include "controller/report/slices.h"
#include "controller/report/timeline.h"
#include "controller/run/confidence.h"

/*
 * GitHub-flavoured Markdown for a comment or a job's summary: what a reviewer wants to know, not
 * everything. Foreign text is never markup (foreign.h).
 */

#define URL_MAX      300
#define AGENTS_SHOWN 20 /* a comment has 65536 characters at most */
#define ERRORS_SHOWN 5

static void code(FILE *out, const char *text)
{
    fputs("<code>", out);
    foreign_markdown(out, text);
    fputs("</code>", out);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* --- what was run --------------------------------------------------------------------------- */

static void head(FILE *out, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    fprintf(out, "### hammer: %s",
            r->view.partial ? "part of a run" : result_status_name(v->status));
    if (r->name[0] != '\0') {
        fputs(" \xe2\x80\x93 ", out);
        foreign_markdown(out, r->name);
    }
    fputs("\n\n", out);
    if (r->description != NULL) {
        foreign_markdown(out, r->description);
        fputs("\n\n", out);
    }
    for (size_t i = 0; i < v->n_reasons; i++) {
        fputs("- ", out);
        foreign_markdown(out, v->reasons[i]);
        fputc('\n', out);
    }
    if (v->n_reasons > 0)
        fputc('\n', out);
}

static void load(FILE *out, const struct result *r)
{
    const struct plan *p = r->plan;
    char url[URL_MAX], text[UNITS_TEXT];
    if (p == NULL)
        return;
    if (p->url != NULL) {
        redact_url(p->url, url, sizeof url);
        code(out, url);
        fputs(", ", out);
    }
    if (p->rate.num == 0)
        fputs("closed loop", out);
    else if (p->n_stages > 0)
        fprintf(out, "%" PRIu32 " stage%s", p->n_stages, plural(p->n_stages));
    else
        fprintf(out, "open loop at %s", units_format_rate(&p->rate, text));
    fprintf(out, ", %s", units_format_latency(figures_elapsed_ns(r), text));
    fprintf(out, ", %zu agent%s\n\n", r->n_agents, plural(r->n_agents));
}

/* --- figures -------------------------------------------------------------------------------- */

static void latency_cell(FILE *out, const struct figures *f, uint64_t ns, bool supported)
{
    char text[UNITS_TEXT];
    if (f->count == 0)
        fputs(" \xe2\x80\x93 |", out);
    else
        fprintf(out, " %s%s |", units_format_latency(ns, text), supported ? "" : " &#126;");
}

static void latency_row(FILE *out, const char *label, const struct figures f[2], bool both,
                        const uint64_t ns[2], const bool supported[2])
{
    fprintf(out, "| %s |", label);
    latency_cell(out, &f[0], ns[0], supported[0]);
    if (both)
        latency_cell(out, &f[1], ns[1], supported[1]);
    fputc('\n', out);
}

static void latency(FILE *out, const struct result *r)
{
    static const bool yes[2] = {true, true};
    bool one = result_one_clock(r), marked = false;
    struct hist *h[2] = {figures_main_hist(r, r->total), snapshot_hist(r->total, HIST_UNCORRECTED)};
    struct figures f[2] = {figures_of(h[0]), figures_of(h[1])};
    struct confidence_run *trust[2] = {
        confidence_new(r->blocks, one ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED),
        confidence_new(r->blocks, BLOCKS_UNCORRECTED)};
    fputs(one ? "| Latency | from the send |\n|---|--:|\n"
              : "| Latency | corrected (from the due time) | uncorrected (from the send) |\n"
                "|---|--:|--:|\n",
          out);
    latency_row(out, "min", f, !one, (uint64_t[]){f[0].min, f[1].min}, yes);
    latency_row(out, "mean", f, !one, (uint64_t[]){(uint64_t)f[0].mean, (uint64_t)f[1].mean}, yes);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        char label[16];
        snprintf(label, sizeof label, "%s %%", figures_percentiles[i].key);
        bool supported[2];
        for (size_t k = 0; k < 2; k++)
            supported[k] = confidence_at(trust[k], h[k], figures_percentiles[i].p).supported;
        latency_row(out, label, f, !one, (uint64_t[]){f[0].at[i], f[1].at[i]}, supported);
        marked = marked || (f[0].count > 0 && !supported[0]) ||
                 (!one && f[1].count > 0 && !supported[1]);
    }
    latency_row(out, "max", f, !one, (uint64_t[]){f[0].max, f[1].max}, yes);
    fputs(marked ? "\n&#126; too few samples to rely on\n\n" : "\n", out);
    for (size_t k = 0; k < 2; k++) {
        confidence_free(trust[k]);
        hist_free(h[k]);
    }
}

static void counts(FILE *out, const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    double target = figures_target(r);
    fprintf(out, "**%" PRIu64 "** of %" PRIu64 " requests succeeded, **%.2f** responses per second",
            c.ok, c.scheduled, figures_achieved(r));
    if (target > 0)
        fprintf(out, " (target %.2f)", target);
    fputs("\n\n", out);
    const struct {
        const char *name;
        uint64_t n;
    } bad[] = {
        {"HTTP errors", c.http_errors},      {"failed", counters_failed(&c)},
        {"timed out", c.timeouts},           {"unfinished", c.unfinished},
        {"never sent", counters_unsent(&c)}, {"attempts to connect failed", c.connect_errors}};
    size_t shown = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (bad[i].n > 0)
            fprintf(out, "%s%" PRIu64 " %s", shown++ > 0 ? ", " : "", bad[i].n, bad[i].name);
    fputs(shown > 0 ? "\n\n" : "", out);
}

/* The most frequent of those that come after `last` in that order; NULL = there is none. */
static const struct error_row *next_error(const struct snapshot *s, const struct error_row *last)
{
    const struct error_row *best = NULL;
    for (size_t i = 0; i < s->n_errors; i++) {
        const struct error_row *e = &s->errors[i];
        bool after =
            last == NULL || e->count < last->count || (e->count == last->count && e > last);
        if (after && (best == NULL || e->count > best->count))
            best = e;
    }
    return best;
}

static void errors(FILE *out, const struct snapshot *s)
{
    const struct error_row *e = NULL;
    if (s->n_errors == 0)
        return;
    fputs("| Error | Count |\n|---|--:|\n", out);
    for (size_t i = 0; i < ERRORS_SHOWN && (e = next_error(s, e)) != NULL; i++) {
        fputs("| ", out);
        code(out, e->text);
        fprintf(out, " | %" PRIu64 " |\n", e->count);
    }
    if (s->n_errors > ERRORS_SHOWN)
        fprintf(out, "\nand %zu other kind%s\n", s->n_errors - ERRORS_SHOWN,
                plural(s->n_errors - ERRORS_SHOWN));
    fputc('\n', out);
}

static void objectives(FILE *out, const struct result *r)
{
    if (r->n_objectives == 0)
        return;
    fputs("| Objective | Measured | |\n|---|--:|---|\n", out);
    for (size_t i = 0; i < r->n_objectives; i++) {
        const struct objective *o = &r->objectives[i];
        char said[CONDITION_SAID];
        fputs("| ", out);
        code(out, o->condition->text);
        fputs(" | ", out);
        foreign_markdown(out, objective_say(o, said));
        fprintf(out, " | %s |\n", o->held ? "held" : "**failed**");
    }
    fputc('\n', out);
}

/* --- parts ---------------------------------------------------------------------------------- */

static void part_cells(FILE *out, const struct result *r, const struct counters *c,
                       const struct snapshot *s, const struct hist *main)
{
    struct hist *own = s != NULL ? figures_main_hist(r, s) : NULL;
    const struct hist *h = own != NULL ? own : main;
    struct figures f = figures_of(h);
    fprintf(out, " %" PRIu64 " | %" PRIu64 " |", c->completed, slices_errors(c));
    latency_cell(out, &f, figures_at(h, 50), true);
    latency_cell(out, &f, figures_at(h, 99), result_supports(99, f.count));
    fputc('\n', out);
    hist_free(own);
}

static void requests(FILE *out, const struct result *r)
{
    if (!slices_any(r, SLICE_NAME))
        return;
    struct slices all = slices_of(r, r->total, SLICE_NAME);
    fputs("| Request | Completed | Errors | 50 % | 99 % |\n|---|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < all.n; i++) {
        const struct slice *s = &all.items[i];
        fputs("| ", out);
        code(out, s->name[0] != '\0' ? s->name : "(no name)");
        fputs(" |", out);
        part_cells(out, r, &s->c, NULL, result_one_clock(r) ? s->uncorrected : s->corrected);
    }
    fputc('\n', out);
    slices_clear(&all);
}

static void agents(FILE *out, const struct result *r)
{
    size_t n = r->n_agents < AGENTS_SHOWN ? r->n_agents : AGENTS_SHOWN;
    fputs("| Agent | State | Completed | Errors | 50 % | 99 % |\n|---|---|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < n; i++) {
        const struct result_agent *a = &r->agents[i];
        struct counters c = snapshot_counters(a->total);
        bool lost = a->state == RESULT_LOST || a->state == RESULT_REFUSED;
        fputs("| ", out);
        code(out, a->name[0] != '\0' ? a->name : a->address);
        fprintf(out, lost ? " | **%s** |" : " | %s |", result_agent_state_name(a->state));
        part_cells(out, r, &c, a->total, NULL);
    }
    if (r->n_agents > n)
        fprintf(out, "\nand %zu more agents\n", r->n_agents - n);
    fputc('\n', out);
}

/* --- time ----------------------------------------------------------------------------------- */

static void worst(FILE *out, const struct result *r)
{
    char text[UNITS_TEXT], max[UNITS_TEXT];
    struct timeline t = timeline_of(r);
    if (t.p99_max == 0 || t.rows < 2)
        return;
    const struct result_interval *at = &r->intervals[t.worst];
    units_format_latency(timeline_latency(r, at)->max, max);
    fprintf(out,
            "Worst interval: %.1f s to %.1f s, 99 %% %s, max %s, %" PRIu64
            " error%s, backlog %" PRIu64 "\n\n",
            (double)at->from_ns / 1e9, (double)at->to_ns / 1e9,
            units_format_latency(t.p99_max, text), max, at->errors, plural(at->errors),
            at->backlog);
}

static void stalls(FILE *out, const struct result *r)
{
    char text[UNITS_TEXT];
    uint64_t longest = 0;
    for (size_t i = 0; i < r->n_stalls; i++)
        if (r->stalls[i].length_ns > longest)
            longest = r->stalls[i].length_ns;
    if (r->n_stalls > 0)
        fprintf(out, "**%zu stall%s** of the target, the longest %s\n\n", r->n_stalls,
                plural(r->n_stalls), units_format_latency(longest, text));
}

static void foot(FILE *out, const struct result *r)
{
    char started[UNITS_TEXT];
    for (size_t i = 0; i < r->verdict.n_warnings; i++) {
        fputs("> ", out);
        foreign_markdown(out, r->verdict.warnings[i]);
        fputs("\n\n", out);
    }
    fprintf(out, "<sub>run %.8s, %s, hammer %s", r->run_id,
            units_format_utc(r->started_wall_ns, started), HAMMER_VERSION);
    if (r->tags != NULL) {
        fputs(", tags ", out);
        foreign_markdown(out, r->tags);
    }
    fputs("</sub>\n", out);
}

static enum err write_markdown(const struct result *r, const struct report_options *o, FILE *out)
{
    (void)o;
    head(out, r);
    load(out, r);
    objectives(out, r);
    counts(out, r);
    latency(out, r);
    errors(out, r->total);
    requests(out, r);
    worst(out, r);
    stalls(out, r);
    agents(out, r);
    foot(out, r);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_markdown = {
    .name = "markdown",
    .suffix = ".md",
    .text = "a summary for a comment or a job's page, GitHub-flavoured",
    .write = write_markdown};
