/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONTROL_IMPL_H
#define HAMMER_AGENT_CONTROL_IMPL_H

#include "agent/service/audit_run.h"
#include "agent/service/control.h"
#include "agent/service/outbox.h"
#include "agent/service/owner.h"
#include "common/sm.h"

/* What control's own files share, and nobody else includes. control.c decides who may command what,
 * control_run.c deals with the run under way, control_dump.c sends its single requests,
 * control_about.c tells of the agent. */

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
    struct msg_reshared reshared;   /* the same */
    uint64_t reshare_command;       /* the run is at it; 0 = none */
    uint64_t arm_at_ns;
    uint64_t started_ns, ended_ns;
    enum end_reason end_reason;
    char end_text[192];
    struct outbox *outbox; /* snapshots and the final one, until acknowledged */
    uint64_t dump_at_ns;   /* single requests are looked for then; NS_NEVER = not (any more) */
    uint64_t dump_by_ns;   /* then the final one waits for them no longer; 0 = it does not yet */
    bool shutting_down;
};

/* --- control_run.c -------------------------------------------------------------------------- */

void control_tell_owner(struct control *c, const struct msg *m);
void control_answer_error(struct control *c, uint64_t command, enum refuse_code code,
                          const char *text);
void control_send_started(struct control *c);
/* What the outbox holds, as far as the link takes it. */
void control_flush(struct control *c);
void control_record_end(struct control *c, const char *outcome, const char *why,
                        const struct snapshot *total);
void control_fail_prepare(struct control *c, enum refuse_code code, const char *why);
void control_on_run(void *arg, enum run_event ev, struct run_info *info);
/* Ends the run under way; the first reason stays. */
void control_halt(struct control *c, enum end_reason reason, const char *text, uint64_t drain_ns);
void control_reshare(struct control *c, const struct msg_reshare *m);
/* HALT, from anybody: answered on that connection, whoever holds the agent. */
void control_on_halt(struct control *c, void *conn, const struct msg_halt *m);

/* --- control_dump.c ------------------------------------------------------------------------- */

/* The run is armed. */
void control_dump_begin(struct control *c);
/* Sends single requests, once it is time and as far as the link takes them. After the snapshots. */
void control_dump(struct control *c);
/* May the final one go? First the rest of the requests does, for which it waits a little; what has
 * not left by then never will. Fills in how many there were. */
bool control_dump_over(struct control *c, struct msg_final *f);

/* --- control_about.c ------------------------------------------------------------------------ */

/* Everything WELCOME says. */
void control_welcome(const struct control *c, struct msg_welcome *w);

#endif
