/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RESULT_H
#define HAMMER_CONTROLLER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/condition.h"
#include "controller/run/drift.h"
#include "controller/run/loss.h"
#include "controller/run/objective.h"
#include "controller/run/outlier.h"
#include "controller/run/stalls.h"
#include "controller/run/stationarity.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

/* Everything a report and the verdict need about a finished (or cut) run. Built by the command from
 * coordinator and merge; read-only afterwards. */

enum result_agent_state {
    RESULT_DONE,    /* ran to its end */
    RESULT_STOPPED, /* stopped on our word */
    RESULT_LOST,
    RESULT_REFUSED, /* said no, or left out: see result_agent.left_out */
    RESULT_UNKNOWN  /* of a stored run whose end nobody saw */
};

struct result_agent {
    char name[64];
    char address[128];
    char version[32];
    enum result_agent_state state;
    char problem[384];
    uint32_t weight, threads, connections;
    bool insecure; /* it was started with --insecure-listen */
    bool same_clock;
    uint32_t clock; /* equal and not 0 = these agents have one clock, not the controller's */
    int64_t clock_offset_ns;
    uint64_t clock_error_ns;
    struct drift drift;
    int64_t start_error_ns; /* true start - asked start; valid when started */
    bool started;
    bool checked;        /* sum(deltas) == cumulative was proven */
    bool left_out;       /* not there in time; the load was split over the others */
    struct loss loss;    /* what is missing because it was lost */
    uint32_t times_late; /* not heard of for a while, and back again: nothing is missing */
    uint64_t longest_late_ns;
    struct outlier outlier;  /* its latencies against the others' */
    struct snapshot *total;  /* owned; sum of its deltas without the warm-up (never NULL) */
    struct snapshot *warmup; /* owned; what was due in the warm-up; NULL = nothing was */
};

/* Percentiles etc. of one interval over all agents. */
struct result_latency {
    uint64_t count, min, mean, p50, p99, max;
};

struct result_interval {
    uint64_t from_ns, to_ns;
    uint64_t sent, completed, errors; /* errors = http_errors + failed + timeouts */
    struct {
        uint64_t sent, completed, errors;
    } warmup; /* of what was due in the warm-up, which is in nothing else of the row but the gauges
               */
    struct result_latency corrected, uncorrected;
    uint32_t agents_reporting;
    uint32_t agents_lost; /* lost, and nothing is known of their load in this interval */
    uint32_t agents_late; /* whose figures came after the interval was closed */
    uint32_t slots;       /* of the interval grid: more than one were sent added together */
    uint64_t backlog;
    uint64_t cpu_busy_ppm;
    uint64_t send_lag_p99, receive_p99; /* this interval's, over all agents */
    /* The same, but never the slowest sample alone: of a few samples p99 is the maximum, and one
     * late wake-up says nothing about an interval. What the verdict looks at. */
    uint64_t send_lag_judged, receive_judged;
};

enum result_status {
    STATUS_VALID,
    STATUS_SERVER_LIMITED,
    STATUS_GENERATOR_LIMITED,
    STATUS_INCOMPLETE,
    STATUS_NO_DATA,
    STATUS_UNREACHABLE,
    STATUS_INTERRUPTED,
    STATUS_ABORTED,
    STATUS_SLO_FAILED,
    STATUS_COUNT
};

#define VERDICT_REASONS_MAX  16
#define VERDICT_WARNINGS_MAX 8

struct verdict {
    enum result_status status; /* decides the exit code: first of 130, 2, 3, 4, 99, 0 */
    bool also_server_limited;  /* valid or generator-limited, and the server limited as well */
    int exit_code;
    size_t n_reasons;
    char reasons[VERDICT_REASONS_MAX][512]; /* the longest problem of an agent, and whose it is */
    size_t n_warnings;                      /* worth knowing, but they decide nothing */
    char warnings[VERDICT_WARNINGS_MAX][256];
};

/* Which part of a stored run a result is about; zeroed = the whole of it. Then intervals, not
 * requests, are what is counted: the ledger of a part does not add up, and nothing is judged. */
struct result_view {
    bool partial;                /* any of the following is given */
    uint64_t from_ns, to_ns;     /* to_ns 0 = to the end; settled to bounds of intervals */
    char agent[64], request[64]; /* "" = all */
    bool one_stage;
    uint32_t stage;
};

struct blocks; /* blocks.h */

