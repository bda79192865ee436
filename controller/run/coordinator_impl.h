/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_COORDINATOR_IMPL_H
#define HAMMER_CONTROLLER_COORDINATOR_IMPL_H

#include "common/clock.h"
#include "common/sm.h"
#include "controller/run/coordinator.h"

/* Shared by the coordinator's own files, nobody else's. coordinator.c decides about the run,
 * coordinator_agent.c speaks with one agent, coordinator_timer.c knows when something is due. */

#define COORD_ATTEMPT_NS     (3 * NS_PER_SEC)  /* dial -> WELCOME */
#define COORD_DIAL_NS        (10 * NS_PER_SEC) /* all attempts */
#define COORD_BACKOFF_MIN_NS (100 * NS_PER_MS)
#define COORD_BACKOFF_MAX_NS (1 * NS_PER_SEC)
#define COORD_PING_NS        (1 * NS_PER_SEC)
#define COORD_PING_RUN_NS    (2 * NS_PER_SEC) /* where snapshots tell that the agent is there */
#define COORD_REPEAT_NS      (1 * NS_PER_SEC)
#define COORD_PREPARE_NS     (30 * NS_PER_SEC) /* and the plan's timeout */
#define COORD_PROBES         32
#define COORD_PROBES_FAR     16
#define COORD_FAR_NS         (5 * NS_PER_MS)
#define COORD_PROBES_AT_ONCE 16 /* agents; more inflate the round trips */
#define COORD_PROBES_MIN     4
#define COORD_PROBES_KEPT    64
#define COORD_PROBE_LOST_NS  (200 * NS_PER_MS)
#define COORD_PROBING_NS     (10 * NS_PER_SEC)
#define COORD_LEAD_NS        (1 * NS_PER_SEC)
#define COORD_LEAD_LOCAL_NS  (300 * NS_PER_MS) /* every agent shares our clock: no network */
#define COORD_LEAD_LOSSY_NS  (5 * NS_PER_SEC)  /* at most so much because packets are lost */
#define COORD_LEAD_AGENT_NS  (1 * NS_PER_MS)
#define COORD_ARM_REPEAT_NS  (100 * NS_PER_MS)
#define COORD_MARGIN_NS      (50 * NS_PER_MS) /* a withdrawal needs that long to arrive */
#define COORD_START_NS       (5 * NS_PER_SEC) /* STARTED after the start instant */
#define COORD_STOP_NS        (5 * NS_PER_SEC) /* FINAL after what was in flight got its time */
#define COORD_STOP_REPEAT_NS (500 * NS_PER_MS)
#define COORD_INTERRUPT_NS   (1 * NS_PER_SEC)  /* FINAL after Ctrl-C */
#define COORD_HANDSHAKES_MAX 16                /* TLS agents that are dialled at once */
#define COORD_DIALS_MAX      128               /* the others */
#define COORD_PLACE_NS       (250 * NS_PER_MS) /* so long for the connection alone */
#define COORD_ACK_EVERY      4                 /* snapshots; until then the next PING says it */
#define COORD_RESEND_NS      (200 * NS_PER_MS)
#define COORD_QUIET_NS       (3 * NS_PER_SEC)   /* no word: dialled anew; at most half a lease */
#define COORD_LOST_NS        (1 * NS_PER_SEC)   /* beyond the lease: its load has ended by itself */
#define COORD_KEPT_NS        (660 * NS_PER_SEC) /* longer than agents keep results: 10 minutes */
#define COORD_SALVAGE_NS     (2 * NS_PER_SEC)   /* a lost agent is asked for its results so often */
#define COORD_OVERSLEPT_NS   (500 * NS_PER_MS) /* so late for a timer we were not there ourselves */
#define COORD_RESHARE_NS     (2 * NS_PER_SEC)  /* the survivors take over so much later */

