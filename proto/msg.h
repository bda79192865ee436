/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_MSG_H
#define HAMMER_PROTO_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

/*
 * HCP/1, the messages between controller (C) and agent (A): one frame = msgpack [type, {key:
 * value}]. docs/protocol.md has the table with keys. Numbers are never reused; unknown types are
 * ignored by the receiver; unknown keys are skipped; anything incompatible raises MSG_VERSION.
 * Every command is idempotent: it may arrive twice and is answered twice with the same answer.
 */

#define MSG_VERSION_MIN 1
#define MSG_VERSION_MAX 1
#define MSG_FRAME_MAX   (8u << 20)
#define MSG_BLOB_MAX    (MSG_FRAME_MAX - 4096) /* leaves room for the other fields */
#define MSG_ID_LEN      16

enum msg_type {
    MSG_HELLO = 1,       /* C>A  first frame of a connection: who asks, which versions */
    MSG_WELCOME = 2,     /* A>C  agent's name, epoch, cores: the connection is up */
    MSG_REFUSE = 3,      /* A>C  no, and why; then the agent closes */
    MSG_PROBE = 4,       /* C>A  clock probe: t1 */
    MSG_PROBE_REPLY = 5, /* A>C  t1, t2, t3 */
    MSG_PREPARE = 6,     /* C>A  plan and part: resolve, open connections */
    MSG_PREPARED = 7,    /* A>C  how many connections are open */
    MSG_ERROR = 8,       /* A>C  the command could not be done, and why */
    MSG_ARM = 9,         /* C>A  start at this instant of your own monotonic clock */
    MSG_ARMED = 10,      /* A>C  accepted */
    MSG_STARTED = 11,    /* A>C  true start */
    MSG_PING = 12,       /* C>A  keep-alive, renews the lease, carries the ack */
    MSG_PONG = 13,       /* A>C  state, last sequence */
    MSG_SNAPSHOT = 14,   /* A>C  one interval's deltas */
    MSG_ACK = 15,        /* C>A  cumulative; resend = 1 asks for everything after ack_seq again */
    MSG_STOP = 16,       /* C>A  send nothing more; in-flight requests get drain_ns */
    MSG_FINAL = 17,      /* A>C  cumulative snapshot, last sequence, why it ended */
    MSG_BYE = 18,        /* C>A  the agent is free again */
    MSG_QUERY = 19,      /* C>A  tell about yourself; in place of HELLO: takes nothing */
    MSG_INFO = 20,       /* A>C  what the agent is, who holds it, what it reaches */
    MSG_HALT = 21,       /* C>A  whoever holds the agent: end the run; answered by INFO */
    MSG_RESHARE = 22,    /* C>A  from this index on, own another part of the schedule */
    MSG_RESHARED = 23,   /* A>C  done, or what is not taken over and why */
    MSG_REQUESTS = 24,   /* A>C  single requests, where the plan asks for them; never sent again */
    MSG_TYPE_MAX = 24
};

enum refuse_code {
    REFUSE_BUSY = 1,    /* another controller holds the agent */
    REFUSE_VERSION = 2, /* no common protocol version */
    REFUSE_POLICY = 3,  /* the agent's policy forbids it */
    REFUSE_PLAN = 4,    /* the plan cannot be done here (address, descriptors, ...) */
    REFUSE_LATE = 5,    /* the start instant is already past */
    REFUSE_STATE = 6    /* not in this state */
};

/* States an agent reports in WELCOME and PONG. */
enum agent_state {
    AGENT_IDLE,      /* nobody holds it */
    AGENT_HELD,      /* a controller holds it, no plan yet */
    AGENT_PREPARING, /* resolving, opening connections */
    AGENT_PREPARED,  /* ready to be armed */
    AGENT_ARMED,     /* start instant known */
    AGENT_RUNNING,   /* sending */
    AGENT_DRAINING,  /* nothing more is sent, answers are awaited */
    AGENT_ENDED,     /* FINAL is out; waits for BYE */
    AGENT_STATES
};

/* What INFO says of the target that QUERY named. */
enum info_target {
    INFO_TARGET_NONE,        /* none was named */
    INFO_TARGET_REACHED,     /* at least one address took a connection */
    INFO_TARGET_REFUSED,     /* this agent's policy forbids it; nothing was connected */
    INFO_TARGET_UNRESOLVED,  /* no address, or no answer in time */
    INFO_TARGET_UNREACHABLE, /* no address took a connection */
    INFO_TARGET_BUSY,        /* too many lookups are under way */
    INFO_TARGETS
};

