/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_COORDINATOR_H
#define HAMMER_CONTROLLER_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/drift.h"
#include "controller/run/inventory.h"
#include "proto/msg.h"
#include "proto/plan.h"

/*
 * PURE: the run protocol. An event with its time goes in, actions come out through `emit`; no
 * socket, no clock, no file. Every wait has a deadline; commands are repeated until answered, so
 * lost, delayed, repeated and reordered messages only cost time.
 *
 * One agent:
 *   DIALING -> GREETING -> HELD -> PREPARING -> PREPARED -> PROBING -> PROBED -> ARMING -> ARMED
 *   -> RUNNING -> STOPPING -> DONE;   from any: REFUSED (said no), LOST (connection or silence)
 *   of a run that is taken over: DIALING -> GREETING -> ARMED or RUNNING
 * The run: barriers all HELD, all PREPARED, all PROBED, all ARMED, all DONE.
 */

struct coordinator;

enum coord_agent_state {
    COORD_DIALING,
    COORD_GREETING,
    COORD_HELD,
    COORD_PREPARING,
    COORD_PREPARED,
    COORD_PROBING,
    COORD_PROBED,
    COORD_ARMING,
    COORD_ARMED,
    COORD_RUNNING,
    COORD_STOPPING,
    COORD_DONE,
    COORD_REFUSED,
    COORD_LOST,
    COORD_STATES
};

enum coord_event_kind {
    COORD_EV_BEGIN,     /* start dialling */
    COORD_EV_UP,        /* agent's link is up */
    COORD_EV_DOWN,      /* agent's link went down; reason */
    COORD_EV_MESSAGE,   /* msg, rx_ns */
    COORD_EV_TICK,      /* coordinator_deadline has come */
    COORD_EV_INTERRUPT, /* Ctrl-C; the second one ends it at once */
    COORD_EV_CONDITION, /* the user's condition to abort is met; reason */
    COORD_EV_ABORT      /* the caller cannot go on (e.g. undecodable snapshot); reason */
};

struct coord_event {
    enum coord_event_kind kind;
    size_t agent;
    uint64_t now_ns;
    uint64_t rx_ns;
    const struct msg *msg;
    const char *reason;
};

enum coord_action_kind {
    COORD_DIAL,        /* agent */
    COORD_SEND,        /* agent, msg */
    COORD_CLOSE,       /* agent: after what was sent has left */
    COORD_SNAPSHOT,    /* agent, msg->snapshot: new, in order, exactly once */
    COORD_FINAL,       /* agent, msg->final: exactly once, after its last snapshot */
    COORD_REQUESTS,    /* agent, msg->requests: in order, but some may be missing */
    COORD_NOTE,        /* text: for the user's eyes (stderr) */
    COORD_ALL_RUNNING, /* every agent has started */
    COORD_RECORD,      /* what coordinator_record tells is to be kept before anything else leaves */
    COORD_FINISHED     /* last action; see coordinator_outcome */
};

struct coord_action {
    enum coord_action_kind kind;
    size_t agent;
    const struct msg *msg;
    const char *text;
};

typedef void (*coord_emit)(void *arg, const struct coord_action *a);

/* What becomes of the run when an agent is lost while it sends. */
enum coord_on_loss {
    COORD_LOSS_ABORT,       /* stop all, report */
    COORD_LOSS_CONTINUE,    /* the others go on with their own shares */
    COORD_LOSS_REDISTRIBUTE /* they take over its share of the schedule, from an index on */
};

/* With agents that are not there, or no longer. */
struct coord_patience {
    uint64_t lease_ns;       /* 0 = 10 s */
    uint64_t wait_agents_ns; /* for agents to come up; 0 = 10 s */
    uint32_t min_agents;     /* the run goes on without the others; 0 = all are needed */
    enum coord_on_loss on_loss;
    bool force; /* take orphaned agents away from their controllers */
};

/* An agent of a run that another hammer-ctl began, as its journal knows it. */
struct coord_resume_agent {
    bool armed; /* it was to take part; the next ones are known only then */
    bool over;  /* its FINAL is there: end_reason, started_ns, ended_ns, problem */
    bool same_clock;
    char name[64];
    char build[32];
    char problem[384];
    uint8_t epoch[MSG_ID_LEN];
    struct plan_part part;
    int64_t offset_ns;
    uint64_t error_ns;
    uint64_t at_ns;
    uint64_t last_seq; /* of the snapshots that are there */
    uint64_t started_ns, ended_ns;
    uint32_t end_reason;
    uint64_t lost_after_ns;   /* from the start of the run, at least 1; 0 = it was not lost */
    uint64_t taken_over_from; /* others own its share from that index on; 0 = it is its own */
    uint64_t reshare_command; /* of the RESHARE that it has not answered, 0 = none */
    struct plan_part reshare; /* what that asks for: total, first, weight */
};

