/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PICK_H
#define HAMMER_PROTO_PICK_H

#include <stdint.h>

#include "proto/plan.h"

/*
 * PURE: which of a plan's requests is sent for which index of the whole run: the same whoever
 * sends it.
 *
 *   sequential  one after the other, whatever their weights
 *   weight      each `weight` times in every W in a row, W the sum of all weights, well mixed
 *   random      independently of each other, with the weights as odds, from the seed
 *
 * Read-only after pick_init: any thread.
 */

struct pick {
    enum plan_order order;
    uint64_t seed;
    uint32_t n;      /* requests */
    uint64_t *ends;  /* owned; of each request's share of 0 .. sum - 1; NULL = sequential */
    uint64_t sum;    /* of the weights */
    uint64_t stride; /* WEIGHT: has no factor in common with sum */
};

void pick_init(struct pick *k, const struct plan *p);
void pick_clear(struct pick *k);

/* Hot path, without the obvious cases. */
uint32_t pick_by_weight(const struct pick *k, uint64_t index);

/* Number of the request: 0 .. n-1. Hot path. */
static inline uint32_t pick_at(const struct pick *k, uint64_t index)
{
    if (k->n == 1)
        return 0;
    return k->ends == NULL ? (uint32_t)(index % k->n) : pick_by_weight(k, index);
}

#endif