/* What an agent can do that its version does not say: bits of msg_welcome.abilities. */
#define ABILITY_REQUESTS 1u /* it knows a plan that asks for REQUESTS */

enum end_reason {
    END_FINISHED = 1, /* the schedule is done */
    END_STOPPED = 2,  /* STOP, or somebody's HALT: all of the run is meant */
    END_LEASE = 3,    /* the owner fell silent or went away */
    END_ERROR = 4     /* this agent could not go on */
};

struct msg_hello {
    uint32_t version_min, version_max;
    char build[32];
    char controller[96]; /* "user@host:pid", told to others who find the agent busy */
    uint8_t owner[MSG_ID_LEN];
    uint64_t ack_seq;
    uint64_t lease_ms;
    uint32_t force; /* 1: take an orphaned agent away from its owner, whose results are lost */
};

struct msg_welcome {
    uint32_t version;
    char build[32];
    char agent[64];
    uint8_t epoch[MSG_ID_LEN]; /* random per agent start */
    char boot_id[64];          /* boot id + time namespace: equal = same clock, offset exactly 0 */
    uint32_t state;            /* enum agent_state */
    uint32_t cores;
    uint64_t fd_limit;
    uint64_t lease_ms;
    uint64_t tested_rate; /* req/s its self-test has shown to be sent on time; 0 = unknown */
    uint32_t insecure;    /* 1: it listens where anybody who connects commands the load */
    char policy[192];     /* what it may do, one line */
    uint32_t ports;       /* local ports for outgoing connections; 0 = unknown */
    char run[2 * MSG_ID_LEN + 1]; /* hex; "" = no run. The rest belongs to it */
    uint64_t last_seq;            /* of the snapshots made so far */
    uint64_t at_ns, started_ns;   /* agent's clock; 0 = not armed, not started */
    uint32_t abilities;           /* ABILITY_ bits */
};

struct msg_refuse {
    uint32_t code; /* enum refuse_code */
    char text[256];
    char holder[96];
    uint64_t held_ms;
    uint64_t lease_left_ms;
    uint32_t version_min, version_max;
    char build[32];
    char run[2 * MSG_ID_LEN + 1]; /* BUSY: the holder's; "" = none */
    uint32_t orphan;              /* BUSY, 1: its lease is over, the results are kept for it */
};

struct msg_probe {
    uint64_t t1_ns; /* sender's clock at send */
    uint32_t probe; /* number of the probe, echoed */
};

struct msg_probe_reply {
    uint64_t t1_ns, t2_ns, t3_ns; /* t2, t3: agent's clock at receive and at send */
    uint32_t probe;
};

struct msg_prepare {
    uint64_t command; /* id, echoed by the answer */
    uint8_t run[MSG_ID_LEN];
    struct wire_blob plan; /* plan_encode */
    uint32_t total, first, weight, connections, threads;
    uint32_t max_connections; /* 0 = no more than connections */
};

struct msg_prepared {
    uint64_t command;
    uint32_t connections; /* open now */
    uint32_t threads;
    char address[96];  /* where they go, "127.0.0.1:8080" */
    char problem[192]; /* why some are not open; empty = none */
};

struct msg_error {
    uint64_t command; /* 0 = not an answer */
    uint32_t code;    /* enum refuse_code */
    char text[256];
};

struct msg_arm {
    uint64_t command;
    uint64_t at_ns; /* agent's CLOCK_MONOTONIC */
};

struct msg_armed {
    uint64_t command;
};

struct msg_started {
    uint64_t at_ns;     /* what was asked for */
    uint64_t actual_ns; /* when the last worker was awake and sending, agent's clock */
};

struct msg_ping {
    uint64_t t1_ns;
    uint64_t ack_seq;
};

struct msg_pong {
    uint64_t t1_ns, t2_ns, t3_ns;
    uint32_t state; /* enum agent_state */
    uint64_t last_seq;
    uint64_t started_ns; /* 0 = not started */
};

struct msg_snapshot {
    uint64_t seq; /* 1.. per run, no gaps */
    struct wire_blob data;
};

struct msg_ack {
    uint64_t ack_seq;
    uint32_t resend; /* 1: send everything after ack_seq again */
};

