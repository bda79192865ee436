/* SPDX-License-Identifier: MIT */
#include "agent/client/sampling.h"

#include "common/clock.h"

#define COUNT_NS (SAMPLING_COUNT * NS_PER_SEC / SAMPLING_ALL_RATE)

void sampling_init(struct sampling *m)
{
    *m = (struct sampling){.every = 1, .left = 1};
}

bool sampling_next(struct sampling *m, uint64_t now_ns)
{
    if (++m->counted >= SAMPLING_COUNT) {
        m->every = clock_elapsed(m->from_ns, now_ns) < COUNT_NS ? SAMPLING_EVERY : 1;
        m->counted = 0;
        m->from_ns = now_ns;
        if (m->left > m->every)
            m->left = m->every;
    }
    if (--m->left > 0)
        return false;
    m->left = m->every;
    return true;
}
