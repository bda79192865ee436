/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_COMPARISON_H
#define HAMMER_CONTROLLER_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/option.h"
#include "controller/compare/criterion.h"
#include "controller/compare/gate.h"
#include "controller/compare/rank_test.h"
#include "controller/run/result.h"

/*
 * PURE: two runs side by side, or two sets of runs, each figure with its change, the interval of
 * that, and a verdict. One run a side: block bootstrap, which knows nothing of how runs of the same
 * thing differ. Several: exact rank test over runs. Requests are never the unit of a test: there
 * are so many that every difference is significant.
 */

struct compared_run {
    const char *id, *name;  /* borrowed; name "" = none */
    const struct result *r; /* whole */
};

struct compared_side {
    struct compared_run runs[RANK_TEST_MAX];
    size_t n;
};

struct comparison_question {
    const struct compared_side *baseline, *candidate;
    const struct criterion *criteria; /* --fail-if */
    size_t n_criteria;
    bool by_default; /* they are the default ones: without an error on either side errors pass */
    /* The blocks of a part of the side's only run; NULL = there are none. For criteria with a scope
     * only. */
    const struct blocks *(*part)(void *arg, bool candidate, const struct criterion *c);
    void *arg;
};

struct comparison_row {
    struct criterion criterion;
    double baseline, candidate; /* of several runs the median; see sample_figure */
    double a12;                 /* of sets, see rank_test.h */
    double least_p;             /* of sets: the least that so many runs can reach */
    struct gate_row gate;
};

/* Largest distance of the two distributions of the main clock. A description, never the verdict. */
struct comparison_gap {
    double distance; /* 0 to 1 */
    uint64_t at_ns;
    double baseline_within, candidate_within; /* shares of the requests that took no longer */
};

struct comparison {
    const struct compared_side *baseline, *candidate; /* borrowed */
    bool sets;
    struct option_list differences; /* see likeness.h; empty = they may be compared */
    size_t n_rows, n_judged;
    struct comparison_row *rows; /* owned */
    struct comparison_gap gap;
    double stalls[2], longest_stall_ns[2]; /* baseline, candidate; of several runs the median */
    enum gate_verdict verdict;             /* with differences never PASS or REGRESSION */
    int exit_code;
};

/* What is judged when nothing is asked for. */
extern const char *const comparison_default_criteria[];
extern const size_t comparison_n_default_criteria;

/* Each of baseline and candidate has a run. The question's runs outlive the answer. */
void comparison_make(const struct comparison_question *q, struct comparison *out);
void comparison_clear(struct comparison *c);

/* --- forms: one file each, ending in its const entry -------------------------------------------
 */

struct comparison_format {
    const char *name;
    bool (*write)(const struct comparison *c, FILE *out); /* false = it could not be written */
};

extern const struct comparison_format comparison_text;
extern const struct comparison_format comparison_json;
extern const struct comparison_format comparison_markdown;
extern const struct comparison_format comparison_junit;

#define COMPARISON_SAID 48
/* "1.04s", "0.12%", "200.1/s", "no response", "-". */
const char *comparison_say(const struct criterion *c, double figure, char buf[COMPARISON_SAID]);
/* A change: "+8.2%", "+5.00ms", "+0.10pt", "-" when not known. */
const char *comparison_say_change(const struct gate_row *g, const struct criterion *c,
                                  double effect, char buf[COMPARISON_SAID]);
/* "+7.0%..+9.1%", "none" without bounds. */
const char *comparison_say_interval(const struct comparison_row *r, char buf[2 * COMPARISON_SAID]);
/* The smallest difference that could have been shown: "1.2%", "none". */
const char *comparison_say_smallest(const struct comparison_row *r, char buf[COMPARISON_SAID]);
/* Where it passed because no error was seen: "no error on either side; could have missed up to
 * 0.3pt"; else "". */
#define COMPARISON_MISSED 120
const char *comparison_say_missed(const struct comparison_row *r, char buf[COMPARISON_MISSED]);
/* The method and its limits in one sentence. */
const char *comparison_method(const struct comparison *c);
/* What to do about an inconclusive one, and why a set is too small; "" = nothing. */
#define COMPARISON_ADVICE 400
const char *comparison_advice(const struct comparison *c, char buf[COMPARISON_ADVICE]);
/* "3f2a1b2c \"main\"". */
const char *comparison_run_name(const struct compared_run *r, char *buf, size_t cap);

#endif
