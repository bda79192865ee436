/* SPDX-License-Identifier: MIT */
#include "common/sm.h"

#include <stdlib.h>

#include "common/log.h"

void sm_init(struct sm *sm, const struct sm_state *table, unsigned states, unsigned initial,
             const char *prefix)
{
    *sm = (struct sm){.table = table, .prefix = prefix, .states = states, .current = initial};
}

bool sm_can(const struct sm *sm, unsigned to)
{
    return to < sm->states && (sm->table[sm->current].next & SM_BIT(to)) != 0;
}

void sm_move(struct sm *sm, unsigned to)
{
    if (!sm_can(sm, to)) {
        log_error(sm->prefix, "illegal move from %s to %s", sm->table[sm->current].name,
                  to < sm->states ? sm->table[to].name : "?");
        abort();
    }
    log_debug(sm->prefix, "%s -> %s", sm->table[sm->current].name, sm->table[to].name);
    sm->current = to;
}

const char *sm_name(const struct sm *sm)
{
    return sm->table[sm->current].name;
}
