/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_FAKE_AGENT_H
#define HAMMER_TESTS_FAKE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg.h"

/*
 * A model of the agent's side of HCP/1 on a virtual clock, small enough to be read whole: states
 * and answers as agent/service/control.h promises, load reduced to one empty snapshot an interval.
 * Times are the simulation's; the agent's own clock is `offset_ns` ahead.
 */

struct fake_agent_config {
    const char *name;
    const char *boot_id;
    int64_t offset_ns;
    uint64_t prepare_ns;  /* how long PREPARE takes */
    uint64_t run_ns;      /* from the start to the last answer */
    uint64_t interval_ns; /* one snapshot each */
    uint32_t connections; /* it can open; more than asked = all */
    uint32_t refuse;      /* enum refuse_code: answers HELLO or PREPARE with it; 0 = does not */
    void (*send)(void *arg, unsigned conn, const struct msg *m);
    void (*close)(void *arg, unsigned conn);
    void *arg;
};

struct fake_agent {
    struct fake_agent_config cfg;
    enum agent_state state;
    unsigned owner; /* connection, 0 = none */
    bool held, orphan;
    char run[2 * MSG_ID_LEN + 1];
    uint8_t owner_id[MSG_ID_LEN];
    uint8_t epoch[MSG_ID_LEN];
    uint64_t now_ns; /* of the event being handled */
    uint64_t ready_ns, start_ns, next_snapshot_ns, end_ns, lease_ns, lease_until_ns;
    uint64_t prepare_command, arm_command, at_ns;
    uint64_t started_ns; /* agent's clock, 0 = not */
    uint64_t last_seq, acked, sent_seq;
    uint32_t end_reason;
    bool final_sent;
    /* For the test: what ever happened. */
    bool ever_prepared, ever_started;
};

void fake_agent_init(struct fake_agent *a, const struct fake_agent_config *cfg, uint64_t epoch);
void fake_agent_message(struct fake_agent *a, unsigned conn, const struct msg *m, uint64_t now_ns);
void fake_agent_gone(struct fake_agent *a, unsigned conn, uint64_t now_ns);
void fake_agent_tick(struct fake_agent *a, uint64_t now_ns);
uint64_t fake_agent_deadline(const struct fake_agent *a);
/* As on SIGTERM: the run ends now, by the agent's own will. */
void fake_agent_quit(struct fake_agent *a, uint64_t now_ns);

#endif
