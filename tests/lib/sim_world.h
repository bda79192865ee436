/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_SIM_WORLD_H
#define HAMMER_TESTS_SIM_WORLD_H

#include "controller/run/coordinator.h"
#include "controller/run/merge.h"
#include "tests/lib/sim_agent.h"
#include "tests/lib/sim_net.h"

/*
 * A whole run on a virtual clock: the real coordinator and the real merge on one side, agents with
 * the real control (sim_agent.h) on the other, sim_net between them, and faults at given times.
 * What each agent really sent is written down apart from the protocol, index by index. Checks what
 * must hold at any time by itself; ck_abort when it does not.
 */

#define SIM_EPOCH      UINT64_C(100000000000000)
#define SIM_FAULTS_MAX 16

enum sim_fault_kind {
    SIM_CUT,       /* all connections are reset, dials fail for the time */
    SIM_PARTITION, /* both ways, without a word */
    SIM_DEAF,      /* what is sent to the agent does not arrive */
    SIM_MUTE,      /* what the agent sends does not arrive */
    SIM_FREEZE,    /* SIGSTOP of the agent */
    SIM_STUN,      /* SIGSTOP of the controller */
    SIM_RESTART,   /* the agent dies; after the time it is back with another epoch */
    SIM_KILL,      /* it dies, its host says so */
    SIM_VANISH,    /* it dies with its host */
    SIM_TERMINATE, /* SIGTERM of the agent */
    SIM_HALT,      /* somebody else halts the run, at this agent */
    SIM_INTERRUPT, /* Ctrl-C */
    SIM_CONTROLLER_DIES,
    SIM_FAULT_KINDS
};

struct sim_fault {
    enum sim_fault_kind kind;
    size_t agent;
    uint64_t at_ns; /* from the start of it all, or of the load */
    bool from_t0;
    uint64_t length_ns; /* where it ends */
    bool begun, ended;
    uint64_t begun_ns, ended_ns; /* world's clock */
};

struct sim_peer {
    struct sim_world *world;
    size_t number;
    struct sim_agent *agent;
    struct sim_agent_config cfg;
    struct sim_wire *wire; /* the controller's */
    bool dead, frozen, closed, final;
    bool terminating;
    uint64_t terminate_ns; /* looks again, and until when */
    uint64_t terminate_by_ns;
    unsigned incarnation; /* it has been restarted so often */
    uint64_t thawed_ns;
    uint64_t seq;       /* snapshots merged */
    struct msg by_hand; /* last answer outside the coordinator\'s connections; no blobs */
};

/* Of the controller's journal. */
struct sim_record {
    size_t agent;
    bool final;
    struct wire_blob data; /* owned */
};

struct sim_world {
    /* Set before sim_world_start. */
    uint64_t rng;
    size_t n;
    struct plan plan;
    struct coord_config coord; /* on_loss, lease_ns, min_agents, ...; the rest is filled in */
    struct sim_net_config net_config;
    struct sim_fault faults[SIM_FAULTS_MAX];
    size_t n_faults;
    uint32_t weights[SIM_NET_MAX];
    bool unreachable[SIM_NET_MAX];
    /* Since. */
    uint64_t now_ns, finished_ns;
    struct inventory inventory;
    struct coordinator *coordinator; /* NULL after SIM_CONTROLLER_DIES */
    struct merge *merge;
    struct sim_net *net;
    struct sim_peer peers[SIM_NET_MAX];
    uint8_t *count;      /* how often each index of the schedule was sent */
    uint64_t requests;   /* in it */
    uint64_t sent;       /* to the target */
    uint64_t left_t0_ns; /* by a dead controller, and the rest of its journal */
    struct coord_resume_agent left[SIM_NET_MAX];
    struct sim_record *records;
    size_t n_records;
    bool recorded;    /* the coordinator has told what is in `left` */
    unsigned dies_at; /* at that COORD_RECORD, before anything else leaves; 0 = it does not */
    bool dying;
    bool stunned, finished;
    bool trace; /* each event to stderr: HAMMER_SIM_TRACE */
};

/* `rng` is set: fills everything else that a test may change before sim_world_start. */
void sim_world_init(struct sim_world *w, uint64_t seed);
void sim_world_start(struct sim_world *w);
/* Until the coordinator has finished and nothing is left to happen, or until that time. */
void sim_world_play(struct sim_world *w, uint64_t until_ns);
/* After that coordinator is over or dead: another one for the same agents, owner and run id as in
 * w->coord, with a merge of its own; what was sent is written down from nothing again. */
void sim_world_again(struct sim_world *w);
/* After SIM_CONTROLLER_DIES: another coordinator with the journal of the dead one. */
void sim_world_attach(struct sim_world *w);
/* While no coordinator is there: another process with the same owner id collects what the agent
 * keeps, for the same merge, and frees it. */
void sim_world_inherit(struct sim_world *w, size_t agent);
void sim_world_clear(struct sim_world *w);

#endif
