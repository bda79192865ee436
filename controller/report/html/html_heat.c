/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_heat.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_svg.h"

/* --- the grid --------------------------------------------------------------------------------- */

static void set_edges(struct heat *h, uint64_t min_ns, uint64_t max_ns)
{
    struct scale axis = scale_latency(min_ns, max_ns);
    double decades = log10(axis.max / axis.min);
    double a_decade = fmin(floor(HEAT_ROWS / decades), 36); /* finer than the eye needs */
    h->rows = (size_t)fmin(fmax(ceil(decades * a_decade - 1e-6), 1), HEAT_ROWS);
    for (size_t i = 0; i <= h->rows; i++)
        h->edge_ns[i] = axis.min * pow(axis.max / axis.min, (double)i / (double)h->rows);
}

static void count_block(struct heat *h, enum blocks_clock clock, size_t column,
                        const struct hist *hist)
{
    const struct hist_geometry *g = hist_geometry_of(hist);
    uint32_t first = 0;
    for (size_t i = 0; i < h->rows; i++) {
        bool last = i + 1 == h->rows;
        uint32_t end = last ? g->counts_len : hist_index(g, (uint64_t)h->edge_ns[i + 1]);
        if (end <= first)
            continue;
        uint64_t n = hist_count_between(hist, first, end - 1);
        h->count[clock][column][i] = n;
        if (n > h->most[clock])
            h->most[clock] = n;
        first = end;
    }
}

static void widen(const struct hist *hist, uint64_t *min_ns, uint64_t *max_ns)
{
    if (hist_count(hist) == 0)
        return;
    if (hist_min(hist) < *min_ns)
        *min_ns = hist_min(hist);
    if (hist_max(hist) > *max_ns)
        *max_ns = hist_max(hist);
}

struct heat *heat_of(const struct result *r)
{
    size_t n = r->blocks != NULL ? blocks_n(r->blocks) : 0;
    uint64_t min_ns = UINT64_MAX, max_ns = 0;
    struct hist *all[BLOCKS_MAX][HEAT_CLOCKS];
    if (n == 0 || n > BLOCKS_MAX)
        return NULL;
    struct heat *h = mem_calloc(1, sizeof *h);
    h->columns = n;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < HEAT_CLOCKS; k++) {
            all[i][k] = blocks_hist(r->blocks, i, (enum blocks_clock)k);
            widen(all[i][k], &min_ns, &max_ns);
        }
    if (max_ns > 0)
        set_edges(h, min_ns, max_ns);
    for (size_t i = 0; i < n; i++) {
        struct block b = blocks_at(r->blocks, i);
        h->from_ns[i] = b.from_ns;
        h->to_ns[i] = b.to_ns;
        for (unsigned k = 0; k < HEAT_CLOCKS; k++) {
            count_block(h, (enum blocks_clock)k, i, all[i][k]);
            hist_free(all[i][k]);
        }
    }
    if (max_ns > 0)
        return h;
    mem_free(h);
    return NULL;
}

/* --- the picture ------------------------------------------------------------------------------ */

#define LEVELS 8

/* By the logarithm, so that one slow request is seen beside thousands of fast ones. */
static unsigned level_of(uint64_t n, uint64_t most)
{
    if (n == 0)
        return 0;
    if (most <= 1)
        return LEVELS;
    double part = log((double)n) / log((double)most);
    return 1 + (unsigned)fmin(part * LEVELS, LEVELS - 1);
}

/* The least count of a level, and of what follows it. */
static uint64_t level_begin(unsigned level, uint64_t most)
{
    for (uint64_t n = (uint64_t)pow((double)most, (level - 1.0) / LEVELS);; n++)
        if (n > 0 && level_of(n, most) >= level)
            return n;
}

/* One path a level: a cell is a dozen bytes then. Neighbours of the same level in a column are one
 * rectangle. */
