/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_GATE_H
#define HAMMER_CONTROLLER_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/compare/effect.h"

/*
 * PURE: from an effect, its interval and its p to PASS, REGRESSION or INCONCLUSIVE.
 *
 * - REGRESSION: the effect is beyond the limit and that is not chance. Of several figures p is held
 *   against the level by Holm's steps, so that all of them together raise a false alarm no more
 *   often than one alone.
 * - PASS: the whole interval is on the good side of the limit.
 * - INCONCLUSIVE: neither. Nothing has been shown; more runs, or longer ones, may.
 */

#define GATE_ALPHA 0.05

enum gate_verdict {
    GATE_NOT_JUDGED, /* shown only */
    GATE_PASS,
    GATE_REGRESSION,
    GATE_INCONCLUSIVE
};

struct gate_row {
    bool judged;
    enum effect_kind kind;
    bool less_is_worse; /* a rate; else more is worse */
    bool unseen;        /* neither side had any of it, and nobody asked for proof: PASS */
    double limit;       /* the effect that is still accepted: 1.1 of a ratio for +10 % */
    struct effect effect;
    double p;                  /* two-sided, see gate_judge */
    double p_holm;             /* filled in: p after Holm's steps */
    double smallest;           /* filled in: see gate_smallest */
    enum gate_verdict verdict; /* filled in */
};

/* p of a row: the chance of what was seen if it were an accident. Rows that are not judged take no
 * part in Holm's steps. */
void gate_judge(struct gate_row *rows, size_t n);
/* The worst: REGRESSION, then INCONCLUSIVE, then PASS; nothing judged is INCONCLUSIVE. */
enum gate_verdict gate_worst(const struct gate_row *rows, size_t n);

/* The smallest change for the worse that these runs could have shown: had the candidate been worse
 * by that much, with the same spread, the interval would just have left out "no change". In the
 * unit of the effect, above 0: 0.08 of a ratio is 8 %. INFINITY: none at all. */
double gate_smallest(const struct gate_row *row);

const char *gate_verdict_name(enum gate_verdict v); /* "PASS" ..., "" when not judged */
int gate_exit_code(enum gate_verdict v);            /* 0, 99, 5 */

#endif