enum coord_phase {
    PHASE_GATHER,  /* until all are HELD */
    PHASE_PREPARE, /* until all are PREPARED */
    PHASE_PROBE,   /* until all are PROBED */
    PHASE_ARM,     /* until all are ARMED, before t0 - margin */
    PHASE_RUN,     /* until all are DONE or LOST */
    PHASE_OVER
};

struct coord_agent {
    struct coord_agent_info info;
    uint64_t ended_ns; /* as FINAL says, agent's clock; 0 = not known */
    struct sm sm;
    uint64_t *due_ns;   /* coordinator.due_ns of this agent */
    uint64_t *group_ns; /* and coordinator.group_ns */
    uint32_t *in_state; /* coordinator.in_state */
    /* Instants at which the agent's tick has work; NS_NEVER = none. */
    uint64_t deadline_ns; /* this state ends then */
    uint64_t repeat_ns;   /* the unanswered command goes out again */
    uint64_t ping_ns;
    uint64_t quiet_ns;   /* heard nothing until then = late */
    uint64_t silence_ns; /* the same = lost */
    uint64_t deaf_ns;    /* heard no PONG until then = late: it does not hear us */
    uint64_t asked;      /* waits to be dialled, the lower the longer; 0 = does not */
    uint64_t dialled_ns; /* when the last dial began */
    uint64_t attempt_ns; /* the dial under way ends then */
    uint64_t hello_ns;   /* HELLO again */
    uint64_t redial_ns;
    uint64_t give_up_ns; /* dialling ends; of a lost one: its results are gone by then */
    uint64_t resend_ns;  /* missing snapshots are asked for again */
    uint64_t backoff_ns;
    bool up;      /* the link takes messages */
    bool greeted; /* and WELCOME came on it: nothing but HELLO goes out before, nothing counts */
    bool closed;  /* COORD_CLOSE is out */
    bool salvage; /* LOST, but what it kept may still be had */
    uint64_t load_ns; /* LOST: its load has ended by then, whatever it is that went wrong */
    uint64_t command;
    char boot_id[64]; /* "" = not known */
    uint8_t epoch[MSG_ID_LEN];
    uint32_t probe, probes_good;             /* number of the one under way; answered ones */
    uint64_t probe_t1_ns[COORD_PROBES_KEPT]; /* by number; 0 = answered */
    uint64_t probe_slowest_ns;               /* with all that was lost and sent again on the way */
    uint64_t acked_seq;                      /* the highest one that the agent was told of */
    uint64_t ping_t1_ns;                     /* of the last PING */
    uint64_t ping_seq;                       /* last_seq then */
    uint64_t remote_seq;                     /* last_seq of the latest PONG */
    uint64_t known_seq;                      /* the highest one heard of when one was missing */
    uint64_t reshare_command;                /* unanswered RESHARE, 0 = none */
    uint64_t reshare_ns;                     /* it goes out again */
    uint64_t reshare_by_ns;                  /* its index is due then */
    struct plan_part reshare;                /* what it is to own */
    uint64_t drain_ns;
    bool stop_asked;
    char stop_reason[64];
};

struct coordinator {
    struct coord_config cfg;
    struct plan plan; /* cfg.plan; borrows from the caller's, the rate is settled here */
    size_t n;
    struct coord_agent *agents;
    /* Each agent's earliest timer, side by side, and the earliest of each group of agents: these
     * are looked at after every event. 0 = it may have changed. Never later than the truth. */
    uint64_t *due_ns, *group_ns;
    uint32_t in_state[COORD_STATES]; /* agents */
    uint32_t n_started;              /* agents whose true start is known */
    uint64_t asked;                  /* for a dial, ever */
    size_t n_waiting;                /* for one now */
    uint64_t place_ns;               /* the next one may be dialled then */
    enum coord_phase phase;
    uint64_t next_command;
    uint8_t *plan_bytes; /* encoded once, the same for all */
    size_t plan_len;
    uint64_t t0_ns, margin_ns;
    uint64_t end_ns;  /* every agent should have ended by itself */
    bool all_running; /* said once */
    bool resumed;     /* another hammer-ctl began the run */
    bool reshare_wanted;
    bool unrecorded;       /* COORD_RECORD is to be said */
    uint64_t reshare_from; /* index of the last redistribution */
    uint32_t reshares;     /* how many there were */
    uint64_t over_ns;      /* all agents were over, NS_NEVER = not yet */
    uint64_t salvage_ns;   /* until then results of lost agents are waited for in any case */
    char run_hex[2 * MSG_ID_LEN + 1];
    bool stopping, interrupted, aborted, damaged;
    enum coord_outcome outcome;
    char reason[640];
};

