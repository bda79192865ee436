/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_SIM_JOURNAL_H
#define HAMMER_TESTS_SIM_JOURNAL_H

#include "tests/lib/sim_world.h"

/* The controller of a sim_world: what it merges, and its journal, which outlives it. For
 * sim_world.c alone. */

/* New, in order: merged and kept. */
void sim_journal_snapshot(struct sim_world *w, struct sim_peer *p, const struct msg_snapshot *m);
void sim_journal_final(struct sim_world *w, struct sim_peer *p, const struct msg_final *m);
/* COORD_RECORD, or the first ARM; w->dying afterwards = the controller dies there. */
void sim_journal_record(struct sim_world *w);
/* It dies: w->left is what the journal has, as it was told and from what agents have sent since. */
void sim_journal_leave(struct sim_world *w);
/* Another one begins with that: a merge of its own. */
void sim_journal_replay(struct sim_world *w);
void sim_journal_clear(struct sim_world *w);

#endif
