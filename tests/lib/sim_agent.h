/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_SIM_AGENT_H
#define HAMMER_TESTS_SIM_AGENT_H

#include "agent/service/control.h"
#include "proto/msg.h"

/*
 * An agent on a virtual clock: the real control, ownership and outbox over a simulated run. Its
 * worker sends by the real schedule of its part and takes another one over as the real one does;
 * each interval becomes a real snapshot. Its clock is the world's plus an offset: all times of this
 * interface are the world's.
 */

struct sim_agent;

struct sim_agent_config {
    char name[64];
    char boot_id[64];
    int64_t offset_ns;
    uint64_t prepare_ns; /* from PREPARE to PREPARED */
    uint64_t answer_ns;  /* of the target */
    uint64_t reshare_ns; /* until the worker has confirmed another share */
    uint32_t connections;
    void *arg;
    bool (*send)(void *arg, void *conn, const struct msg *m);
    void (*close)(void *arg, void *conn);
    /* A request left: its global index, and for how long the owner had been silent then. */
    void (*request)(void *arg, uint64_t index, uint64_t silence_ns);
};

struct sim_agent *sim_agent_new(const struct sim_agent_config *cfg, uint64_t seed);
void sim_agent_free(struct sim_agent *a);

void sim_agent_message(struct sim_agent *a, void *conn, const struct msg *m, uint64_t now_ns);
void sim_agent_gone(struct sim_agent *a, void *conn, uint64_t now_ns);
void sim_agent_tick(struct sim_agent *a, uint64_t now_ns);
uint64_t sim_agent_deadline(const struct sim_agent *a);
/* SIGTERM: does what there is to do then; true once it may end. */
bool sim_agent_shutdown(struct sim_agent *a, uint64_t now_ns);
/* SIGSTOP and SIGCONT: nothing is asked of it in between. */
void sim_agent_freeze(struct sim_agent *a, uint64_t now_ns);
void sim_agent_thaw(struct sim_agent *a, uint64_t now_ns);

const struct control *sim_agent_control(const struct sim_agent *a);
/* Sends of the last run, which may be going on. */
uint64_t sim_agent_sent(const struct sim_agent *a);
bool sim_agent_sending(const struct sim_agent *a);

#endif
