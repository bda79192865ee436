/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_HTTPD_H
#define HAMMER_TARGET_HTTPD_H

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

struct httpd;
struct httpd_conn;

/* What an epoll event leads to. */
struct source {
    void (*ready)(struct source *s, struct httpd *srv, uint32_t events);
    int fd;
};

struct httpd {
    const struct httpd_options *options;
    struct httpd_responses responses;
    struct httpd_reqlog log;
    struct httpd_timers timers;
    struct httpd_timer freeze, flush, lifetime;
    struct source listener, clock, signals;
    int epoll_fd;
    uint64_t clock_ns;   /* what the timer descriptor is set to */
    uint64_t first_ns;   /* first request read; 0 = none yet */
    uint64_t n_requests; /* completely read */
    uint64_t n_served;   /* handed to the socket */
    uint64_t n_conns;    /* accepted so far */
    bool accept_paused;  /* out of descriptors until a connection ends */
    bool stop;
    LIST_HEAD(, httpd_conn) conns;
};

/* Listens, writes the port file and opens the log; `options` must outlive the server. Blocks
 * SIGTERM and SIGINT in the calling thread. On error call httpd_fini as well. */
enum err httpd_init(struct httpd *srv, const struct httpd_options *options,
                    struct errmsg *msg) MUST_CHECK;
/* Until a signal, --requests or --lifetime ends it. */
enum err httpd_run(struct httpd *srv, struct errmsg *msg) MUST_CHECK;
/* Closes every connection and the log. ERR_SYSTEM = the log is not complete. */
enum err httpd_fini(struct httpd *srv) MUST_CHECK;

/* For conn.c. */
enum err httpd_watch(struct httpd *srv, struct source *s, uint32_t events) MUST_CHECK;
void httpd_rewatch(struct httpd *srv, struct source *s, uint32_t events);
/* A request is complete: counts it and starts the clock of the freeze. */
uint64_t httpd_count_request(struct httpd *srv, uint64_t now_ns);
void httpd_count_response(struct httpd *srv);
/* A descriptor is free again. */
void httpd_descriptor_freed(struct httpd *srv);

#endif
