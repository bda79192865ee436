/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPLAY_CORE_H
#define HAMMER_CONTROLLER_REPLAY_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/condition.h"
#include "controller/run/result.h"
#include "controller/store/recording.h"
#include "controller/store/replay.h"
#include "controller/store/store.h"
#include "proto/plan.h"

/*
 * Part of replay: from recordings and their rows, wherever these come from, to a result. No I/O but
 * through the source.
 */

struct replay_source {
    const struct recording *recording; /* borrowed */
    /* Every row, as store_rows; may be called more than once. */
    enum err (*rows)(void *arg, store_row_fn fn, void *fn_arg, struct errmsg *msg);
    void *arg;
};

/* The same of a recording: what it says of its plan and conditions, taken apart. */
struct replay_parts {
    struct plan plan;
    struct condition_list abort_on, slo;
};

struct replay_opened;

struct replayed {
    size_t n; /* runs that were opened for it; 0 = the sources are the caller's */
    struct replay_opened *opened;
    struct replay_parts parts; /* of one run; of several what they are together */
    struct recording *merged;  /* owned; what several are together, as a recording; NULL = one */
    struct result *result;
};

enum err replay_parts_read(struct replay_parts *p, const struct recording *r,
                           struct errmsg *msg) MUST_CHECK;
void replay_parts_clear(struct replay_parts *p);

/* One result of n sources, n >= 1, in the order in which they are merged. */
enum err replay_sources(const struct replay_source *sources, size_t n,
                        const struct replay_options *o, struct replayed **out,
                        struct errmsg *msg) MUST_CHECK;
/* All but what was opened for it. */
void replayed_clear(struct replayed *r);

#define REPLAY_ALTERED "its bytes are not those that were stored"

/* How an agent is named to the user. */
const char *replay_agent_label(const struct result_agent *a);
/* Why the run's end is not known; "" = it is. */
void replay_unended(const struct recording *r, char *buf, size_t cap);

#endif
