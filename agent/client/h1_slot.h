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
#include "agent/client/timer_heap.h"

/*
 * What the parts of client_h1 share, and nobody else includes. A slot is one place for a
 * connection; it carries at most one request. There may be tens of thousands: keep it small.
 *
 *            without a connection    opening one     with one
 *
 *            CLOSED ---> QUEUED ---> CONNECTING ---> IDLE <-------------+ <--+
 *              |           ^            |             |                 |    |
 *   nobody's   |           +- BACKOFF <-+             | submit          |    | think time over
 *   request    |                 |                    v                 |    |
 *              v                 v                   BUSY <--> RETRYING |  THINKING
 *             COLD <-------------+                   ^  |               |    ^
 *              |                                     |  v               |    |
 *              +-- submit --> OPENING <------------->+ SETTLING --------+----+
 *                               |  ^                    ^   to COLD, CONNECTING, BACKOFF
 *                               v  +-- IDLE of another  |   without one that is kept
 *                             UNOPENED   target ------->+
 *
 * COLD counts as idle: the connection is opened for the request, and is part of it. Its slots are
 * those beyond client_env.connections, and all of them when no connection is kept. OPENING and
 * RETRYING are in flight: connecting with the request kept. UNOPENED could not even begin to: that
 * is told on the next turn, because submit completes nothing. SETTLING is a slot whose request's
 * result is being reported: neither busy nor idle. QUEUED waits for its turn to connect. BACKOFF
 * waits after a failure, or for the end of a think time. A redirect leads from BUSY to BUSY, or to
 * OPENING where it needs another connection. An idle or thinking connection that is
 * lost leads to CONNECTING, BACKOFF or COLD. Everything ends in CLOSED.
 */
enum slot_state {
    SLOT_CLOSED,
    SLOT_COLD,
    SLOT_QUEUED,
    SLOT_CONNECTING,
    SLOT_BACKOFF,
    SLOT_IDLE,
    SLOT_OPENING,
    SLOT_UNOPENED,
    SLOT_BUSY,
    SLOT_RETRYING,
    SLOT_SETTLING,
    SLOT_THINKING,
    SLOT_STATES
};

/* What slots are counted as. */
enum slot_count {
    SLOTS_IDLE,
    SLOTS_CONNECTED,
    SLOTS_CONNECTING,
    SLOTS_IN_FLIGHT,
    SLOT_COUNTS
};

struct client_h1;
struct h1_watching;

#define H1_READ_BUFFER (256u << 10)

struct slot {
    struct client_h1 *client;
    const struct target *target;   /* whom the connection is for */
    uint32_t aim;                  /* its number */
    const struct request *request; /* the one it carries, or carried last */
    struct conn conn;
    enum slot_state state;
    TAILQ_ENTRY(slot) link;     /* in the list of its state */
    struct deadline deadline;   /* of the request */
    struct deadline connecting; /* of the attempt to connect */
    struct heap_timer pause;    /* BACKOFF, THINKING; BUSY while holding */
    uint64_t think_until_ns;    /* no request before */
    uint64_t idle_ns;           /* IDLE: since then */
    uint32_t addr;              /* index of the address in use */
    uint32_t walked;            /* addresses that failed in a row */
    uint32_t failures;          /* attempts to connect that failed in a row */
    uint32_t served;            /* responses completed on this connection */
    uint32_t barren;            /* connections in a row that were lost without a single response */
    uint32_t thought;           /* think times so far */
    bool attempted;             /* the first attempt has ended, or is known to be of no use */
    /* The request. */
    struct h1_response response;
    uint64_t tag, due_ns, sent_ns;
    uint64_t handed_ns, written_ns, first_byte_ns; /* the last two with phases */
    const struct target_addr *to; /* where it was dialled last; as long as the target */
    uint64_t connect_ns;          /* with phases, until TCP is connected: since when; else 0 */
    size_t written, len;          /* of its bytes */
    uint32_t attempts;
    bool edited;     /* what is sent is not as it was rendered: h1_watch.h */
    bool holding;    /* the body waits for a 100, or for the end of `pause` */
    bool answered;   /* a byte of the response has come */
    int write_error; /* errno of a failed send, handled on the next turn */
    int lost_error;  /* errno that caused the retry; UNOPENED: why */
};

TAILQ_HEAD(slot_list, slot);