struct msg_stop {
    uint64_t command;
    uint64_t drain_ns;
    char reason[64];
};

struct msg_final {
    uint64_t last_seq;
    uint32_t reason; /* enum end_reason */
    uint64_t started_ns;
    uint64_t ended_ns;
    char text[192]; /* END_ERROR: what happened */
    struct wire_blob data;
    uint64_t rows, rows_dropped; /* REQUESTS: of all the run; 0 = the plan wants none */
};

struct msg_bye {
    uint32_t reserved;
};

struct msg_query {
    uint32_t version_min, version_max;
    char build[32];
    char controller[96]; /* who asks, for the agent's log */
    char scheme[8];      /* of the target: "http" */
    char target[272];    /* "HOST:PORT", "[IPV6]:PORT"; "" = do not look for any */
};

struct msg_info {
    uint32_t version_min, version_max;
    char build[32];
    char agent[64];
    uint8_t epoch[MSG_ID_LEN];
    char boot_id[64];
    uint32_t state;   /* enum agent_state */
    char holder[96];  /* "" = nobody */
    uint64_t held_ms; /* 0 without a holder, as the next two */
    uint64_t lease_left_ms;
    char run[2 * MSG_ID_LEN + 1]; /* hex; "" = no run */
    uint32_t cores;
    uint64_t fd_limit;
    uint64_t fds_used; /* at least so many descriptors are open now */
    uint32_t ports;
    uint64_t tested_rate;
    uint32_t insecure;
    char policy[192];
    uint32_t tls;        /* 1: its control link is encrypted and both ends are certified */
    uint32_t target;     /* enum info_target */
    char addresses[512]; /* that the target has, "127.0.0.1:80 [::1]:80"; ends in "..." when cut */
    uint64_t connect_us; /* slowest of the connections that were made */
    /* Why not reached; with REACHED: the first address that was not; after HALT: why it ended
     * nothing. */
    char problem[256];
    uint32_t n_addresses; /* of the target */
    uint32_t orphan;      /* 1: the holder's lease is over, the results are kept for it */
};

struct msg_halt {
    char run[2 * MSG_ID_LEN + 1]; /* hex, also the first digits of it; "" = whichever there is */
    char controller[96];          /* who says so */
    char reason[64];
};

struct msg_reshare {
    uint64_t command;
    uint64_t from_index; /* global */
    uint32_t total, first, weight;
};

struct msg_reshared {
    uint64_t command;
    char problem[192]; /* "" = all of it is taken over */
};

/* Rows that were sent before and those that were dropped, for there was no room, tell what is
 * missing. */
struct msg_requests {
    uint64_t first; /* rows of this run in REQUESTS before */
    uint64_t dropped;
    uint32_t n;            /* rows in data, >= 1 */
    struct wire_blob data; /* dump.h */
};

struct msg {
    enum msg_type type;
    union {
        struct msg_hello hello;
        struct msg_welcome welcome;
        struct msg_refuse refuse;
        struct msg_probe probe;
        struct msg_probe_reply probe_reply;
        struct msg_prepare prepare;
        struct msg_prepared prepared;
        struct msg_error error;
        struct msg_arm arm;
        struct msg_armed armed;
        struct msg_started started;
        struct msg_ping ping;
        struct msg_pong pong;
        struct msg_snapshot snapshot;
        struct msg_ack ack;
        struct msg_stop stop;
        struct msg_final final;
        struct msg_bye bye;
        struct msg_query query;
        struct msg_info info;
        struct msg_halt halt;
        struct msg_reshare reshare;
        struct msg_reshared reshared;
        struct msg_requests requests;
    };
};

/* One frame; *buf is the caller's (mem_free). Blobs are copied into it. */
enum err msg_encode(const struct msg *m, uint8_t **buf, size_t *len) MUST_CHECK;
/* Blobs of *m point into `frame`. ERR_NOT_FOUND = a type this build does not know (ignore it). */
enum err msg_decode(const uint8_t *frame, size_t len, struct msg *m) MUST_CHECK;
/* "HELLO"; "?" for unknown ones. */
const char *msg_type_name(enum msg_type t);
const char *agent_state_name(uint32_t s);
/* Replaces control characters, so that a peer's text can be printed on a terminal. In place. */
void msg_sanitise(char *text);

#endif
