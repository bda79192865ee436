/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_SPECTRUM_H
#define HAMMER_CONTROLLER_HTML_SPECTRUM_H

#include "controller/report/html/html_page.h"

/* PURE: latencies by percentile, at even steps of log10(1 / (1 - p)). */

#define SPECTRUM_STATIC 320
#define SPECTRUM_LIVE   480

struct spectrum {
    size_t n;
    double *x;                             /* log10(1 / (1 - p)) */
    double *corrected, *uncorrected, *all; /* ns; NAN = not known */
    double supported; /* x up to which the main clock's sample bounds the percentile */
};

struct spectrum spectrum_of(const struct html_page *p, size_t n);
void spectrum_clear(struct spectrum *s);

#endif
