/* SPDX-License-Identifier: MIT */
#include "agent/engine/series_map.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "proto/snapshot.h"

static const struct series_map one = {
    .n = 1, .n_names = 1, .n_stages = 1, .warmup = UINT32_MAX, .ends = {NS_NEVER}};

const struct series_map *series_map_one(void)
{
    return &one;
}

static void take_stages(struct series_map *m, const struct plan *p)
{
    uint64_t end_ns = 0;
    m->n_stages = p->n_stages > 0 ? p->n_stages : 1;
    for (uint32_t i = 0; i + 1 < m->n_stages; i++)
        m->ends[i] = end_ns = clock_add(end_ns, p->stages[i].duration_ns);
    m->ends[m->n_stages - 1] = NS_NEVER;
}

enum err series_map_init(struct series_map *m, const struct plan *p, const struct reqset *reqset,
                         struct errmsg *msg)
{
    *m = (struct series_map){.reqset = reqset, .warmup = UINT32_MAX, .warmup_ns = p->warmup_ns};
    size_t names = reqset != NULL && reqset->n_names > 1 ? reqset->n_names : 1;
    take_stages(m, p);
    size_t rows = m->n_stages * names + (p->warmup_ns > 0);
    if (names > SNAPSHOT_SERIES_MAX || rows > SNAPSHOT_SERIES_MAX)
        return errmsg_set(msg, ERR_INVALID,
                          "%" PRIu32 " stage%s x %zu request name%s%s = %zu rows of figures: "
                          "accepted is at most %d",
                          m->n_stages, m->n_stages == 1 ? "" : "s", names, names == 1 ? "" : "s",
                          p->warmup_ns > 0 ? " + the warm-up" : "", rows, SNAPSHOT_SERIES_MAX);
    m->n_names = (uint32_t)names;
    m->n = (uint32_t)rows;
    if (p->warmup_ns > 0)
        m->warmup = m->n - 1;
    return ERR_OK;
}

static uint32_t stage_at(const struct series_map *m, uint64_t ns)
{
    uint32_t low = 0, high = m->n_stages - 1; /* the last one has no end */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ns < m->ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t name_of(const struct series_map *m, uint64_t index)
{
    return m->n_names == 1 ? 0 : m->reqset->requests[reqset_pick(m->reqset, index)].name;
}

uint32_t series_map_find(const struct series_map *m, uint64_t index, uint64_t ns)
{
    if (ns < m->warmup_ns)
        return m->warmup;
    return stage_at(m, ns) * m->n_names + name_of(m, index);
}

uint64_t series_map_until(const struct series_map *m, uint64_t ns)
{
    return ns < m->warmup_ns ? m->warmup_ns : m->ends[stage_at(m, ns)];
}

uint32_t series_map_stage(const struct series_map *m, uint32_t row)
{
    return row == m->warmup ? SERIES_STAGE_WARMUP : row / m->n_names;
}

const char *series_map_name(const struct series_map *m, uint32_t row)
{
    if (row == m->warmup || m->reqset == NULL || m->reqset->n_names == 0)
        return "";
    return m->reqset->names[row % m->n_names];
}
