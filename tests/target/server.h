/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_SERVER_H
#define HAMMER_TARGET_SERVER_H

#include <sys/queue.h>

#include "common/err.h"
#include "tests/target/options.h"
#include "tests/target/reqlog.h"
#include "tests/target/response.h"
#include "tests/target/timers.h"

/*
 * The server: one thread, one epoll set, plain sockets. A pause or a freeze is a real stall of the
 * whole loop, as a garbage collection or a suspended machine would be.
 */

struct server;
struct conn;

/* What an epoll event leads to. */
struct source {
    void (*ready)(struct source *s, struct server *srv, uint32_t events);
    int fd;
};

struct server {
    const struct target_options *options;
    struct responses responses;
    struct reqlog log;
    struct timers timers;
    struct timer freeze, flush, lifetime;
    struct source listener, clock, signals;
    int epoll_fd;
    uint64_t clock_ns;   /* what the timer descriptor is set to */
    uint64_t first_ns;   /* first request read; 0 = none yet */
    uint64_t n_requests; /* completely read */
    uint64_t n_served;   /* handed to the socket */
    uint64_t n_conns;    /* accepted so far */
    bool accept_paused;  /* out of descriptors until a connection ends */
    bool stop;
    LIST_HEAD(, conn) conns;
};

/* Listens, writes the port file and opens the log; `options` must outlive the server. Blocks
 * SIGTERM and SIGINT in the calling thread. On error call server_fini as well. */
enum err server_init(struct server *srv, const struct target_options *options,
                     struct errmsg *msg) MUST_CHECK;
/* Until a signal, --requests or --lifetime ends it. */
enum err server_run(struct server *srv, struct errmsg *msg) MUST_CHECK;
/* Closes every connection and the log. ERR_SYSTEM = the log is not complete. */
enum err server_fini(struct server *srv) MUST_CHECK;

/* For conn.c. */
enum err server_watch(struct server *srv, struct source *s, uint32_t events) MUST_CHECK;
void server_rewatch(struct server *srv, struct source *s, uint32_t events);
/* A request is complete: counts it and starts the clock of the freeze. */
uint64_t server_count_request(struct server *srv, uint64_t now_ns);
void server_count_response(struct server *srv);
/* A descriptor is free again. */
void server_descriptor_freed(struct server *srv);

#endif