/* --- coordinator.c ------------------------------------------------------------------------------
 */

/* The agent is out: refused or lost, for the reason given. Decides what becomes of the run. */
void coord_fail(struct coordinator *c, size_t i, enum coord_agent_state to, uint64_t now_ns,
                const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Before the run it is known that it cannot take part: --min-agents decides. */
void coord_not_there(struct coordinator *c, size_t i, enum coord_agent_state to, uint64_t now_ns,
                     const char *why);
/* DONE, but not with its schedule: by its own will, or somebody else's. */
void coord_ended_early(struct coordinator *c, size_t i, uint64_t now_ns, uint32_t end_reason);
/* The run cannot be what was planned: withdrawn before the start, stopped after it. */
void coord_spoil(struct coordinator *c, uint64_t now_ns, const char *fmt, ...) PRINTF_LIKE(3, 4);
void coord_note(struct coordinator *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* When agents that started at t0 have ended by themselves. */
uint64_t coord_planned_end(const struct coordinator *c);
/* One agent less, for that reason: --on-agent-loss decides what becomes of the others. */
void coord_lost(struct coordinator *c, size_t i, uint64_t now_ns, const char *why);
void coord_record(struct coordinator *c);
/* As the user typed it. */
const char *coord_address(const struct coordinator *c, size_t i);
bool coord_terminal(const struct coord_agent *a);

/* --- coordinator_gather.c -----------------------------------------------------------------------
 */

/* *bytes is the caller's (mem_free). */
enum err coord_encode_plan(const struct plan *p, uint8_t **bytes, size_t *len,
                           struct errmsg *msg) MUST_CHECK;
/* The plan in parts, one for each agent that takes part, and whether they can carry it. */
enum err coord_cut_parts(struct coordinator *c, struct errmsg *msg) MUST_CHECK;

/* --- coordinator_agent.c ------------------------------------------------------------------------
 */

void coord_move(struct coord_agent *a, enum coord_agent_state to);
/* Its true start, agent's clock; 0 = not known yet. */
void coord_began(struct coordinator *c, size_t i, uint64_t started_ns);
void coord_emit_agent(struct coordinator *c, enum coord_action_kind kind, size_t i,
                      const struct msg *m);
void coord_send(struct coordinator *c, size_t i, struct msg *m);
void coord_message(struct coordinator *c, size_t i, const struct coord_event *ev);
void coord_prepare(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_probe(struct coordinator *c, size_t i, uint64_t now_ns);
/* How far ahead the start must be for every agent to hear of it and confirm it, and for a
 * withdrawal (margin_ns before it) to reach them in time: on a way that loses packets some probes
 * have taken very long. */
uint64_t coord_lead(struct coordinator *c);
void coord_arm(struct coordinator *c, size_t i, uint64_t now_ns);
/* Agents with the same boot id have one clock: the best of their measurements is everybody's, so
 * that among each other they start without any error. All are probed. */
void coord_share_clocks(struct coordinator *c);
void coord_stop(struct coordinator *c, size_t i, uint64_t now_ns, uint64_t drain_ns,
                uint64_t answer_ns, const char *reason);
/* It has ended, but its final results are not here: STOP makes an agent say them again. */
void coord_await_final(struct coordinator *c, size_t i, uint64_t now_ns);
/* ARMED, its command not answered yet by STARTED. */
void coord_await_start(struct coordinator *c, size_t i, uint64_t now_ns);
/* A lost agent's load, should it go on. */
void coord_stop_now(struct coordinator *c, size_t i);
/* The unanswered command of the agent's state once more. */
void coord_repeat(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_resend(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_ping(struct coordinator *c, size_t i, uint64_t now_ns);

/* --- coordinator_dial.c ------------------------------------------------------------------------
 */

/* As soon as there is a place for it. */
void coord_dial(struct coordinator *c, size_t i, uint64_t now_ns);
/* Dials who waits and may be; after whatever may have freed a place. */
void coord_dial_waiting(struct coordinator *c, uint64_t now_ns);

/* --- coordinator_link.c -------------------------------------------------------------------------
 */

void coord_up(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_down(struct coordinator *c, size_t i, uint64_t now_ns, const char *reason);
void coord_hello(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_welcome(struct coordinator *c, size_t i, const struct coord_event *ev);
void coord_refuse(struct coordinator *c, size_t i, const struct coord_event *ev);
/* What the agent says of itself. */
void coord_describe(struct coordinator *c, size_t i, const struct msg_welcome *w);
/* A word came from the agent. */
void coord_heard(struct coordinator *c, size_t i, uint64_t now_ns);
/* None came for coord_quiet_ns. */
void coord_quiet(struct coordinator *c, size_t i, uint64_t now_ns);
/* Words came, but none that answered ours. */
void coord_deaf(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_ponged(struct coordinator *c, size_t i, uint64_t now_ns);
uint64_t coord_quiet_ns(const struct coordinator *c);
/* LOST: are its results worth asking for again, now and then? */
void coord_salvage(struct coordinator *c, size_t i, uint64_t now_ns);
/* LOST, and its results as well: no interval waits for it any more. */
void coord_forget(struct coordinator *c, size_t i);
/* BYE when the link is up, then CLOSE; once. */
void coord_release(struct coordinator *c, size_t i);

/* --- coordinator_resume.c ------------------------------------------------------------------------
 */

/* The agents as another hammer-ctl left them. */
void coord_resume(struct coordinator *c, const struct coord_resume *r);
/* COORD_EV_BEGIN: those whose FINAL is there and was not the planned one, and those that are lost.
 */
void coord_resume_begin(struct coordinator *c, uint64_t now_ns);
void coord_welcome_back(struct coordinator *c, size_t i, const struct coord_event *ev);
/* The run is being stopped while the agent is not yet back: no longer waited for than that. */
void coord_stop_absent(struct coordinator *c, size_t i, uint64_t now_ns, uint64_t answer_ns);

/* --- coordinator_reshare.c ----------------------------------------------------------------------
 */

/* An agent's part of the schedule is to go to the others; done as soon as none of them is late. */
void coord_reshare(struct coordinator *c, uint64_t now_ns);
void coord_reshare_repeat(struct coordinator *c, size_t i, uint64_t now_ns);
/* Nobody knows whether the agent has got it from the hammer-ctl before: said again, the command is
 * the same. */
void coord_reshare_again(struct coordinator *c, size_t i, uint64_t now_ns);
void coord_reshared(struct coordinator *c, size_t i, const struct coord_event *ev);

/* --- coordinator_timer.c ------------------------------------------------------------------------
 */

/* Whatever is due at any agent. */
void coord_tick(struct coordinator *c, uint64_t now_ns);
/* We were stopped, starved or too slow: what agents have said meanwhile is still to be read. */
void coord_overslept(struct coordinator *c, uint64_t now_ns);
/* Who changes a timer of an agent says so. */
void coord_touch(struct coord_agent *a);
/* Brings due_ns up to date; the last word of a step. */
void coord_settle(struct coordinator *c);
/* The earliest timer of all agents. */
uint64_t coord_next(const struct coordinator *c);
void coord_timers_new(struct coordinator *c);
void coord_timers_free(struct coordinator *c);

#endif
