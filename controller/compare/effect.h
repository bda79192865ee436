/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_EFFECT_H
#define HAMMER_CONTROLLER_EFFECT_H

#include <math.h>
#include <stdbool.h>

/*
 * PURE: by how much a figure of the candidate differs from the baseline's: as a ratio, or as a
 * difference. INFINITY is a latency that is not known because the rank falls on a request without a
 * response. Two of those cannot be compared: NAN.
 */

enum effect_kind {
    EFFECT_RATIO,
    EFFECT_DIFFERENCE
};

/* What says that nothing has changed. */
#define EFFECT_NONE(kind) ((kind) == EFFECT_RATIO ? 1.0 : 0.0)

static inline double effect_of(enum effect_kind kind, double candidate, double baseline)
{
    if (kind == EFFECT_DIFFERENCE)
        return candidate - baseline; /* inf - inf is NAN */
    if (candidate == 0 && baseline == 0)
        return 1;
    return candidate / baseline; /* so is inf / inf */
}

/* An estimate with its interval; low may be -INFINITY (of a ratio 0) and high INFINITY: no bound.
 */
struct effect {
    double estimate, low, high;
};

static inline struct effect effect_unknown(enum effect_kind kind)
{
    return (struct effect){NAN, kind == EFFECT_RATIO ? 0 : -INFINITY, INFINITY};
}

/* Order for qsort; NAN must not be among them. */
static inline int effect_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