struct client_h1 {
    struct client_env env;
    uint32_t n_slots; /* env.connections, or rules.max_connections if that is more */
    struct slot *slots;
    struct slot_list *idle;              /* by target */
    struct slot_list lists[SLOT_STATES]; /* COLD, QUEUED, UNOPENED */
    struct deadlines timeouts;           /* of requests */
    struct deadlines connects;           /* of attempts to connect */
    struct timer_heap pauses;
    uint32_t slots_now[SLOT_COUNTS];
    uint32_t n_attempted;
    uint32_t serve_max; /* responses on one connection; UINT32_MAX = no limit */
    uint32_t *turns;    /* by target: connections aimed at it so far */
    bool *reached;      /* by target: some attempt to connect has succeeded */
    struct client_traffic traffic;
    struct sampling sampling;     /* which responses get a kernel stamp */
    struct h1_known known[2];     /* the second of HEAD */
    struct conn_tls *tls;         /* one a slot, or NULL */
    struct tls_session *sessions; /* one a target */
    struct h1_watching *watch;    /* h1_watch.h */
    bool watching;                /* responses are looked at */
    bool first_told;              /* so is the first of them */
    bool impatient;               /* connecting has a limit of its own */
    bool pulling;                 /* inside h1_connect_queued */
    bool quiet;                   /* nothing more is opened or repeated */
    bool stopped;
    char *buffer;  /* shared by all slots, H1_READ_BUFFER bytes */
    char *scratch; /* the same, for what is rendered */
};

/* ---- h1_slot.c: states ---- */

/* Whether a slot in this state carries a request that was sent. */
bool slot_in_flight(const struct slot *s);
/* Aborts on a move that the picture above does not have. */
void slot_move(struct slot *s, enum slot_state to);
/* The body is held back no more. Before a slot that holds it leaves BUSY. */
void slot_let_body_go(struct slot *s);
/* Completes r from the slot, and reports it; the slot is SETTLING. */
void slot_report(struct slot *s, struct client_result *r);

/* ---- h1_pool.c: which slot for which request ---- */

/* Connections of the slot, which has none, go to that target from now on. */
void slot_aim(struct slot *s, uint32_t target);
/* The slot for a request to a target to which no connection is idle. NULL = none is idle at all. */
struct slot *h1_pick_other(struct client_h1 *c);
/* It has no connection between requests. */
bool slot_is_cold(const struct slot *s);
/* The slot has a connection and no request: idle now, or after its think time. */
void slot_rest(struct slot *s, uint64_t now_ns);
/* The slot has neither: cold, or a new connection at once. */
void slot_replace(struct slot *s, uint64_t now_ns);
/* The slot has neither, and waits a little, the longer the more attempts have failed. */
void slot_back_off(struct slot *s, uint64_t now_ns);
/* The wait is over. */
void slot_resume(struct slot *s, uint64_t now_ns);
/* A request has ended: its user thinks, with rules.think_max_ns. */
void slot_think(struct slot *s, uint64_t now_ns);

/* ---- h1_exchange.c: a request on its connection ---- */

/* From now on the request is under way: its stamp and its timeout. */
void slot_begin(struct slot *s, uint64_t now_ns);
/* The body that was held back is sent: the server has asked for it, or said nothing for too long.
 */
void slot_go_on(struct slot *s);
/* The same, on a connection that is there. */
void slot_start(struct slot *s, uint64_t now_ns);
/* The connection that it began with opening is there. */
void slot_send(struct slot *s, uint64_t now_ns);
/* Its connection's, for conn_init. */
void slot_event(void *arg, enum conn_event ev);
/* The request has failed, and the connection is of no further use. */
void slot_fail(struct slot *s, enum outcome outcome, int error, uint64_t now_ns);

/* ---- h1_connect.c: connections ---- */

/* Connects at once: for the request it has, or in the place of a connection that is gone. */
void slot_connect(struct slot *s, uint64_t now_ns);
/* The end of that, on CONN_WRITABLE. */
void slot_opened(struct slot *s);
/* An attempt took too long. */
void slot_connect_timed_out(struct slot *s, uint64_t now_ns);
/* UNOPENED: tells. */
void slot_unopened(struct slot *s, uint64_t now_ns);
/* Its first attempt has ended. */
void slot_attempted(struct slot *s);
/* The next connection goes to another address; false when all have been tried in a row, or when the
 * error is not the address's. */
bool slot_next_address(struct slot *s, int error);
/* Starts as many queued slots as may be. */
void h1_connect_queued(struct client_h1 *c, uint64_t now_ns);

#endif
