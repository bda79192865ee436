/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_SERVER_MODEL_H
#define HAMMER_TESTS_SERVER_MODEL_H

#include <stdint.h>

/*
 * A server on a virtual clock, the one of tests/data/oracle/oracle.py: m identical servers with one
 * FIFO queue and a fixed work per request; pauses that stop all work when every K-th request is
 * about to be completed (that response waits too); absolute freezes; half of the round trip before
 * the server sees a request and half before the client sees the response. Events at the same
 * instant run in the oracle's order: completion, response, arrival. Times are ns of the caller's
 * own epoch.
 */

#define SERVER_FREEZES 8

struct server_model_config {
    uint32_t servers;
    uint64_t service_ns;
    uint64_t rtt_ns;
    uint64_t pause_ns;
    uint64_t pause_every; /* 0 = never */
    uint32_t n_freezes;
    struct {
        uint64_t at_ns, for_ns;
    } freezes[SERVER_FREEZES]; /* in order of at_ns */
};

struct server;
/* The client sees the response of `id`. May send the next request. */
typedef void (*server_model_response_fn)(void *arg, uint64_t id, uint64_t now_ns);

struct server *server_model_new(const struct server_model_config *cfg, server_model_response_fn fn,
                                void *arg);
void server_model_free(struct server *s);
/* The client sends a request. */
void server_model_request(struct server *s, uint64_t id, uint64_t now_ns);
/* Instant of the next event; UINT64_MAX = none. */
uint64_t server_model_next(const struct server *s);
/* Runs every event up to and at `now_ns`, those that they cause included. */
void server_model_run(struct server *s, uint64_t now_ns);

#endif
