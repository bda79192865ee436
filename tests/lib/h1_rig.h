/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_H1_RIG_H
#define HAMMER_TESTS_H1_RIG_H

#include "agent/client/client.h"
#include "agent/client/reqset.h"
#include "agent/client/target.h"

/*
 * Drives client_h1 without the engine: submits requests as connections become idle, keeps every
 * result, checks the contract of client.h on the way (exactly one result per request, in done the
 * slot is not idle yet, stamps in order). Every wait has a limit and fails the test when it passes.
 */

#define RIG_RESULTS_MAX 128
#define RIG_TARGETS_MAX 4
#define RIG_LIMIT_MS    10000 /* four times that under a sanitizer */

struct h1_rig_config {
    uint32_t connections; /* 0 = 1 */
    uint64_t timeout_ms;  /* 0 = longer than any wait here */
    struct request request;
    struct target target;
    const struct tls_context *tls; /* NULL = in the clear */
    struct client_rules rules;
    /* With others, request i of the run goes to target i modulo 1 + n_others; the caller's. */
    const struct target *others;
    size_t n_others;
    struct url_parts *origins; /* one a target, where the client must know them; the caller's */
};

struct h1_rig {
    struct loop *loop;
    struct loop_timer *timer;
    struct client_env env;
    struct request request;
    struct request aimed[RIG_TARGETS_MAX]; /* the same bytes, for each target */
    struct target target;
    const struct target *items[RIG_TARGETS_MAX];
    struct targets targets;
    struct reqset requests;
    const struct client_ops *ops;
    void *client;
    bool started; /* callbacks are allowed */
    uint64_t submitted, completed, readies;
    uint64_t outcomes[OUTCOMES];
    uint64_t faults[FAULTS];
    int fault_code;             /* of the last fault */
    uint64_t opened, opened_ns; /* connections, with phases; how long the last one took */
    uint64_t handshakes, resumed;
    struct conn_handshake handshake; /* the last one */
    struct client_traffic traffic;
    struct client_result results[RIG_RESULTS_MAX]; /* by tag, for the first tags */
    struct client_result last;
    uint64_t firsts; /* "first" was told so often: with what */
    uint64_t document_bytes;
    char server[64];
};

/* Loopback target; several ports give several addresses. */
struct target h1_rig_target(const uint16_t *ports, size_t n);
/* A request with `body` bytes of body. */
struct request h1_rig_request(const char *method, const char *path, size_t body);

/* Everything but opening the connections. */
void h1_rig_init(struct h1_rig *r, const struct h1_rig_config *cfg);
/* h1_rig_init, then ops->open. */
void h1_rig_open(struct h1_rig *r, const struct h1_rig_config *cfg);
void h1_rig_close(struct h1_rig *r);

/* One turn: deadlines, socket events (waits at most ms). */
void h1_rig_turn(struct h1_rig *r, uint64_t ms);
/* The next deadline comes, whatever the clock says. */
void h1_rig_expire(struct h1_rig *r);
/* Turns until *value >= at_least. */
void h1_rig_wait(struct h1_rig *r, const uint64_t *value, uint64_t at_least);
void h1_rig_wait_idle(struct h1_rig *r, uint32_t idle);
/* Submits the next request; one must be idle. */
void h1_rig_submit(struct h1_rig *r);
/* Sends n more requests, each as soon as a connection is idle, and waits for all results. */
void h1_rig_run(struct h1_rig *r, uint64_t n);

#endif
