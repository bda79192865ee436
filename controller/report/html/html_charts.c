/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_spectrum.h"
#include "controller/report/html/html_svg.h"

/* The charts that every reader sees; the script, where it runs, puts livelier ones in their place.
 */

void html_figure_begin(const struct html_page *p, const char *id, const char *title)
{
    fprintf(p->out, "<figure id=\"%s\">\n<h3>%s</h3>\n<div class=\"plot\">\n", id, title);
}

void html_figure_end(const struct html_page *p, const char *explanation)
{
    fprintf(p->out, "<figcaption>%s</figcaption>\n</figure>\n", explanation);
}

struct key {
    const char *class, *text;
    bool area; /* a square, not a line */
};

/* What is what, below the picture. */
static void legend(const struct html_page *p, const struct key *keys, size_t n)
{
    fprintf(p->out, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < n; i++)
        if (keys[i].text != NULL)
            fprintf(p->out,
                    "<li class=\"%s\"><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path "
                    "class=\"%s %s\" d=\"%s\"/></svg>%s</li>\n",
                    keys[i].area ? "of-area" : "of-line", keys[i].area ? "band" : "line",
                    keys[i].class, keys[i].area ? "M1 0h24v10h-24z" : "M1 5h24", keys[i].text);
    fprintf(p->out, "</ul>\n</div>\n");
}

static bool has_band(const struct html_page *p, enum band_kind kind)
{
    for (size_t i = 0; i < p->bands->n; i++)
        if (p->bands->items[i].kind == kind)
            return true;
    return false;
}

/* --- percentiles ------------------------------------------------------------------------------ */

static void describe_spectrum(const struct html_page *p, char *text, size_t size)
{
    char p50[HTML_NUMBER], p99[HTML_NUMBER], max[HTML_NUMBER];
    int len =
        snprintf(text, size, "%s: half of the requests within %s, 99 %% within %s, all %s.",
                 html_main_clock(p), html_latency(p->due.at[0], p50),
                 html_latency(figures_at(p->corrected, 99), p99), html_latency(p->due.max, max));
    if (!p->one_clock && len > 0 && (size_t)len < size)
        snprintf(text + len, size - (size_t)len,
                 " Uncorrected: half within %s, 99 %% within %s, all %s.",
                 html_latency(p->sent.at[0], p50),
                 html_latency(figures_at(p->uncorrected, 99), p99), html_latency(p->sent.max, max));
}

/* From where on the sample is too small to bound a percentile. */
static void weak_part(const struct svg *c, const struct spectrum *s)
{
    double x = svg_x(c, s->supported), end = c->left + c->width;
    if (end - x < 1)
        return;
    fprintf(c->out,
            "<rect class=\"band weak\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"/>\n", x,
            c->top, end - x, c->height);
}

void html_chart_spectrum(const struct html_page *p)
{
    char text[400];
    struct svg c = {.out = p->out, .id = "spectrum", .whole = SVG_HALF};
    if (p->due.count == 0)
        return;
    struct spectrum s = spectrum_of(p, SPECTRUM_STATIC);
    uint64_t lowest = p->one_clock || p->due.min < p->sent.min ? p->due.min : p->sent.min;
    c.x = scale_percentile(p->with_all ? p->all.count : p->due.count);
    c.y = scale_latency(lowest, p->due.max > p->sent.max ? p->due.max : p->sent.max);
    describe_spectrum(p, text, sizeof text);
    html_figure_begin(p, c.id, "Latency by percentile");
    svg_begin(&c, "Latency by percentile", text);
    weak_part(&c, &s);
    svg_axes(&c, "share of requests that were at most this slow", "latency");
    if (!p->one_clock)
        svg_line(&c, "uncorrected", s.n, s.x, s.uncorrected);
    if (p->with_all)
        svg_line(&c, "alldue", s.n, s.x, s.all);
    svg_line(&c, "corrected", s.n, s.x, s.corrected);
    svg_end(&c);
    const struct key keys[] = {
        {"corrected", html_main_clock(p), false},
        {"uncorrected", p->one_clock ? NULL : "uncorrected", false},
        {"alldue", p->with_all ? "all due" : NULL, false},
        {"weak", s.supported < c.x.max ? "too few samples to be relied on" : NULL, true}};
    legend(p, keys, sizeof keys / sizeof keys[0]);
    spectrum_clear(&s);
    html_figure_end(
        p, p->one_clock
               ? "Read it from the right: where the line crosses 99 %, one request in a hundred "
                 "took longer. Time counts from the send; what a request waited before it is left "
                 "out."
           : p->with_all
               ? "Read it from the right: where a line crosses 99 %, one request in a hundred took "
                 "longer. <em>Corrected</em> counts the waiting from the moment a request was due, "
                 "<em>uncorrected</em> from when it was sent; <em>all due</em> is corrected with "
                 "those in it that got no response: it ends where nobody knows how long they took."
               : "Read it from the right: where a line crosses 99 %, one request in a hundred took "
                 "longer. <em>Corrected</em> counts the waiting from the moment a request was due, "
                 "as a user would; <em>uncorrected</em> from when it was sent. Where they part, "
                 "requests had to wait before they could be sent.");
}

/* --- over time -------------------------------------------------------------------------------- */

static struct scale latency_scale(const struct curves *t)
{
    double low = NAN, high = NAN;
    for (size_t k = LINE_CORRECTED_P50; k <= LINE_UNCORRECTED_MAX; k++) {
        double min, max;
        if (!curves_range(t, (enum curve)k, &min, &max))
            continue;
        low = fmin(low, min);
        high = fmax(high, max);
    }
    return isnan(low) ? scale_latency(NS_PER_MS, NS_PER_SEC)
                      : scale_latency((uint64_t)low, (uint64_t)high);
}

