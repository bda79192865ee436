/* SPDX-License-Identifier: MIT */
#include "proto/pick.h"

#include "common/mem.h"

static uint64_t common_factor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Steps of about 0.618 of the whole meet all of it evenly, whatever part of it one has seen. */
static uint64_t stride_of(uint64_t sum)
{
    uint64_t stride = (uint64_t)((unsigned __int128)sum * UINT64_C(0x9e3779b97f4a7c15) >> 64);
    if (stride == 0)
        return 1;
    while (common_factor(stride, sum) != 1)
        stride++;
    return stride;
}

void pick_init(struct pick *k, const struct plan *p)
{
    *k = (struct pick){
        .order = plan_order_of(p), .seed = p->seed, .n = (uint32_t)plan_request_count(p)};
    if (k->n == 1 || k->order == PLAN_ORDER_SEQUENTIAL)
        return;
    k->ends = mem_calloc(k->n, sizeof *k->ends);
    for (uint32_t i = 0; i < k->n; i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        k->sum += q.weight;
        k->ends[i] = k->sum;
    }
    k->stride = stride_of(k->sum);
}

void pick_clear(struct pick *k)
{
    mem_free(k->ends);
    *k = (struct pick){.n = 1};
}

/* splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t place_of(const struct pick *k, uint64_t index)
{
    if (k->order == PLAN_ORDER_WEIGHT)
        return (uint64_t)((unsigned __int128)(index % k->sum) * k->stride % k->sum);
    uint64_t random = mix(mix(k->seed + UINT64_C(0xd1b54a32d192ed03)) ^ index);
    random = mix(random + UINT64_C(0x9e3779b97f4a7c15));
    return (uint64_t)((unsigned __int128)random * k->sum >> 64);
}

uint32_t pick_by_weight(const struct pick *k, uint64_t index)
{
    uint64_t place = place_of(k, index);
    uint32_t low = 0, high = k->n - 1; /* the first whose end is beyond the place */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (k->ends[mid] > place)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}