/* What became of the rows of --dump-requests. */
struct result_dump {
    const char *file;     /* borrowed; NULL = it was not asked for */
    uint64_t rows;        /* one for each request that was due */
    uint64_t written;     /* lines in the file */
    uint64_t dropped;     /* by agents: there was no room */
    uint64_t not_written; /* came here, but the file did not take them in time */
    uint64_t lost;        /* never came: with a connection, or with an agent */
};

struct result {
    char run_id[33]; /* hex */
    char name[64];
    char *description, *tags; /* owned; NULL = none; tags are comma-separated */
    struct result_view view;
    uint64_t started_wall_ns; /* for printing only */
    uint64_t duration_ns;     /* planned load, or what there was of it when it was cut short */
    uint64_t end_ns;          /* last interval's end, ns after t0 */
    const struct plan *plan;
    bool interrupted;
    const struct condition_list *abort_on;               /* borrowed; NULL = none */
    char aborted[CONDITION_TEXT + CONDITION_SAID + 160]; /* which was met; "" = none */
    char takeover[256]; /* another hammer-ctl had the run before: for how long it was gone; "" =
                           none */
    bool takeover_late; /* agents stopped by themselves meanwhile */
    bool no_target;     /* no connection to the target ever opened */
    char unended[128];  /* of a stored run: why its end is not known; "" = it is */
    uint64_t lost_rows; /* of a stored run: snapshots that could not be stored */
    size_t n_agents;
    struct result_agent *agents;
    struct snapshot *total;  /* all agents added, without the warm-up */
    struct snapshot *warmup; /* the same of the warm-up; NULL = there was none */
    size_t n_intervals;
    struct result_interval *intervals;
    uint64_t every_ns; /* --every; 0 = not given, and there are no groups */
    size_t n_groups;
    struct result_interval *groups; /* owned; the intervals added together */
    struct blocks *blocks;          /* owned; NULL = none */
    size_t n_stalls;
    struct stall *stalls;    /* of an open loop, by begin; agents by their number */
    uint64_t stalls_dropped; /* sightings that were too many to keep */
    size_t n_objectives;
    struct objective *objectives;     /* owned */
    struct stationarity stationarity; /* with the verdict */
    struct result_dump dump;
    struct verdict verdict;
};

/* Zeroed result; totals are empty snapshots. */
struct result *result_new(size_t n_agents);
/* The same without the agents' totals, which merge_finish brings. */
struct result *result_new_bare(size_t n_agents);
void result_free(struct result *r);
/* How long the plan wants to send, NS_NEVER when it has no end. */
uint64_t result_planned_ns(const struct plan *p);
/* Fills duration_ns and end_ns from the plan and the totals, drops the intervals after the planned
 * end of which no agent reported anything, intervals and stalls within the warm-up, and marks
 * intervals that lack lost agents; call it before verdict_eval. */
void result_settle(struct result *r);
/* How long the warm-up is; 0 = there is none. */
uint64_t result_warmup_ns(const struct result *r);
/* The run has due times but only one stopwatch, from the send (--closed-loop), or no due times. */
bool result_one_clock(const struct result *r);
/* It is about a window of the run: requests were under way at its edges, so that its ledger does
 * not add up and nobody knows what was due in it. */
bool result_is_window(const struct result *r);
/* It is about a stage or a request name: what is kept once for all of them (lags, phases, status
 * codes, error texts, connections, CPU) is not known. */
bool result_is_row(const struct result *r);
/* Everything that was counted, the warm-up included: what the ledger is about. */
struct counters result_counters(const struct result *r);
struct counters result_agent_counters(const struct result_agent *a);
/* Took it part in the run, lost or not? */
bool result_took_part(const struct result_agent *a);
/* Requests of the plan that no agent is known to have had due; UINT64_MAX = not known. */
uint64_t result_missing(const struct result *r);
const char *result_status_name(enum result_status s); /* "valid" "server-limited" ... */
const char *result_agent_state_name(enum result_agent_state s);

/* The all-due view (docs/measuring.md): timeouts, failures, unfinished and unsent count as
 * infinitely late. Value at percentile p; false = the rank falls on one of them (print ">= limit").
 */
bool result_all_due(const struct snapshot *s, const struct hist *corrected, double percentile,
                    uint64_t *value);
/* Samples that a percentile between 0 and 100 needs, where none depends on another: n >= ln 0.05 /
 * ln p, from which on the largest sample is an upper bound of it with 95 % confidence
 * (distribution-free, by order statistics); from p99.9 on ten samples beyond it. See
 * controller/run/confidence.h for samples that come in bursts. */
uint64_t result_samples_needed(double percentile);
/* Can n samples support the percentile? 100 and 0 always can. */
bool result_supports(double percentile, uint64_t n);

#endif
