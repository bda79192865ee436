/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CLIENT_H
#define HAMMER_AGENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/conn_tls.h"
#include "agent/client/reqset.h"
#include "agent/client/target.h"
#include "common/err.h"
#include "common/loop.h"

/*
 * Protocol-neutral client: the engine knows only this, a client never reads the schedule. One
 * client per worker, all calls on the worker's thread. Time is passed in wherever a decision
 * depends on it, so that client_null runs on a virtual clock.
 *
 * Contract: each submitted request completes EXACTLY once through env->done, also at stop; submit
 * needs idle > 0, never blocks, never refuses. A slot that becomes free is first reported by done
 * (while it does not count as idle yet), then by env->ready once it does. An idle slot that cannot
 * take a request any more is reported by env->lost. Nothing allocates after init.
 *
 * An idle slot has a connection, or is cold: then the connection is opened for the request, and
 * belongs to it. A request takes an idle connection to its own target, else a cold slot, else an
 * idle connection to another target, which is closed and opened to its own. Within each kind slots
 * serve in turn (FIFO).
 */

enum outcome {
    OUTCOME_OK,         /* complete response; status says which */
    OUTCOME_TLS,        /* TLS error */
    OUTCOME_READ,       /* EOF or reset before the response was complete */
    OUTCOME_WRITE,      /* the request could not be written whole */
    OUTCOME_PROTOCOL,   /* bytes against RFC 9112, header block over the limit */
    OUTCOME_TIMEOUT,    /* deadline, counted from sent_ns, passed */
    OUTCOME_UNFINISHED, /* in flight at stop */
    OUTCOME_CONNECT,    /* the connection that was opened for it failed */
    OUTCOMES
};

enum client_fault {    /* about connections, outside the ledger */
    FAULT_CONNECT,     /* an attempt failed: code = errno */
    FAULT_FD_LIMIT,    /* EMFILE, ENFILE: the generator's */
    FAULT_PORTS,       /* EADDRNOTAVAIL: the generator's */
    FAULT_MEMORY,      /* ENOBUFS, ENOMEM: the generator's */
    FAULT_EXTRA_BYTES, /* bytes nobody asked for: the connection is replaced. Text only, no counter
                        */
    FAULT_POLICY,      /* the target's guard forbids the address: the run must end. Text only */
    FAULT_TLS,         /* a handshake failed: code of tls_error.h */
    FAULT_REDIRECT,    /* one was not followed: enum redirect_error. Text only */
    FAULTS
};

enum redirect_error {
    REDIRECT_FINE,
    REDIRECT_ELSEWHERE, /* the plan has no such host */
    REDIRECT_MANY,      /* more in a row than client_rules.follow */
    REDIRECT_BAD,       /* no Location, or one that leads nowhere */
    REDIRECT_ERRORS
};

struct client_result {
    enum outcome outcome;
    int status;   /* HTTP status of a complete response, else 0 */
    int error;    /* with OUTCOME_OK: EXPECT_MET, or see expectation.h; errno, or enum h1_error for
                     OUTCOME_PROTOCOL, or a code of tls_error.h, 0 = end    of file / none */
    uint64_t tag; /* as submitted */
    uint64_t due_ns;    /* as submitted, monotonic */
    uint64_t sent_ns;   /* just before the first byte was handed to the kernel (last attempt), or
                           before   the connection was opened for it: no open one was idle */
    uint64_t done_ns;   /* last byte of the response read; or when it failed */
    uint64_t handed_ns; /* sent_ns, or after the connection was opened; 0 = it never was */
    /* With client_rules.phases, of a complete response; 0 = unknown. handed <= written <= first
     * byte
     * <= done, but a response may begin before its request was written whole. */
    uint64_t written_ns;    /* the last byte of the request was handed to the kernel */
    uint64_t first_byte_ns; /* the first byte of the response was read */
    uint64_t receive_ns; /* read - arrival in the kernel (SO_TIMESTAMPNS); UINT64_MAX = unknown */
    uint32_t attempts;   /* 1, or 2 after a retry on a fresh connection */
    uint64_t bytes;      /* of the response: what came of its head and body */
};

/* What happened on a connection, counted by the recorder. */
struct client_traffic {
    uint64_t bytes_in, bytes_out, connects, retries;
    uint64_t reused, head_bytes, body_bytes, redirects; /* see counters.h */
};

