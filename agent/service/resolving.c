/* SPDX-License-Identifier: MIT */
#include "agent/service/resolving.h"

#include "common/mem.h"

struct resolving {
    unsigned out;
    bool let_go;
};

struct resolving *resolving_new(void)
{
    return mem_calloc(1, sizeof(struct resolving));
}

bool resolving_enter(struct resolving *r)
{
    if (r == NULL)
        return true;
    if (r->out >= RESOLVING_MAX)
        return false;
    r->out++;
    return true;
}

void resolving_leave(struct resolving *r)
{
    if (r != NULL && --r->out == 0 && r->let_go)
        mem_free(r);
}

void resolving_free(struct resolving *r)
{
    if (r == NULL)
        return;
    r->let_go = true;
    if (r->out == 0)
        mem_free(r);
}
