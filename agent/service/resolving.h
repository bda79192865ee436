/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RESOLVING_H
#define HAMMER_AGENT_RESOLVING_H

#include <stdbool.h>

/*
 * How many resolver threads of runs are out. A resolver cannot be cancelled, so a run that is given
 * up leaves one behind for as long as its name server takes; a controller that does so again and
 * again must not have thousands. One per agent; main thread only.
 */

#define RESOLVING_MAX 4 /* the run's own one included */

struct resolving;

struct resolving *resolving_new(void);
/* false = as many are out as may be. NULL counts nothing. */
bool resolving_enter(struct resolving *r);
void resolving_leave(struct resolving *r);
/* Those that are still out leave later all the same: the last one frees the rest. NULL is fine. */
void resolving_free(struct resolving *r);

#endif
