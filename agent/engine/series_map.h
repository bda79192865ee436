/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SERIES_MAP_H
#define HAMMER_AGENT_SERIES_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/reqset.h"
#include "common/err.h"
#include "proto/plan.h"

/*
 * PURE: which row of the figures a request belongs to: by the stage in which it is due and by the
 * name of the request that its index picks. Rows stage * names + name, and after them one for
 * everything that is due in the warm-up, whatever its stage and name. Row 0 never is the warm-up's.
 * Read-only once made: shared by all workers.
 */

struct series_map {
    uint32_t n; /* rows, 1 .. SNAPSHOT_SERIES_MAX */
    uint32_t n_names;
    uint32_t n_stages;                 /* >= 1 */
    uint32_t warmup;                   /* its row; UINT32_MAX = there is no warm-up */
    uint64_t warmup_ns;                /* after t0; what is due before is the warm-up's */
    const struct reqset *reqset;       /* borrowed; NULL = one name, "" */
    uint64_t ends[PROFILE_STAGES_MAX]; /* of the stages, ns after t0; the last is NS_NEVER */
};

/* Of a checked plan. ERR_INVALID: more than SNAPSHOT_SERIES_MAX rows, with the arithmetic. */
enum err series_map_init(struct series_map *m, const struct plan *p, const struct reqset *reqset,
                         struct errmsg *msg) MUST_CHECK;
/* The map of a run with one row. */
const struct series_map *series_map_one(void);

uint32_t series_map_find(const struct series_map *m, uint64_t index, uint64_t ns);

/* Row of the request with that global index, due `ns` after t0. Hot path. */
static inline uint32_t series_map_row(const struct series_map *m, uint64_t index, uint64_t ns)
{
    return m->n == 1 ? 0 : series_map_find(m, index, ns);
}

/* How long after t0 every request of the same name has the row of one that is due at `ns`: until
 * before that instant; NS_NEVER = always. */
uint64_t series_map_until(const struct series_map *m, uint64_t ns);

/* As the snapshot names the row: number of the stage, or SERIES_STAGE_WARMUP; the request's name,
 * "" for the only one and for the warm-up. */
uint32_t series_map_stage(const struct series_map *m, uint32_t row);
const char *series_map_name(const struct series_map *m, uint32_t row);

#endif