/* How connections are opened and used; zeroed = all are opened before the start and kept. */
struct client_rules {
    bool no_keepalive;                   /* a connection for each request, opened when it is due */
    uint32_t requests_per_connection;    /* then it is replaced; 0 = no limit */
    uint32_t max_connections;            /* opened when all others are busy; 0 = never more than
                                            client_env.connections */
    uint64_t connect_timeout_ns;         /* 0 = timeout_ns */
    uint64_t think_min_ns, think_max_ns; /* between a response and the connection's next request */
    uint64_t seed;                       /* of what is random */
    const char *expect_status;           /* as the option has it, NULL = any will do; borrowed */
    const char *expect_body;             /* the same */
    uint32_t follow;                     /* so many redirects in a row, to env.requests' origins */
    bool cookies;                        /* each slot keeps and sends them */
    bool debug;                          /* what is sent and received is shown, see h1_debug.h */
    bool proxy;                          /* http requests go to a proxy, with the whole URL */
    bool phases;                         /* results carry the instants of the phases */
};

struct client_env {
    struct loop *loop; /* NULL on a virtual clock */
    const struct targets *targets;
    const struct reqset *requests;
    struct client_rules rules;
    uint32_t connections;
    uint64_t timeout_ns;
    void *arg; /* first argument of the callbacks */
    void (*done)(void *arg, const struct client_result *r);
    void (*ready)(void *arg, uint64_t now_ns); /* idle just grew */
    void (*lost)(void *arg, uint64_t now_ns);  /* idle just shrank, and nothing was submitted */
    void (*fault)(void *arg, enum client_fault f, int code);
    void (*shaken)(void *arg, const struct conn_handshake *h); /* a handshake succeeded */
    /* Once, with the first complete response: how long its body is, its Server field ("" = none).
     */
    void (*first)(void *arg, uint64_t done_ns, uint64_t body_bytes, const char *server);
    /* With client_rules.debug, at the end of a request: what was sent and received, as text. */
    void (*debug)(void *arg, const char *text, size_t len);
    /* A connection to that address is open: one of client_traffic's connects. */
    void (*reached)(void *arg, const struct target_addr *to);
    /* With client_rules.phases: a TCP connection is established, so long after connect(). */
    void (*opened)(void *arg, uint64_t took_ns);
};

struct client_ops {
    const char *name;
    size_t state_size;
    /* Everything that may allocate. `self` is state_size zeroed bytes. */
    enum err (*init)(void *self, const struct client_env *env, struct errmsg *msg);
    /* Starts opening all connections that are to be open between requests. A failed one is tried
     * again until stop: after 100 ms, then twice as long each time, up to 1.6 s, and up to a
     * quarter more at random. So does a cold slot wait after its connection failed. */
    void (*open)(void *self, uint64_t now_ns);
    uint32_t (*idle)(const void *self);      /* slots that could take a request now */
    uint32_t (*connected)(const void *self); /* connections open, busy or idle */
    uint32_t (*attempted)(const void *self); /* of `connections`: whose first attempt has ended, or
                                                that make none before their first request */
    uint32_t (*in_flight)(const void *self);
    /* tag: global index, returned in the result. due_ns: monotonic. */
    void (*submit)(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns);
    /* Earliest instant at which expire has work (timeouts, reconnects); NS_NEVER = none. */
    uint64_t (*deadline)(const void *self);
    void (*expire)(void *self, uint64_t now_ns);
    /* Nothing more is sent, only what is in flight may complete: from now on no connection is
     * opened and no request repeated. May complete requests that were waiting for that. */
    void (*quiesce)(void *self, uint64_t now_ns);
    /* Adds what happened since the last call, and zeroes it. */
    void (*traffic)(void *self, struct client_traffic *into);
    /* Completes everything in flight as OUTCOME_UNFINISHED and closes all. No callback afterwards.
     */
    void (*stop)(void *self, uint64_t now_ns);
    void (*fini)(void *self);
};

const char *outcome_name(enum outcome o);
/* "read: connection reset by peer", "timeout", "protocol: header block over 65536 bytes",
 * "connect: connection refused". At most SNAPSHOT_ERROR_TEXT bytes. Not for the hot path. */
void outcome_text(enum outcome o, int error, char *buf, size_t cap);
void fault_text(enum client_fault f, int code, char *buf, size_t cap);

#endif
