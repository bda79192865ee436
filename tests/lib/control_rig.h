/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_CONTROL_RIG_H
#define HAMMER_TESTS_CONTROL_RIG_H

#include "agent/service/control.h"

/*
 * An agent's control with a scripted run, which remembers what it was told: the test says when its
 * events happen and what the time is. One at a time.
 */

struct control_rig {
    struct control *control;
    struct run *run;
    enum err prepare_answer, reshare_answer;
    unsigned prepares, arms, halts, reshares, frees;
    uint64_t now_ns, armed_at_ns, drain_ns, leased_until_ns;
    uint64_t reshare_from;
    struct plan_part reshare; /* the last one */
    struct msg last;          /* last message sent, blobs not valid */
    unsigned sent[MSG_TYPE_MAX + 1];
    unsigned closes;
    bool blocked;          /* the link takes nothing */
    bool no_room;          /* the link takes no REQUESTS */
    struct run_dump *dump; /* of the next runs; the test's, NULL = none */
    struct policy policy;
};

/* Their addresses serve as connections. */
extern int control_rig_conns[4];

struct control_rig *control_rig_new(void);
void control_rig_free(struct control_rig *w);
void control_rig_hear(struct control_rig *w, void *conn, const struct msg *m);
void control_rig_hello(struct control_rig *w, void *conn, uint8_t id);
void control_rig_simple(struct control_rig *w, void *conn, enum msg_type type);
void control_rig_prepare(struct control_rig *w, void *conn, uint64_t command);
void control_rig_tell(struct control_rig *w, enum run_event ev, struct run_info *info);
void control_rig_prepared(struct control_rig *w);
void control_rig_arm(struct control_rig *w, uint64_t command, uint64_t at_ns);
void control_rig_running(struct control_rig *w);
void control_rig_snapshot(struct control_rig *w);
void control_rig_end(struct control_rig *w);

#endif
