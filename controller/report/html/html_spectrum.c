/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_spectrum.h"

#include <math.h>

#include "common/mem.h"
#include "controller/report/html/html_scale.h"

static double at(const struct hist *h, double percentile)
{
    return hist_count(h) > 0 ? (double)figures_at(h, percentile) : NAN;
}

static double all_due_at(const struct html_page *p, double percentile)
{
    uint64_t value;
    if (!p->with_all || !result_all_due(p->r->total, p->corrected, percentile, &value))
        return NAN;
    return (double)(value < p->due.max ? value : p->due.max);
}

/* result_supports: n >= ln 0.05 / ln p. */
static double supported_up_to(uint64_t n)
{
    return n > 0 ? -log10(-expm1(log(0.05) / (double)n)) : 0;
}

struct spectrum spectrum_of(const struct html_page *p, size_t n)
{
    struct spectrum s = {.n = n, .supported = supported_up_to(p->due.count)};
    struct scale axis = scale_percentile(p->with_all ? p->all.count : p->due.count);
    double **columns[] = {&s.x, &s.corrected, &s.uncorrected, &s.all};
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
        *columns[k] = mem_calloc(n, sizeof **columns[k]);
    for (size_t i = 0; i < n; i++) {
        s.x[i] = axis.max * (double)i / (double)(n - 1);
        double percentile = -100 * expm1(-s.x[i] * log(10));
        s.corrected[i] = at(p->corrected, percentile);
        s.uncorrected[i] = at(p->uncorrected, percentile);
        s.all[i] = all_due_at(p, percentile);
    }
    return s;
}

void spectrum_clear(struct spectrum *s)
{
    mem_free(s->x);
    mem_free(s->corrected);
    mem_free(s->uncorrected);
    mem_free(s->all);
    *s = (struct spectrum){0};
}
