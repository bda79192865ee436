/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_SIM_NET_H
#define HAMMER_TESTS_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/*
 * The connections between one controller and its agents on a virtual clock. A wire is one
 * connection, from the dial on. As TCP does it keeps the order and loses nothing while it is up; a
 * reset loses everything under way; a partition (of one direction or both) says nothing to anybody:
 * what was sent waits and comes after it, unless the wire is reset meanwhile. Who is frozen finds
 * all that came meanwhile at once, in order. A lossy net loses, repeats and reorders single
 * messages instead. Messages travel encoded. Everything random comes from the seed.
 */

#define SIM_NET_MAX 16 /* agents */

enum sim_way {
    SIM_TO_AGENT,
    SIM_TO_CONTROLLER
};

enum sim_net_event {
    SIM_NET_UP,      /* at the controller: the dial succeeded */
    SIM_NET_DOWN,    /* at the controller: reset, refused, or closed by the agent */
    SIM_NET_MESSAGE, /* at either, see the way */
    SIM_NET_GONE     /* at the agent: reset, or closed by the controller */
};

struct sim_net;

/* Freed with the net; its address is what an agent's control takes for the connection. */
struct sim_wire {
    struct sim_net *net;
    size_t agent;
    unsigned number;
    bool dialled_ok;            /* the controller has seen it come up */
    bool shut[2];               /* by the end that the way leads to: it hears nothing more of it */
    bool broken;                /* reset */
    unsigned waiting;           /* messages to the controller that have not arrived */
    uint64_t last_ns[2];        /* arrival of the last one, by way */
    struct sim_packet *held[2]; /* by a partition */
    struct sim_wire *next;
};

struct sim_net_config {
    size_t agents;
    uint64_t delay_ns[2]; /* by way */
    uint64_t jitter_ns;
    uint64_t loss_ppm, repeat_ppm; /* not 0: a lossy net */
    void *arg;
    void (*event)(void *arg, enum sim_net_event ev, enum sim_way way, struct sim_wire *w,
                  const struct msg *m);
};

struct sim_net *sim_net_new(const struct sim_net_config *cfg, uint64_t seed);
void sim_net_free(struct sim_net *n);
/* Delivers what is due by then, with the time moved to it. */
void sim_net_run(struct sim_net *n, uint64_t now_ns);
uint64_t sim_net_deadline(const struct sim_net *n);

struct sim_wire *sim_net_dial(struct sim_net *n, size_t agent);
/* false: too much is waiting already (to the controller only). */
bool sim_net_send(struct sim_wire *w, enum sim_way way, const struct msg *m);
/* By the controller (SIM_TO_AGENT) or the agent; what it has sent still arrives. */
void sim_net_close(struct sim_wire *w, enum sim_way way);

/* --- faults ----------------------------------------------------------------------------------- */

/* All wires of the agent break; both ends notice. */
void sim_net_reset(struct sim_net *n, size_t agent);
/* The same of everybody: the controller is gone and does not notice. */
void sim_net_drop_controller(struct sim_net *n, bool silently);
/* Dials fail at once while refused; unanswered: neither fail nor come up. */
void sim_net_refuse(struct sim_net *n, size_t agent, bool refused);
void sim_net_unanswered(struct sim_net *n, size_t agent, bool unanswered);
void sim_net_block(struct sim_net *n, size_t agent, enum sim_way way, bool blocked);
void sim_net_freeze_agent(struct sim_net *n, size_t agent, bool frozen);
void sim_net_freeze_controller(struct sim_net *n, bool frozen);

#endif