static void describe_time(const struct html_page *p, char *text, size_t size)
{
    size_t worst = 0, n = p->r->n_intervals;
    for (size_t i = 1; i < n; i++) {
        const struct result_interval *a = &p->r->intervals[i], *b = &p->r->intervals[worst];
        if ((p->one_clock ? a->uncorrected.p99 : a->corrected.p99) >
            (p->one_clock ? b->uncorrected.p99 : b->corrected.p99))
            worst = i;
    }
    char from[HTML_NUMBER], p99[HTML_NUMBER];
    const struct result_interval *w = &p->r->intervals[worst];
    snprintf(text, size, "%zu intervals; the worst p99 was %s in the one that began at %s.", n,
             html_latency(p->one_clock ? w->uncorrected.p99 : w->corrected.p99, p99),
             html_latency(w->from_ns, from));
}

/* Keys of the bands; the last three of every chart over time. */
#define BAND_KEYS                                                                                  \
    {"stall", has_band(p, BAND_STALL) ? "stall: requests were due and no answers came" : NULL,     \
     true},                                                                                        \
        {"lost", has_band(p, BAND_LOST) ? "load of a lost agent is missing" : NULL, true},         \
    {                                                                                              \
        "warmup", has_band(p, BAND_WARMUP) ? "warm-up, in no figure" : NULL, true                  \
    }

static void latency_lines(const struct html_page *p, const struct svg *c)
{
    const struct curves *t = &p->time;
    enum curve base = p->one_clock ? LINE_UNCORRECTED_P50 : LINE_CORRECTED_P50;
    svg_line(c, "max", t->n, t->at_ns, t->line[base + 2]);
    if (!p->one_clock)
        svg_line(c, "uncorrected", t->n, t->at_ns, t->line[LINE_UNCORRECTED_P99]);
    svg_line(c, "corrected", t->n, t->at_ns, t->line[base + 1]);
    svg_line(c, "median", t->n, t->at_ns, t->line[base]);
}

void html_chart_latency(const struct html_page *p)
{
    struct svg c = {.out = p->out, .id = "latency", .whole = SVG_WIDE};
    char text[256];
    if (p->time.n == 0 || p->due.count == 0)
        return;
    c.x = scale_time(p->time.from_ns, p->time.to_ns);
    c.y = latency_scale(&p->time);
    describe_time(p, text, sizeof text);
    html_figure_begin(p, c.id, "Latency over time");
    svg_begin(&c, "Latency over time", text);
    svg_bands(&c, p->bands);
    svg_axes(&c, "time after the start", "latency");
    latency_lines(p, &c);
    svg_end(&c);
    const struct key keys[] = {{"max", p->one_clock ? "max" : "max, corrected", false},
                               {"corrected", p->one_clock ? "p99" : "p99, corrected", false},
                               {"uncorrected", p->one_clock ? NULL : "p99, uncorrected", false},
                               {"median", p->one_clock ? "p50" : "p50, corrected", false},
                               BAND_KEYS};
    legend(p, keys, sizeof keys / sizeof keys[0]);
    html_figure_end(p, "Each interval's own median, 99th percentile and maximum, of all agents' "
                       "requests together. A response counts in the interval in which it was "
                       "complete, so a stall shows where it ends.");
}

void html_chart_rate(const struct html_page *p)
{
    struct svg c = {.out = p->out, .id = "rate", .whole = SVG_WIDE};
    const struct curves *t = &p->time;
    double least, most = 0, min, max;
    char text[256], achieved[HTML_NUMBER], target[HTML_NUMBER];
    if (t->n == 0)
        return;
    for (size_t k = LINE_ACHIEVED; k <= LINE_ERRORS; k++)
        if (curves_range(t, (enum curve)k, &least, &max))
            most = fmax(most, max);
    bool errors = curves_range(t, LINE_ERRORS, &min, &max) && max > 0;
    bool wanted = curves_range(t, LINE_TARGET, &min, &max);
    c.x = scale_time(t->from_ns, t->to_ns);
    c.y = scale_count(most);
    snprintf(text, sizeof text, "%s responses per second on average%s%s; %" PRIu64 " errors.",
             html_rate(figures_achieved(p->r), achieved), wanted ? ", wanted were " : "",
             wanted ? html_rate(figures_target(p->r), target) : "",
             p->c.http_errors + counters_failed(&p->c) + p->c.timeouts);
    html_figure_begin(p, c.id, "Rate and errors over time");
    svg_begin(&c, "Rate and errors over time", text);
    svg_bands(&c, p->bands);
    svg_axes(&c, "time after the start", "per second");
    if (errors)
        svg_area(&c, "errors", t->n, t->at_ns, t->line[LINE_ERRORS]);
    svg_line(&c, "achieved", t->n, t->at_ns, t->line[LINE_ACHIEVED]);
    svg_line(&c, "target", t->n, t->at_ns, t->line[LINE_TARGET]);
    if (errors)
        svg_line(&c, "errors", t->n, t->at_ns, t->line[LINE_ERRORS]);
    svg_end(&c);
    const struct key keys[] = {{"achieved", "responses", false},
                               {"target", wanted ? "target" : NULL, false},
                               {"errors", errors ? "errors" : NULL, false},
                               BAND_KEYS};
    legend(p, keys, sizeof keys / sizeof keys[0]);
    html_figure_end(p, wanted
                           ? "Complete responses per second against what the plan wanted to be "
                             "sent. Below the target the server does not keep up; above it "
                             "answers what had piled up. Errors are HTTP errors, failed requests "
                             "and timeouts."
                           : "Complete responses per second. There is no target: each connection "
                             "sends its next request when it has its answer. Errors are HTTP "
                             "errors, failed requests and timeouts.");
}
