/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONTROL_H
#define HAMMER_AGENT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/service/audit.h"
#include "agent/service/run.h"
#include "common/err.h"
#include "proto/msg.h"

/*
 * The agent's side of HCP/1: who holds the agent, which command is allowed in which state,
 * snapshots kept until acknowledged. Pure: messages and time come in, messages go out through
 * `send`; no socket, no clock. A connection is an opaque pointer of the caller's.
 *
 *   IDLE -HELLO-> HELD -PREPARE-> PREPARING -> PREPARED -ARM-> ARMED -t0-> RUNNING -end/STOP->
 *   DRAINING -> ENDED -BYE-> IDLE.   The owner's connection lost: the run goes on while
 *   the lease does; the lease over: the run is halted and its results are kept, see owner.h.
 */

struct control;

struct control_config {
    struct run_env env;  /* passed through to run_ops.prepare; has a policy */
    struct audit *audit; /* outlives control; NULL = none is kept */
    const struct run_ops *run;
    char agent[64];
    char boot_id[64];
    uint8_t epoch[MSG_ID_LEN];
    uint32_t cores;
    uint64_t fd_limit;
    uint64_t lease_ns;
    uint64_t tested_rate; /* of the self-test, 0 = unknown */
    bool insecure;        /* whoever connects commands the load: said in WELCOME */
    uint32_t ports;       /* local ones for outgoing connections, 0 = unknown */
    void *arg;
    /* Sends to a connection. false = it cannot take more now (snapshots wait for the next tick). */
    bool (*send)(void *arg, void *conn, const struct msg *m);
    void (*close)(void *arg, void *conn); /* after what was sent has left */
    uint64_t (*now)(void *arg);           /* for stamps t3 */
    /* Where a connection comes from, for the audit file; NULL = unknown. */
    const char *(*peer)(void *arg, void *conn);
};

struct control *control_new(const struct control_config *cfg);
void control_free(struct control *c);

/* rx_ns: when the frame arrived. */
void control_message(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns);
void control_gone(struct control *c, void *conn, uint64_t now_ns); /* the connection is down */
void control_tick(struct control *c, uint64_t now_ns);
uint64_t control_deadline(const struct control *c); /* next instant control_tick has work */
/* SIGTERM: halt the run; true once nothing is left to do. */
bool control_shutdown(struct control *c, uint64_t now_ns);
enum agent_state control_state(const struct control *c);
/* The owner's lease is over: what there is waits for it, or for OWNER_KEEP_NS to pass. */
bool control_is_orphan(const struct control *c);
/* "idle", "held by X", "running run 7f3a00c1 for X": for people. */
void control_status(const struct control *c, char *buf, size_t cap);
/* For runs prepared from now on; one under way keeps what it has. */
void control_set_policy(struct control *c, const struct policy *policy);
/* Who it is, its state and its holder, as INFO tells them to those who only ask. */
void control_describe(const struct control *c, struct msg_info *m);
/* Does this connection hold the agent? */
bool control_is_owner(const struct control *c, const void *conn);

#endif
