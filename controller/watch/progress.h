/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PROGRESS_H
#define HAMMER_CONTROLLER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counters.h"
#include "common/hist.h"
#include "controller/run/coordinator.h"
#include "controller/run/merge.h"
#include "proto/plan.h"

/*
 * PURE: what is known of a run while it goes on, for whoever shows it. Fed with snapshots, closed
 * intervals and the agents' states; its memory does not depend on how long the run is. Sums are of
 * everything that came, without the warm-up; a window is some closed intervals that cover at least
 * a given time, one window after the other, and its percentiles come from added histograms. What is
 * late for its interval is in the sums, in no window.
 */

#define PROGRESS_HISTORY 256 /* windows whose p99 is remembered */

enum progress_phase {
    PROGRESS_DIALLING,
    PROGRESS_PREPARING,
    PROGRESS_CLOCKS, /* the agents' clocks are being measured */
    PROGRESS_ARMED,  /* the start is agreed on */
    PROGRESS_WARMUP, /* what is due counts apart */
    PROGRESS_RUNNING,
    PROGRESS_STOPPING, /* on our word */
    PROGRESS_DRAINING, /* nothing more is due, answers are waited for */
    PROGRESS_OVER,     /* no agent is at it any more */
    PROGRESS_PHASES
};

struct progress_agent {
    char name[64];     /* "" = it has not said it yet */
    char address[128]; /* as the inventory has it */
    enum coord_agent_state state;
    uint64_t late_since_ns;           /* controller's clock; 0 = it is there */
    char problem[96];                 /* why it is lost or refused, cut; "" = it is neither */
    uint64_t sent, completed, errors; /* the warm-up included: what it did */
    uint64_t backlog, in_flight;
};

/* Some intervals, of what was due after the warm-up. */
struct progress_window {
    uint64_t from_ns, to_ns;
    uint64_t sent, completed, errors;             /* the warm-up included, which has no latencies */
    struct result_latency corrected, uncorrected; /* count, p50, p99, max only */
};

struct progress {
    const struct plan *plan; /* borrowed */
    uint64_t planned_ns;     /* NS_NEVER = open end */
    uint64_t window_ns;
    bool one_clock;  /* a closed loop: there are no corrected latencies */
    uint64_t now_ns; /* of the last look, controller's clock */
    uint64_t t0_ns;  /* start on that clock, 0 = not agreed on yet */
    enum progress_phase phase;
    size_t n_agents;
    struct progress_agent *agents; /* owned */
    uint64_t snapshots;            /* taken so far */
    uint64_t backlog, in_flight;   /* of agents that are at it */
    struct counters total, warmup;
    struct hist *corrected, *uncorrected; /* owned; of the run so far */
    struct progress_window last;          /* the last one that is whole; to_ns 0 = none is */
    size_t n_history, next_history;
    uint64_t history[PROGRESS_HISTORY]; /* p99 of the main clock, UINT64_MAX = nothing completed */
    struct progress_window open;        /* the one that is growing; its latencies are below */
    struct hist *open_corrected, *open_uncorrected; /* owned */
};

/* The plan outlives it. */
struct progress *progress_new(size_t n_agents, const struct plan *plan, uint64_t window_ns);
void progress_free(struct progress *p); /* NULL is fine */

/* A snapshot that was taken, by the number of its agent. */
void progress_snapshot(struct progress *p, size_t agent, const struct snapshot *s);
/* An interval that was closed, in order. true = with it a window is whole: see p->last. */
bool progress_interval(struct progress *p, const struct merge_view *v);
/* How the agents are, and what time it is; `inventory` has their addresses. */
void progress_look(struct progress *p, const struct coordinator *c,
                   const struct inventory *inventory, uint64_t now_ns);
/* The part of it that needs no coordinator: phase and gauges, from the agents as they are. */
void progress_settle(struct progress *p, uint64_t t0_ns, uint64_t now_ns);

/* Time since the start, 0 before. */
uint64_t progress_elapsed_ns(const struct progress *p);
/* Requests per second that the plan wants at an instant after the start; 0 = as many as get
 * through, or none any more. */
double progress_target(const struct progress *p, uint64_t at_ns);
/* Complete responses per second of the window; 0 where it is empty. */
double progress_rate(const struct progress_window *w);
/* http_errors + failed + timeouts. */
uint64_t progress_errors(const struct counters *c);
/* The i-th of the remembered p99, 0 the oldest. */
uint64_t progress_history(const struct progress *p, size_t i);
/* Nearest rank, never above the largest sample; count 0 = all 0. NULL = empty. */
struct result_latency progress_latency(const struct hist *h);

bool progress_agent_late(const struct progress_agent *a);
/* "late" where it is not heard of, else the state's own name. */
const char *progress_agent_word(const struct progress_agent *a);
const char *progress_phase_name(enum progress_phase phase);

#endif