static void draw_level(const struct svg *c, const struct heat *h, enum blocks_clock clock,
                       unsigned level)
{
    bool any = false;
    for (size_t i = 0; i < h->columns; i++) {
        double x = svg_x(c, (double)h->from_ns[i]), width = svg_x(c, (double)h->to_ns[i]) - x;
        for (size_t k = 0; k < h->rows; k++) {
            size_t end = k;
            while (end < h->rows && level_of(h->count[clock][i][end], h->most[clock]) == level)
                end++;
            if (end == k)
                continue;
            double low = svg_y(c, h->edge_ns[k]), high = svg_y(c, h->edge_ns[end]);
            if (!any)
                fprintf(c->out, "<path class=\"h%u\" d=\"", level);
            any = true;
            fprintf(c->out, "M%.1f %.1fh%.1fv%.1fh%.1fz", x, high, width, low - high, -width);
            k = end;
        }
    }
    if (any)
        fprintf(c->out, "\"/>\n");
}

static void draw_clock(const struct svg *c, const struct heat *h, enum blocks_clock clock,
                       const char *class)
{
    fprintf(c->out, "<g class=\"%s\" shape-rendering=\"crispEdges\">\n", class);
    for (unsigned level = 1; level <= LEVELS; level++)
        draw_level(c, h, clock, level);
    fprintf(c->out, "</g>\n");
}

static void heat_legend(const struct html_page *p, const struct heat *h, enum blocks_clock clock,
                        const char *class)
{
    fprintf(p->out, "<ul class=\"legend steps %s\">\n<li>requests:</li>\n", class);
    uint64_t before = 0;
    for (unsigned level = 1; level <= LEVELS; level++) {
        uint64_t n = level_begin(level, h->most[clock]);
        char text[HTML_NUMBER];
        if (level_of(n, h->most[clock]) != level || n == before)
            continue;
        before = n;
        fprintf(p->out,
                "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"h%u\" "
                "d=\"M0 0h14v14h-14z\"/></svg>%s%s</li>\n",
                level, html_count(n, text), level < LEVELS ? "" : " and more");
    }
    fprintf(p->out, "</ul>\n");
}

/* Which clock: two radio buttons beside what they choose, so that no script is needed. */
static void choice(const struct html_page *p)
{
    fprintf(p->out, "<input class=\"choice\" type=\"radio\" name=\"heat\" id=\"heat-due\" checked>"
                    "<label for=\"heat-due\">corrected</label>\n"
                    "<input class=\"choice\" type=\"radio\" name=\"heat\" id=\"heat-sent\">"
                    "<label for=\"heat-sent\">uncorrected</label>\n");
}

void html_chart_heat(const struct html_page *p)
{
    struct svg c = {.out = p->out, .id = "heat", .whole = SVG_WIDE};
    struct heat *h = heat_of(p->r);
    char text[256], length[HTML_NUMBER];
    if (h == NULL)
        return;
    c.x = scale_time(p->time.from_ns, p->time.to_ns);
    c.y = scale_latency((uint64_t)h->edge_ns[0], (uint64_t)(h->edge_ns[h->rows] + 0.5));
    snprintf(text, sizeof text,
             "How many requests took how long, over time, in %zu columns of %s; the table of "
             "latencies and the chart of latency over time tell the same in numbers.",
             h->columns, html_latency(h->to_ns[0] - h->from_ns[0], length));
    fprintf(p->out, "<figure id=\"heat\">\n<h3>Latency heat map</h3>\n");
    if (!p->one_clock)
        choice(p);
    fprintf(p->out, "<div class=\"plot\">\n");
    svg_begin(&c, "Latency heat map", text);
    svg_axes(&c, "time after the start", "latency");
    if (!p->one_clock)
        draw_clock(&c, h, BLOCKS_CORRECTED, "due");
    draw_clock(&c, h, BLOCKS_UNCORRECTED, p->one_clock ? "due" : "sent");
    svg_end(&c);
    fprintf(p->out, "<p class=\"readout\" aria-live=\"polite\"></p>\n");
    if (!p->one_clock)
        heat_legend(p, h, BLOCKS_CORRECTED, "due");
    heat_legend(p, h, BLOCKS_UNCORRECTED, p->one_clock ? "due" : "sent");
    fprintf(p->out, "</div>\n");
    html_figure_end(p, "Each cell counts the requests that were answered in that time and took "
                       "that long, by the colours of the scale, whose steps are of equal ratio. "
                       "Two stripes are two "
                       "kinds of requests or a cache that sometimes misses; a slope that falls to "
                       "the right is a queue that drains after a stall.");
    mem_free(h);
}
