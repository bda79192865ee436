/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_SM_H
#define HAMMER_COMMON_SM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Checked state machine (after dqlite's sm.h): a const table says which moves are allowed; the
 * state changes only through sm_move, which logs old -> new at debug level and aborts on a move
 * that the table forbids: that is a bug of ours, never the effect of foreign bytes.
 */

#define SM_BIT(state) (UINT32_C(1) << (state))

struct sm_state {
    const char *name;
    uint32_t next; /* SM_BIT of every state that may follow */
};

/* At most 32 states. Embedded by value; not thread safe. */
struct sm {
    const struct sm_state *table;
    const char *prefix; /* object's name in the log, kept by reference */
    unsigned states;
    unsigned current;
};

void sm_init(struct sm *sm, const struct sm_state *table, unsigned states, unsigned initial,
             const char *prefix);
void sm_move(struct sm *sm, unsigned to);
/* Is the move allowed from the current state? */
bool sm_can(const struct sm *sm, unsigned to);
const char *sm_name(const struct sm *sm);

/* Asked at every turn of the load loop: inline. */
static inline unsigned sm_state(const struct sm *sm)
{
    return sm->current;
}

#endif
