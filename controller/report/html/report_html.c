/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/libcrypto.h"
#include "common/mem.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_assets.h"
#include "controller/report/html/html_page.h"
#include "controller/report/slices.h"

/*
 * One page that needs nothing but itself: tables and static charts, and where scripts run, livelier
 * charts in their place. Its own policy allows the style sheet and the scripts by their hashes and
 * nothing else: no request is made, whatever foreign text there is in it.
 */

/* --- style and scripts ------------------------------------------------------------------------ */

/* One element's content, put together so that it can be hashed as a whole. */
struct inline_text {
    char *bytes;
    size_t len;
};

static void append(struct inline_text *t, const void *bytes, size_t len)
{
    t->bytes = mem_realloc(t->bytes, t->len + len + 1, 1);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->bytes[t->len] = '\0';
}

static void append_asset(struct inline_text *t, const struct html_asset *a)
{
    append(t, a->bytes, a->len);
    append(t, "\n", 1);
}

static bool is_lively(void)
{
    return html_asset_uplot.len > 0;
}

static struct inline_text style(void)
{
    struct inline_text t = {0};
    append_asset(&t, &html_asset_uplot_style);
    append_asset(&t, &html_asset_style);
    return t;
}

/* The library's licence stays with it. */
static struct inline_text script(void)
{
    struct inline_text t = {0};
    static const char begin[] = "/*\n", end[] = "*/\n";
    append(&t, begin, sizeof begin - 1);
    append_asset(&t, &html_asset_uplot_licence);
    append(&t, end, sizeof end - 1);
    append_asset(&t, &html_asset_uplot);
    append_asset(&t, &html_asset_script);
    return t;
}

static void write_hash(FILE *out, const struct inline_text *t)
{
    unsigned char digest[EVP_MAX_MD_SIZE], text[2 * EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(t->bytes, t->len, digest, &len, EVP_sha256(), NULL) != 1)
        return; /* nothing is allowed then: the page is plain, and still whole */
    EVP_EncodeBlock(text, digest, (int)len);
    fprintf(out, "'sha256-%s'", (const char *)text);
}

static void write_title(const struct html_page *p)
{
    html_text(p->out, p->r->name[0] != '\0' ? p->r->name : "Load test");
}

static void head(const struct html_page *p, const struct inline_text *css,
                 const struct inline_text *js)
{
    FILE *out = p->out;
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "base-uri 'none'; form-action 'none'; style-src ");
    write_hash(out, css);
    if (js->len > 0)
        fprintf(out, "; script-src ");
    if (js->len > 0)
        write_hash(out, js);
    fprintf(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n"
                 "<meta name=\"generator\" content=\"hammer " HAMMER_VERSION "\">\n<title>");
    write_title(p);
    fprintf(out, " - hammer</title>\n<style>");
    fwrite(css->bytes, 1, css->len, out);
    fprintf(out, "</style>\n</head>\n");
}

/* --- the page --------------------------------------------------------------------------------- */

