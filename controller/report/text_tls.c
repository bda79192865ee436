/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/text.h"

static void write_time(struct text_flow *f, const struct hist *h, double p, const char *name)
{
    char text[UNITS_TEXT];
    text_item(f, ", ", "%s %s", name, units_format_latency(figures_at(h, p), text));
}

void text_tls(FILE *out, const struct result *r, const struct counters *c)
{
    if (c->handshakes == 0 && c->handshake_errors == 0)
        return;
    struct hist *h = snapshot_hist(r->total, HIST_TLS);
    struct text_flow f = text_begin(out, "TLS handshakes");
    text_item(&f, "", "%" PRIu64 " (%" PRIu64 " resumed)", c->handshakes, c->resumed);
    if (c->handshake_errors > 0)
        text_item(&f, ", ", "failed %" PRIu64, c->handshake_errors);
    if (hist_count(h) > 0) {
        write_time(&f, h, 50, "p50");
        write_time(&f, h, 99, "p99");
    }
    for (size_t i = 0; i < r->total->n_suites; i++)
        text_item(&f, ", ", r->total->n_suites > 1 ? "%s: %" PRIu64 : "%s",
                  r->total->suites[i].text, r->total->suites[i].count);
    if (r->plan != NULL && r->plan->insecure)
        text_item(&f, ", ", "certificates not verified (-k)");
    text_end(&f);
    hist_free(h);
}
