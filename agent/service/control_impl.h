/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONTROL_IMPL_H
#define HAMMER_AGENT_CONTROL_IMPL_H

#include "agent/service/audit_run.h"
#include "agent/service/control.h"
#include "agent/service/outbox.h"
#include "agent/service/owner.h"
#include "common/sm.h"

/* What control.c and control_about.c share, and nobody else includes. */

struct control {
    struct control_config cfg;
    struct sm sm;

    struct owner owner;

    struct run *run;
    struct audit_run record; /* of the run, until its end is written */
    char run_id[2 * MSG_ID_LEN + 1];
    uint64_t prepare_command, arm_command;
    struct msg_prepared prepared;   /* the answer, repeated on demand */
    struct msg_error prepare_error; /* the same; command 0 = none */
    uint64_t arm_at_ns;
    uint64_t started_ns, ended_ns;
    enum end_reason end_reason;
    char end_text[192];
    struct outbox *outbox; /* snapshots and the final one, until acknowledged */
    bool shutting_down;
};

/* Everything WELCOME says. */
void control_welcome(const struct control *c, struct msg_welcome *w);

#endif
