/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_WINDOW_H
#define HAMMER_BENCH_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* The steady state of a run: CPU time and requests between two instants counted from the first
 * request, so that neither starting up nor summing up counts. Step it whenever it asks to be. */

enum window_state {
    WINDOW_IDLE,
    WINDOW_SETTLING,
    WINDOW_OPEN,
    WINDOW_DONE
};

struct window_sample {
    uint64_t at_ns, cpu_ns, other_ns, requests;
};

struct window {
    enum window_state state;
    uint64_t (*requests)(void *arg); /* served so far; NULL = no window is wanted */
    void *arg;
    uint64_t settle_ns, length_ns;
    const clockid_t *clocks; /* of the generator's processes */
    size_t n_clocks;
    const clockid_t *others; /* of the server's */
    size_t n_others;
    struct window_sample from, to;
};

/* Sum of the processes' CPU time, ns; exits when one has ended. */
uint64_t window_cpu_ns(const clockid_t *clocks, size_t n);
/* Does what is due; returns when to be called again, NS_NEVER = not. */
uint64_t window_step(struct window *w, uint64_t now_ns);
/* " steady_seconds=.. steady_cpu=.. steady_other_cpu=.. steady_requests=..", nothing unless done.
 */
void window_print(const struct window *w, FILE *out);

#endif
