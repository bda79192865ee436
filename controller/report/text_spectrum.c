/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/text.h"

/* HdrHistogram's spacing: this many rows for every halving of the distance to 100 %. */
#define TICKS_PER_HALF 5

static double next_percentile(double p)
{
    double halvings = floor(log2(100.0 / (100.0 - p))) + 1;
    return p + 100.0 / (exp2(halvings) * TICKS_PER_HALF);
}

/* `corrected` NULL = closed loop. */
static void spectrum_row(FILE *out, double p, const struct hist *corrected,
                         const struct hist *uncorrected)
{
    char text[UNITS_TEXT];
    uint64_t n = hist_count(uncorrected);
    fprintf(out, "    %-11.6f", p);
    if (corrected != NULL)
        fprintf(out, "%11s    ", units_format_latency(figures_at(corrected, p), text));
    fprintf(out, "%11s%15" PRIu64 "\n", units_format_latency(figures_at(uncorrected, p), text),
            n - hist_rank(p, n));
}

void text_spectrum(FILE *out, const struct result *r)
{
    bool closed = result_one_clock(r);
    struct hist *corrected = closed ? NULL : snapshot_hist(r->total, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(r->total, HIST_UNCORRECTED);
    uint64_t n = hist_count(uncorrected);
    fprintf(out, "  %-13s%11s", "Spectrum, %", closed ? "latency" : "corrected");
    fprintf(out, closed ? "%15s\n" : "%15s%15s\n", closed ? "slower" : "uncorrected", "slower");
    for (double p = 0; hist_rank(p, n) < n; p = next_percentile(p))
        spectrum_row(out, p, corrected, uncorrected);
    spectrum_row(out, 100, corrected, uncorrected);
    fputc('\n', out);
    hist_free(corrected);
    hist_free(uncorrected);
}