/* Nothing is prepared or armed: the agents are taken back where they are, and what they have kept
 * is collected. Neither min_agents nor force counts. */
struct coord_resume {
    uint64_t t0_ns;                          /* on this machine's clock as it is now */
    uint64_t first_command;                  /* above every number that the run has used */
    const struct coord_resume_agent *agents; /* one for each of the inventory; copied */
};

struct coord_config {
    const struct inventory *inventory; /* outlives the coordinator */
    const struct plan *plan;           /* the same */
    uint8_t owner[MSG_ID_LEN];
    uint8_t run[MSG_ID_LEN];
    char controller[96];
    char boot_id[64]; /* equal to an agent's = same clock */
    struct coord_patience patience;
    const struct coord_resume *resume; /* NULL = a new run; needed by coordinator_new only */
    uint64_t interrupt_drain_ns;       /* what in-flight requests get after Ctrl-C (500 ms) */
    coord_emit emit;
    void *arg;
};

/* How it ended, before any report is made. */
enum coord_outcome {
    COORD_GOING_ON,
    COORD_COMPLETE,    /* every agent DONE */
    COORD_COULD_NOT,   /* refused, unreachable, busy: nothing was sent to the target: exit 2 */
    COORD_PARTIAL,     /* an agent was lost after the start: report, exit 3 */
    COORD_INTERRUPTED, /* Ctrl-C: report, 130 */
    COORD_ABORTED,     /* at the user's condition: report, exit 99 */
    COORD_NO_TARGET    /* prepared, but no agent could open a connection: report, exit 2 */
};

/* What is known of an agent, for the report. */
struct coord_agent_info {
    enum coord_agent_state state;
    char name[64];
    char build[32];
    char problem[384]; /* why refused or lost; what PREPARED complained of */
    char address[96];  /* target address it uses */
    uint32_t cores;
    uint64_t tested_rate; /* req/s its self-test has shown; 0 = unknown */
    bool insecure;        /* whoever reaches it commands its load */
    uint64_t fd_limit;    /* 0 = unknown */
    uint32_t ports;       /* local ones; 0 = unknown */
    struct plan_part part;
    uint32_t connections_open;
    bool same_clock;   /* same boot id: offset exactly 0 */
    uint32_t clock;    /* of its own: 1 + number of the first agent with it; 0 = not known */
    int64_t offset_ns; /* agent's clock - controller's */
    uint64_t error_ns; /* bound: half the smallest round trip */
    uint64_t rtt_ns;
    struct drift drift;  /* since then; none with the same clock */
    uint64_t at_ns;      /* asked start, agent's clock */
    uint64_t started_ns; /* true start, agent's clock; 0 = never */
    uint64_t last_seq;   /* last merged snapshot */
    uint32_t end_reason; /* enum end_reason, 0 = none */
    uint64_t lost_at_ns; /* controller's clock */
    bool collected;      /* lost, but its results were had in the end */
    bool uncollected;    /* lost, and it may still have results that nobody fetched */
    /* Since when it has not been heard of, controller's clock; 0 = it is there. */
    uint64_t late_since_ns;
    uint32_t times_late;
    uint64_t longest_late_ns; /* of the times it came back */
    /* Its share belongs to others from this global index on; UINT64_MAX = it does not. */
    uint64_t taken_over_from;
};

enum err coordinator_new(const struct coord_config *cfg, struct coordinator **out,
                         struct errmsg *msg) MUST_CHECK;
void coordinator_free(struct coordinator *c);
void coordinator_step(struct coordinator *c, const struct coord_event *ev);
/* When the next COORD_EV_TICK is due; NS_NEVER after FINISHED. */
uint64_t coordinator_deadline(const struct coordinator *c);
enum coord_outcome coordinator_outcome(const struct coordinator *c);
/* Sentence for COORD_COULD_NOT and others: names the agent and the reason. "" when complete. */
const char *coordinator_reason(const struct coordinator *c);
size_t coordinator_agents(const struct coordinator *c);
const struct coord_agent_info *coordinator_agent(const struct coordinator *c, size_t i);
/* The plan with the rate that the agents that take part have together; the caller's otherwise. */
const struct plan *coordinator_plan(const struct coordinator *c);
/* What another hammer-ctl would have to know of the agents, one for each of the inventory; from the
 * first ARM on. What snapshots and FINAL tell (over, last_seq, started_ns, ended_ns, end_reason) is
 * left as it is. */
void coordinator_record(const struct coordinator *c, struct coord_resume_agent *agents);
/* Start instant on the controller's clock, 0 before arming. */
uint64_t coordinator_t0(const struct coordinator *c);
const char *coord_state_name(enum coord_agent_state s);

#endif
