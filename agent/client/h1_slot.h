/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_SLOT_H
#define HAMMER_AGENT_H1_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/client/client.h"
#include "agent/client/conn.h"
#include "agent/client/deadlines.h"
#include "agent/client/h1_response.h"
#include "agent/client/sampling.h"

/*
 * What the parts of client_h1 share, and nobody else includes. A slot is one place for a
 * connection; it carries at most one request. There may be tens of thousands: keep it small.
 *
 *   CLOSED -> QUEUED -> CONNECTING -> BACKOFF -> QUEUED ...
 *                         |    ^
 *                         v    |
 *                       IDLE <-> BUSY <-> RETRYING    (RETRYING: connecting with the request kept)
 *
 * SETTLING is a slot whose request's result is being reported: neither busy nor idle. QUEUED waits
 * for its turn to connect.
 */
enum slot_state {
    SLOT_CLOSED,
    SLOT_QUEUED,
    SLOT_CONNECTING,
    SLOT_BACKOFF,
    SLOT_IDLE,
    SLOT_BUSY,
    SLOT_RETRYING,
    SLOT_SETTLING,
    SLOT_STATES
};

struct client_h1;

#define H1_READ_BUFFER (256u << 10)

struct slot {
    struct client_h1 *client;
    const struct target *target;   /* whom the connection is for */
    const struct request *request; /* the one it carries, or carried last */
    struct conn conn;
    enum slot_state state;
    struct deadline deadline; /* of the request, the connect attempt or the backoff */
    TAILQ_ENTRY(slot) link;   /* among the idle or the queued ones */
    uint32_t addr;            /* index of the address in use */
    uint32_t walked;          /* addresses that failed in a row */
    uint32_t served;          /* responses completed on this connection, saturating is not needed */
    uint32_t barren;          /* connections in a row that were lost without a single response */
    bool attempted;           /* the first attempt has ended, or is known to be of no use */
    /* The request. */
    struct h1_response response;
    uint64_t tag, due_ns, sent_ns;
    size_t written;
    uint32_t attempts;
    bool answered;   /* a byte of the response has come */
    int write_error; /* errno of a failed send, handled on the next turn */
    int lost_error;  /* errno that caused the retry */
};

TAILQ_HEAD(slot_list, slot);

struct client_h1 {
    struct client_env env;
    struct slot *slots;
    struct slot_list idle, queued;
    struct deadlines timeouts; /* requests and connect attempts */
    struct deadlines backoffs;
    uint32_t n_idle, n_connected, n_connecting, n_attempted, n_in_flight;
    struct client_traffic traffic;
    struct sampling sampling;     /* which responses get a kernel stamp */
    struct h1_known known[2];     /* the second of HEAD */
    struct conn_tls *tls;         /* one a slot, or NULL */
    struct tls_session *sessions; /* one a target */
    bool reached;                 /* some attempt to connect has succeeded */
    bool pulling;                 /* inside h1_connect_queued */
    bool quiet;                   /* nothing more is opened or repeated */
    bool stopped;
    char *buffer;  /* shared by all slots */
    char *indexed; /* own copy of the only request in test mode, else NULL */
};

/* Whether a slot in this state carries a request that was sent. */
bool slot_in_flight(const struct slot *s);
/* Aborts on a move that the picture above does not have. */
void slot_move(struct slot *s, enum slot_state to);
/* Completes r from the slot, and reports it; the slot is SETTLING. */
void slot_report(struct slot *s, struct client_result *r);

/* The connection is idle, or there for a request that is to be repeated. */
void slot_send(struct slot *s, uint64_t now_ns);
/* Its connection's, for conn_init. */
void slot_event(void *arg, enum conn_event ev);
/* The request has failed, and the connection is of no further use. */
void slot_fail(struct slot *s, enum outcome outcome, int error, uint64_t now_ns);

/* Connects at once, in the place of a connection that was lost or used up. */
void slot_connect(struct slot *s, uint64_t now_ns);
/* The end of that, on CONN_WRITABLE. */
void slot_opened(struct slot *s);
/* An attempt took too long. */
void slot_connect_timed_out(struct slot *s, uint64_t now_ns);
/* Waits a little before it is queued. */
void slot_back_off(struct slot *s, uint64_t now_ns);
/* Connects when its turn comes. */
void slot_queue(struct slot *s);
/* Starts as many queued slots as may be. */
void h1_connect_queued(struct client_h1 *c, uint64_t now_ns);

#endif
