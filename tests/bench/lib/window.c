/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/window.h"

#include <inttypes.h>

#include "common/clock.h"
#include "tests/bench/lib/self.h"

#define POLL_NS (2 * NS_PER_MS)

uint64_t window_cpu_ns(const clockid_t *clocks, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct timespec ts;
        if (clock_gettime(clocks[i], &ts) != 0)
            self_die("a process that is measured ended");
        sum += (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    }
    return sum;
}

static struct window_sample sample(const struct window *w)
{
    return (struct window_sample){.at_ns = clock_mono_ns(),
                                  .cpu_ns = window_cpu_ns(w->clocks, w->n_clocks),
                                  .other_ns = window_cpu_ns(w->others, w->n_others),
                                  .requests = w->requests(w->arg)};
}

uint64_t window_step(struct window *w, uint64_t now_ns)
{
    if (w->requests == NULL || w->state == WINDOW_DONE)
        return NS_NEVER;
    if (w->state == WINDOW_IDLE) {
        if (w->requests(w->arg) == 0)
            return now_ns + POLL_NS;
        w->from.at_ns = now_ns + w->settle_ns;
        w->state = WINDOW_SETTLING;
    }
    if (w->state == WINDOW_SETTLING) {
        if (now_ns < w->from.at_ns)
            return w->from.at_ns;
        w->from = sample(w);
        w->state = WINDOW_OPEN;
    }
    if (now_ns < w->from.at_ns + w->length_ns)
        return w->from.at_ns + w->length_ns;
    w->to = sample(w);
    w->state = WINDOW_DONE;
    return NS_NEVER;
}

void window_print(const struct window *w, FILE *out)
{
    const struct window_sample *a = &w->from, *b = &w->to;
    if (w->state != WINDOW_DONE)
        return;
    fprintf(out,
            " steady_seconds=%.6f steady_cpu=%.6f steady_other_cpu=%.6f steady_requests=%" PRIu64,
            (double)(b->at_ns - a->at_ns) / 1e9, (double)(b->cpu_ns - a->cpu_ns) / 1e9,
            (double)(b->other_ns - a->other_ns) / 1e9, b->requests - a->requests);
}