static void begin_section(const struct html_page *p, const char *id, const char *title)
{
    fprintf(p->out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

static void end_section(const struct html_page *p)
{
    fprintf(p->out, "</section>\n");
}

static void top(const struct html_page *p)
{
    fprintf(p->out, "<header>\n<p class=\"brand\">hammer</p>\n<h1>");
    write_title(p);
    fprintf(p->out, "</h1>\n");
    if (p->r->description != NULL && p->r->description[0] != '\0') {
        fprintf(p->out, "<p class=\"description\">");
        html_text(p->out, p->r->description);
        fprintf(p->out, "</p>\n");
    }
    html_verdict(p);
    html_table_objectives(p);
    html_facts(p);
    fprintf(p->out, "</header>\n");
}

static void latency(const struct html_page *p)
{
    begin_section(p, "s-latency", "Latency");
    fprintf(p->out, "<div class=\"pair\">\n<div>\n");
    html_table_latency(p);
    html_table_warmup(p);
    fprintf(p->out, "</div>\n");
    html_chart_spectrum(p);
    fprintf(p->out, "</div>\n");
    end_section(p);
}

static void over_time(const struct html_page *p)
{
    if (p->time.n == 0)
        return;
    begin_section(p, "s-time", "Over time");
    html_chart_latency(p);
    html_chart_heat(p);
    html_chart_rate(p);
    html_table_stalls(p);
    html_table_losses(p);
    end_section(p);
}

static void parts(const struct html_page *p)
{
    if (!slices_any(p->r, SLICE_STAGE) && !slices_any(p->r, SLICE_NAME))
        return;
    begin_section(p, "s-parts", "By stage and request");
    html_table_stages(p);
    html_table_requests(p);
    end_section(p);
}

static void requests(const struct html_page *p)
{
    begin_section(p, "s-requests", "What became of the requests");
    fprintf(p->out, "<div class=\"several\">\n");
    html_table_ledger(p);
    html_table_outcomes(p);
    html_table_errors(p);
    fprintf(p->out, "</div>\n");
    end_section(p);
}

static void machines(const struct html_page *p)
{
    begin_section(p, "s-agents", "Load machines");
    html_table_agents(p);
    if (p->c.scheduled > 0)
        html_table_lags(p);
    html_table_phases(p);
    end_section(p);
}

static void setting(const struct html_page *p)
{
    begin_section(p, "s-setting", "Setting");
    fprintf(p->out, "<div class=\"several\">\n");
    html_table_options(p);
    html_table_environment(p);
    fprintf(p->out, "</div>\n");
    end_section(p);
}

static void bottom(const struct html_page *p)
{
    fprintf(p->out, "<footer>\n<p>hammer " HAMMER_VERSION);
    fprintf(p->out, ". <em>Corrected</em> latency counts from the instant at which a request was "
                    "due, <em>uncorrected</em> from when it was sent. Percentiles come from the "
                    "added histograms of all agents; none is an average. ~ marks what too few "
                    "samples stand for.</p>\n</footer>\n");
}

static bool body(const struct html_page *p, const struct inline_text *js)
{
    bool good = true;
    fprintf(p->out, "<body>\n<main>\n");
    top(p);
    if (p->c.scheduled > 0) {
        html_key_figures(p);
        latency(p);
        over_time(p);
        parts(p);
        requests(p);
    } else {
        fprintf(p->out, "<p>Nothing was measured: the run ended before its first request was due, "
                        "or within its warm-up.</p>\n");
    }
    machines(p);
    setting(p);
    bottom(p);
    fprintf(p->out, "</main>\n");
    if (js->len > 0) {
        good = html_data(p);
        fprintf(p->out, "<script>");
        fwrite(js->bytes, 1, js->len, p->out);
        fprintf(p->out, "</script>\n");
    }
    fprintf(p->out, "</body>\n</html>\n");
    return good;
}

/* --- the format ------------------------------------------------------------------------------- */

#define STATIC_POINTS 1000 /* about one for each unit of the picture's width */

static struct html_page page_of(const struct result *r, const struct report_options *o, FILE *out)
{
    struct html_page p = {.out = out, .r = r, .o = o, .c = snapshot_counters(r->total)};
    p.closed = figures_closed_loop(r);
    p.one_clock = result_one_clock(r);
    p.corrected = figures_main_hist(r, r->total);
    p.uncorrected = snapshot_hist(r->total, HIST_UNCORRECTED);
    p.due = figures_of(p.corrected);
    p.sent = figures_of(p.uncorrected);
    p.all = figures_all_due(r->total, p.corrected);
    p.with_all = p.all.incomplete > 0 && p.due.count > 0;
    p.time = curves_of(r, STATIC_POINTS);
    p.bands = bands_of(r, &p.time);
    return p;
}

static void page_clear(struct html_page *p)
{
    hist_free(p->corrected);
    hist_free(p->uncorrected);
    curves_clear(&p->time);
    mem_free(p->bands);
}

static enum err write_html(const struct result *r, const struct report_options *o, FILE *out)
{
    struct html_page p = page_of(r, o, out);
    struct inline_text css = style(), js = {0};
    if (is_lively())
        js = script();
    head(&p, &css, &js);
    bool good = body(&p, &js);
    mem_free(css.bytes);
    mem_free(js.bytes);
    page_clear(&p);
    return good && fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_html = {
    .name = "html", .suffix = ".html", .text = "a page for the browser", .write = write_html};
