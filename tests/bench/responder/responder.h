/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_RESPONDER_H
#define HAMMER_BENCH_RESPONDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/lib/counter.h"
#include "tests/bench/lib/stamps.h"

/*
 * The server of the benchmarks: one thread, one read and one write a request, the same response for
 * anything that ends in an empty line. It must cost less than whatever it measures. System calls
 * that fail for reasons of its own end the process.
 */

struct responder_options {
    struct sockaddr_in listen;
    bool shared; /* others may listen on the same port */
    uint64_t body_size;
    uint64_t slow_ns;         /* held back so long ... */
    uint32_t slow_ppm;        /* ... is this share of the responses, in turn; 0 = none */
    uint64_t freeze_at_ns;    /* from the first request; NS_NEVER = no freeze */
    uint64_t freeze_for_ns;   /* the whole server stands still */
    uint64_t freeze_every_ns; /* from begin to begin; 0 = once */
    uint64_t lifetime_ns;
    counter_cell *counter; /* gets the number of requests after each turn; NULL = none */
    uint64_t stamps_max;   /* 0 = no stamps */
    bool stamp_kernel;
    bool busy_poll;
};

struct responder;

/* Listens; options->listen gets the port. */
struct responder *responder_new(struct responder_options *options);
/* Until SIGTERM, SIGINT or the end of its lifetime. */
void responder_run(struct responder *r);
uint64_t responder_served(const struct responder *r);
uint64_t responder_connections(const struct responder *r);
const struct stamps *responder_stamps(const struct responder *r);
void responder_free(struct responder *r);

#endif
