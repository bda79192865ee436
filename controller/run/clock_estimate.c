/* SPDX-License-Identifier: MIT */
#include "controller/run/clock_estimate.h"

bool clock_estimate_add(struct clock_estimate *e, uint64_t t1_ns, uint64_t t2_ns, uint64_t t3_ns,
                        uint64_t t4_ns)
{
    if (t4_ns < t1_ns || t3_ns < t2_ns || t3_ns - t2_ns > t4_ns - t1_ns)
        return false;
    uint64_t rtt = (t4_ns - t1_ns) - (t3_ns - t2_ns);
    if (e->good == 0 || rtt < e->rtt_ns) {
        __int128 out = (__int128)t2_ns - t1_ns, back = (__int128)t3_ns - t4_ns;
        e->rtt_ns = rtt;
        e->offset_ns = (int64_t)((out + back) / 2);
    }
    e->good++;
    return true;
}

uint64_t clock_estimate_error(const struct clock_estimate *e)
{
    return (e->rtt_ns + 1) / 2;
}
