/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_CLIENT_H
#define HAMMER_BENCH_CLIENT_H

#include <netinet/in.h>
#include <stdint.h>

#include "common/hist.h"
#include "common/option.h"
#include "common/units.h"
#include "tests/bench/lib/reader.h"

/* What the small load clients share: options, connections, one send and one recv a request,
 * the line of figures at the end. Single-threaded; whatever fails ends the process with 2. */

struct client_options {
    uint64_t duration_ns;
    struct rate rate;
    uint32_t connections;
    uint32_t cpu;
};

struct client_conn {
    int fd;
    uint64_t due_ns;
    uint64_t sent_ns;
    struct reader reader;
};

struct client {
    struct client_options o;
    struct sockaddr_in server;
    int epoll;
    struct client_conn *conns; /* o.connections of them, fd -1 until opened */
    char *buf;
    size_t request_len;
    char request[128];
    uint64_t sent, completed;
    uint64_t cpu_from_ns; /* CPU time when client_count_from was called */
    uint64_t from_ns;
    struct hist *corrected, *uncorrected;
};

/* Reads options and address, pins, prepares; needs_rate = --rate is an option, and needed. */
void client_init(struct client *c, bool needs_rate, int argc, char **argv);
void client_open(struct client *c, struct client_conn *conn);
void client_open_all(struct client *c);
/* CPU time and requests count from here. */
void client_count_from_now(struct client *c);
void client_send(struct client *c, struct client_conn *conn);
/* Number of responses completed by one recv. */
size_t client_receive(struct client *c, struct client_conn *conn);
/* Adds a response that arrived at now_ns to the histograms. */
void client_record(struct client *c, const struct client_conn *conn, uint64_t now_ns);
/* "requests=.. seconds=.. cpu_us=.." and, with a rate, the percentiles; frees everything. */
void client_finish(struct client *c);

#endif
