/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/figures.h"
#include "controller/report/hgrm.h"
#include "controller/report/report.h"

/*
 * HdrHistogram's percentile distribution, to the byte what Java's outputPercentileDistribution
 * prints with 5 lines each halving of the distance to 100 % and a scale of 10^6, ns to ms. That
 * means its arithmetic too: levels are sums of doubles, and decimals are rounded half up from the
 * shortest ones that are the same double, where printf rounds what the double exactly is.
 */

#define TICKS       5
#define NS_PER_UNIT 1e6 /* shown in ms */
#define NUMBER      64

/* A non-negative number as Java's "%.*f" has it, somewhere in buf. */
static const char *fixed(double v, int decimals, char buf[NUMBER])
{
    char text[NUMBER], digits[NUMBER];
    for (int precision = 14; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, v);
        if (strtod(text, NULL) == v)
            break;
    }
    int point = atoi(strchr(text, 'e') + 1) + 1; /* digits before the decimal point */
    size_t n = 0;
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    int keep = point + decimals;
    if (keep < 0 || keep >= (int)n) {
        snprintf(buf, NUMBER, "%.*f", decimals, keep < 0 ? 0.0 : v);
        return buf;
    }
    /* All that counts as one whole number, which has at most 17 digits. */
    digits[n] = '\0';
    bool up = digits[keep] >= '5';
    digits[keep] = '\0';
    uint64_t whole = strtoull(digits, NULL, 10) + up;
    char *p = buf + NUMBER - 1;
    *p = '\0';
    for (int i = 0; i < decimals; i++, whole /= 10)
        *--p = (char)('0' + whole % 10);
    *--p = '.';
    do {
        *--p = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    return p;
}

/* The next level to print a line at, in percent. */
static double next_level(double level)
{
    double halvings = log(100.0 / (100.0 - level)) / log(2);
    double ticks = TICKS * pow(2, (double)((int64_t)halvings + 1));
    return level + 100.0 / ticks;
}

static void line(FILE *out, uint64_t value, double level, uint64_t count)
{
    char a[NUMBER], b[NUMBER];
    fprintf(out, "%12s %s %10" PRIu64, fixed((double)value / NS_PER_UNIT, HIST_DIGITS, a),
            fixed(level / 100.0, 12, b), count);
    if (level < 100)
        fprintf(out, " %14s", fixed(1 / (1 - level / 100.0), 2, a));
    fputc('\n', out);
}

static void lines(FILE *out, const struct hist *h)
{
    const struct hist_geometry *g = hist_geometry_of(h);
    uint64_t total = hist_count(h), so_far = 0;
    double level = 0;
    for (uint32_t i = 0; i < g->counts_len && so_far < total; i++) {
        uint64_t n = hist_count_at(h, i);
        so_far += n;
        while (n > 0 && 100.0 * (double)so_far / (double)total >= level) {
            line(out, hist_high(g, i), level, so_far);
            level = next_level(level);
            if (so_far == total)
                break;
        }
    }
    if (total > 0)
        line(out, hist_max_bucket(h), 100, total);
}

static void foot(FILE *out, const struct hist *h)
{
    const struct hist_geometry *g = hist_geometry_of(h);
    char a[NUMBER], b[NUMBER];
    uint32_t half = 1u << g->sub_half_magnitude;
    fprintf(out, "#[Mean    = %12s, StdDeviation   = %12s]\n",
            fixed(hist_mean(h) / NS_PER_UNIT, 3, a), fixed(hist_stddev(h) / NS_PER_UNIT, 3, b));
    fprintf(out, "#[Max     = %12s, Total count    = %12" PRIu64 "]\n",
            fixed((double)hist_max_bucket(h) / NS_PER_UNIT, 3, a), hist_count(h));
    fprintf(out, "#[Buckets = %12" PRIu32 ", SubBuckets     = %12" PRIu32 "]\n",
            g->counts_len / half - 1, 2 * half);
}

enum err hgrm_write(FILE *out, const struct hist *h)
{
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    lines(out, h);
    foot(out, h);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

static enum err write_main(const struct result *r, const struct report_options *o, FILE *out)
{
    struct hist *h = figures_main_hist(r, r->total);
    (void)o;
    enum err e = hgrm_write(out, h);
    hist_free(h);
    return e;
}

static enum err write_uncorrected(const struct result *r, const struct report_options *o, FILE *out)
{
    struct hist *h = snapshot_hist(r->total, HIST_UNCORRECTED);
    (void)o;
    enum err e = hgrm_write(out, h);
    hist_free(h);
    return e;
}

const struct report_format report_hgrm = {.name = "hgrm",
                                          .suffix = ".hgrm",
                                          .text = "HdrHistogram's percentile distribution, for its "
                                                  "plotter: corrected",
                                          .write = write_main};
const struct report_format report_hgrm_uncorrected = {.name = "hgrm-uncorrected",
                                                      .text = "the same of the uncorrected clock",
                                                      .write = write_uncorrected};
