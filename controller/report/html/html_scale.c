/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/clock.h"

#define SPACE "\xe2\x80\xaf"

double scale_place(const struct scale *s, double value)
{
    double place = s->logarithmic ? log(fmax(value, s->min) / s->min) / log(s->max / s->min)
                                  : (value - s->min) / (s->max - s->min);
    return fmin(fmax(place, 0), 1);
}

static void add(struct scale *s, double at, bool minor, const char *label)
{
    if (s->n >= SCALE_TICKS)
        return;
    struct scale_tick *t = &s->ticks[s->n++];
    t->at = at;
    t->minor = minor;
    snprintf(t->label, sizeof t->label, "%s", label);
}

/* --- latencies -------------------------------------------------------------------------------- */

static void label_latency(double ns, char label[SCALE_LABEL])
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1, "ns"}, {1e3, "\xc2\xb5s"}, {1e6, "ms"}, {1e9, "s"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof units[0] && ns >= units[i + 1].ns * 0.999)
        i++;
    snprintf(label, SCALE_LABEL, "%.6g" SPACE "%s", ns / units[i].ns, units[i].name);
}

/* The next of 1, 2, 5 times a power of ten. */
static double step_down(double v)
{
    double decade = pow(10, floor(log10(v) + 1e-9));
    double lead = v / decade + 1e-9;
    return decade * (lead >= 5 ? 5 : lead >= 2 ? 2 : 1);
}

static double step_up(double v)
{
    double decade = pow(10, floor(log10(v) + 1e-9));
    double lead = v / decade - 1e-9;
    return decade * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

struct scale scale_latency(uint64_t min_ns, uint64_t max_ns)
{
    struct scale s = {.logarithmic = true};
    s.min = step_down((double)(min_ns > 0 ? min_ns : 1));
    s.max = step_up((double)(max_ns > 0 ? max_ns : 1));
    if (s.max < s.min * 5) { /* a flat curve stands in the middle of something */
        s.max = step_up(s.max * 2);
        s.min = s.min >= 2 ? step_down(s.min / 2) : 1;
    }
    double decades = log10(s.max / s.min);
    static const double leads[] = {1, 2, 5};
    for (double decade = pow(10, floor(log10(s.min) + 1e-9)); decade <= s.max * 1.001; decade *= 10)
        for (size_t i = 0; i < (decades > 5 ? 1U : 3U); i++) {
            double at = decade * leads[i];
            char label[SCALE_LABEL];
            if (at < s.min * 0.999 || at > s.max * 1.001)
                continue;
            label_latency(at, label);
            add(&s, at, i > 0 && decades > 2.2, label);
        }
    return s;
}

/* --- time ------------------------------------------------------------------------------------- */

static void label_time(uint64_t ns, uint64_t step_ns, char label[SCALE_LABEL])
{
    uint64_t seconds = ns / NS_PER_SEC;
    if (step_ns < NS_PER_SEC && ns < 60 * NS_PER_SEC)
        snprintf(label, SCALE_LABEL, "%.6g" SPACE "s", (double)ns / 1e9);
    else if (seconds < 60)
        snprintf(label, SCALE_LABEL, "%" PRIu64 SPACE "s", seconds);
    else if (seconds < 3600)
        snprintf(label, SCALE_LABEL, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
    else
        snprintf(label, SCALE_LABEL, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
                 seconds / 60 % 60, seconds % 60);
}

static uint64_t step_of_time(uint64_t span_ns)
{
    static const uint64_t seconds[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                       600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    const uint64_t most = 8; /* steps */
    for (uint64_t step = 1; step < NS_PER_SEC; step *= 10)
        for (size_t i = 0; i < 3; i++)
            if (span_ns <= step * (i == 2 ? 5 : i + 1) * most)
                return step * (i == 2 ? 5 : i + 1);
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++)
        if (span_ns / NS_PER_SEC <= seconds[i] * most)
            return seconds[i] * NS_PER_SEC;
    uint64_t days = span_ns / NS_PER_SEC / 86400 / most + 1;
    return days * 86400 * NS_PER_SEC;
}

struct scale scale_time(uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns <= from_ns)
        to_ns = from_ns + NS_PER_SEC;
    struct scale s = {.min = (double)from_ns, .max = (double)to_ns};
    uint64_t step = step_of_time(to_ns - from_ns);
    for (uint64_t at = (from_ns + step - 1) / step * step; at <= to_ns; at += step) {
        char label[SCALE_LABEL];
        label_time(at, step, label);
        add(&s, (double)at, at / step % 2 == 1, label);
    }
    return s;
}

/* --- counts and percentiles ------------------------------------------------------------------- */

static void label_count(double v, char label[SCALE_LABEL])
{
    if (v >= 1e6)
        snprintf(label, SCALE_LABEL, "%.6g" SPACE "M", v / 1e6);
    else if (v >= 1e4)
        snprintf(label, SCALE_LABEL, "%.6g" SPACE "k", v / 1e3);
    else
        snprintf(label, SCALE_LABEL, "%.6g", v);
}

struct scale scale_count(double max)
{
    struct scale s = {.max = 1};
    if (!isfinite(max) || max <= 0)
        max = 1;
    double step = step_up(max / 5);
    s.max = step * ceil(max / step - 1e-9);
    for (size_t i = 0; step * (double)i <= s.max * 1.001; i++) {
        char label[SCALE_LABEL];
        label_count(step * (double)i, label);
        add(&s, step * (double)i, i % 2 == 1, label);
    }
    return s;
}

struct scale scale_percentile(uint64_t n)
{
    struct scale s = {.max = log10(2 * (double)(n > 0 ? n : 1))};
    if (s.max < 1)
        s.max = 1;
    add(&s, 0, false, "0" SPACE "%");
    add(&s, log10(2), true, "50" SPACE "%");
    char label[SCALE_LABEL];
    for (int nines = 1; nines <= s.max; nines++) {
        snprintf(label, sizeof label, "%.*f" SPACE "%%", nines > 2 ? nines - 2 : 0,
                 100 - 100 * pow(10, -nines));
        add(&s, nines, nines > 2 && nines % 2 == 0 && s.max > 6, label);
    }
    return s;
}
