/* SPDX-License-Identifier: MIT */
#include "controller/run/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/run/verdict_incomplete.h"
#include "controller/run/verdict_warn.h"

#define EXIT_INTERRUPTED     130
#define EXIT_ABORTED         99
#define LAG_BOUND_MIN        NS_PER_MS
#define LAG_BOUND_SHARE      4      /* of corrected p50: 25 % */
#define CPU_BOUND_PPM        800000 /* of one core, busiest worker */
#define SLIVER               10     /* an interval below a tenth of the first */
#define INTERVALS_BOUND      10     /* one in ten intervals over a bound */
#define WAITED_BOUND         100    /* one in a hundred requests */
#define FAULTS_BOUND         100
#define PERCENT(part, whole) ((whole) > 0 ? 100.0 * (double)(part) / (double)(whole) : 0.0)

static size_t agents_taking_part(const struct result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        n += !r->agents[i].left_out;
    return n;
}

static bool has_rate(const struct result *r)
{
    return r->plan != NULL && r->plan->rate.num > 0;
}

/* --- one question each; true = it applies, and its reasons are in the verdict ------------------
 */

static bool is_interrupted(struct result *r, const struct counters *c)
{
    (void)c;
    if (!r->interrupted)
        return false;
    char end[UNITS_TEXT], planned[UNITS_TEXT];
    if (r->plan != NULL && r->plan->duration_ns != NS_NEVER)
        verdict_reason(r, "stopped by Ctrl-C or a signal after %s of %s",
                       units_format_latency(r->end_ns, end),
                       units_format_duration(r->plan->duration_ns, planned));
    else
        verdict_reason(r, "stopped by Ctrl-C or a signal after %s",
                       units_format_latency(r->end_ns, end));
    return true;
}

/* What the first agent that has one says; "" = none does. */
static const char *first_problem(const struct result *r)
{
    for (size_t i = 0; i < r->n_agents; i++)
        if (r->agents[i].problem[0] != '\0')
            return r->agents[i].problem;
    return "";
}

static uint64_t failed_attempts(const struct counters *c)
{
    return c->connect_errors + c->handshake_errors + c->failed_connect;
}

/* What the most frequent failure was. */
static const char *first_error(const struct result *r)
{
    const struct error_row *best = NULL;
    for (size_t i = 0; i < r->total->n_errors; i++)
        if (best == NULL || r->total->errors[i].count > best->count)
            best = &r->total->errors[i];
    return best != NULL ? best->text : "";
}

static void say_unreachable(struct result *r, const struct counters *c)
{
    const char *why = first_problem(r);
    if (why[0] == '\0' && c->handshake_errors > 0)
        why = first_error(r);
    const char *glue = why[0] != '\0' ? ": " : "";
    if (c->handshake_errors > 0)
        verdict_reason(r,
                       "no connection to the target ever opened: %" PRIu64 " attempts failed%s%s",
                       failed_attempts(c), glue, why);
    else if (failed_attempts(c) > 0)
        verdict_reason(r, "no connection to the target ever opened: %" PRIu64 " attempts failed",
                       failed_attempts(c));
    else
        verdict_reason(r, "no connection to the target ever opened%s%s", glue, why);
}

/* When every agent was lost before it could tell, nothing is known of the target. */
static bool is_unreachable(struct result *r, const struct counters *measured)
{
    (void)measured; /* the warm-up counts: a target that answered in it is there */
    const struct counters all = result_counters(r), *c = &all;
    bool nobody_told = agents_taking_part(r) > 0 &&
                       verdict_agents_missing(r) == agents_taking_part(r) &&
                       failed_attempts(c) == 0;
    bool none_opened = c->connects == 0 && c->completed == 0 && !nobody_told;
    if (!r->no_target && !none_opened)
        return false;
    if (r->interrupted && !r->no_target && failed_attempts(c) == 0)
        return false; /* cut before the first attempt ended */
    if (r->unended[0] != '\0' && !r->no_target && failed_attempts(c) == 0)
        return false; /* nothing was stored yet */
    say_unreachable(r, c);
    return true;
}

static bool is_no_data(struct result *r, const struct counters *c)
{
    if (c->completed > 0 || r->no_target)
        return false;
    uint64_t warm = r->warmup != NULL ? snapshot_counters(r->warmup).scheduled : 0;
    if (c->scheduled == 0 && warm > 0)
        verdict_reason(r, "all %" PRIu64 " requests were due in the warm-up", warm);
    else
        verdict_reason(r, "no request completed: %" PRIu64 " were due, %" PRIu64 " sent",
                       c->scheduled, c->sent);
    return true;
}

/* Without a corrected clock (--closed-loop) the other one has to do. */
static uint64_t lag_bound(const struct result_interval *row)
{
    uint64_t p50 = row->corrected.p50 > 0 ? row->corrected.p50 : row->uncorrected.p50;
    uint64_t share = p50 / LAG_BOUND_SHARE;
    return share > LAG_BOUND_MIN ? share : LAG_BOUND_MIN;
}

static uint64_t send_lag(const struct result_interval *row)
{
    return row->send_lag_judged;
}

static uint64_t receive_lag(const struct result_interval *row)
{
    return row->receive_judged;
}

/* Only intervals in which requests were sent: the tail in which answers are awaited says nothing.
 * Nor does the sliver left when the duration is no multiple of the interval: a worker that wakes up
 * once in half a millisecond is "busy" for all of it. */
static bool judged(const struct result *r, size_t i)
{
    const struct result_interval *row = &r->intervals[i], *first = &r->intervals[0];
    return row->sent > 0 && (row->to_ns - row->from_ns) * SLIVER >= first->to_ns - first->from_ns;
}

static size_t intervals_judged(const struct result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_intervals; i++)
        n += judged(r, i);
    return n;
}

static bool one_in_ten(size_t over, size_t of)
{
    return over > 0 && over * INTERVALS_BOUND >= of;
}

/* `asked_ns`: what the user asked for comes on top of the bound. */
static bool lag_over(struct result *r, const char *what,
                     uint64_t (*lag)(const struct result_interval *), uint64_t asked_ns)
{
    size_t over = 0;
    uint64_t worst = 0;
    for (size_t i = 0; i < r->n_intervals; i++) {
        const struct result_interval *row = &r->intervals[i];
        if (!judged(r, i) || lag(row) <= lag_bound(row) + asked_ns)
            continue;
        over++;
        worst = lag(row) > worst ? lag(row) : worst;
    }
    if (!one_in_ten(over, intervals_judged(r)))
        return false;
    char text[UNITS_TEXT], quantum[UNITS_TEXT], asked[2 * UNITS_TEXT] = "";
    if (asked_ns > 0)
        snprintf(asked, sizeof asked, ", each plus the quantum of %s",
                 units_format_duration(asked_ns, quantum));
    verdict_reason(r,
                   "hammer's own %s delay was over its bound (p99 > 1ms and > 25 %% of %sp50%s) in "
                   "%zu of %zu intervals, worst p99 %s",
                   what, result_one_clock(r) ? "" : "corrected ", asked, over, intervals_judged(r),
                   units_format_latency(worst, text));
    return true;
}

static bool cpu_over(struct result *r)
{
    size_t over = 0;
    uint64_t worst = 0;
    for (size_t i = 0; i < r->n_intervals; i++) {
        const struct result_interval *row = &r->intervals[i];
        if (!judged(r, i) || row->cpu_busy_ppm <= CPU_BOUND_PPM)
            continue;
        over++;
        worst = row->cpu_busy_ppm > worst ? row->cpu_busy_ppm : worst;
    }
    if (!one_in_ten(over, intervals_judged(r)))
        return false;
    verdict_reason(
        r,
        "a worker thread used more than 80 %% of its core in %zu of %zu intervals, at most %.0f %%",
        over, intervals_judged(r), (double)worst / 1e4);
    return true;
}

/* Delay and CPU judge a schedule only; a closed loop runs as fast as it can. Faults count always:
 * a generator without descriptors measures itself. */
static bool is_generator_limited(struct result *r, const struct counters *c)
{
    bool limited = false;
    if (has_rate(r)) {
        limited = lag_over(r, "send", send_lag, r->plan->dispatch_quantum_ns);
        limited = lag_over(r, "receive", receive_lag, 0) || limited;
        limited = cpu_over(r) || limited;
    }
    uint64_t faults = counters_faults(c);
    if (faults * FAULTS_BOUND > c->scheduled) {
        verdict_reason(r,
                       "generator faults: %" PRIu64 " for %" PRIu64 " requests (%" PRIu64
                       " descriptors, %" PRIu64 " local ports, %" PRIu64 " kernel memory)",
                       faults, c->scheduled, c->fault_fd_limit, c->fault_ports, c->fault_memory);
        limited = true;
    }
    return limited;
}

static bool is_aborted(struct result *r, const struct counters *c)
{
    (void)c;
    if (r->aborted[0] != '\0')
        verdict_reason(r, "%s", r->aborted);
    return r->aborted[0] != '\0';
}

static bool is_slo_failed(struct result *r, const struct counters *c)
{
    (void)c;
    size_t missed = objectives_missed(r);
    if (missed > 0)
        verdict_reason(r, "%zu of %zu objectives (--slo) did not hold", missed, r->n_objectives);
    return missed > 0;
}

/* What was due and not sent when the load ended. */
static uint64_t backlog_at_end(const struct result *r)
{
    for (size_t i = 0; i < r->n_intervals; i++)
        if (r->intervals[i].to_ns >= r->duration_ns)
            return r->intervals[i].backlog;
    return r->n_intervals > 0 ? r->intervals[r->n_intervals - 1].backlog : 0;
}

static bool is_server_limited(struct result *r, const struct counters *c)
{
    if (c->completed == 0)
        return false;
    uint64_t backlog = backlog_at_end(r);
    bool many = c->waited > 0 && c->waited * WAITED_BOUND >= c->scheduled;
    bool stood = c->unsent_no_connection > 0 || (backlog > 0 && c->waited > 0);
    bool dropped = c->unsent_dropped > 0 && c->unsent_dropped * WAITED_BOUND >= c->scheduled;
    if (dropped)
        verdict_reason(r,
                       "%" PRIu64 " of %" PRIu64
                       " requests (%.1f %%) were dropped because every connection was busy",
                       c->unsent_dropped, c->scheduled, PERCENT(c->unsent_dropped, c->scheduled));
    if (many)
        verdict_reason(r,
                       "%" PRIu64 " of %" PRIu64
                       " requests (%.1f %%) waited because every connection was busy",
                       c->waited, c->scheduled, PERCENT(c->waited, c->scheduled));
    if (stood && c->unsent_no_connection > 0 && failed_attempts(c) > 0)
        verdict_reason(r,
                       "%" PRIu64 " requests never got a connection before the end; %" PRIu64
                       " attempts to open one failed",
                       c->unsent_no_connection, failed_attempts(c));
    else if (stood && c->unsent_no_connection > 0)
        verdict_reason(r, "%" PRIu64 " requests never got a free connection before the end",
                       c->unsent_no_connection);
    else if (stood)
        verdict_reason(r, "a backlog of %" PRIu64 " requests stood when the load ended", backlog);
    return many || stood || dropped;
}

/* In the order of the exit codes' precedence (docs/measuring.md, README): the first that applies
 * decides. */
static const struct {
    enum result_status status;
    int exit_code;
    bool (*applies)(struct result *r, const struct counters *c);
} checks[] = {
    {STATUS_INTERRUPTED, EXIT_INTERRUPTED, is_interrupted},
    {STATUS_UNREACHABLE, 2, is_unreachable},
    {STATUS_INCOMPLETE, 3, verdict_incomplete},
    {STATUS_NO_DATA, 3, is_no_data},
    {STATUS_GENERATOR_LIMITED, 4, is_generator_limited},
    {STATUS_ABORTED, EXIT_ABORTED, is_aborted},
    {STATUS_SLO_FAILED, EXIT_ABORTED, is_slo_failed},
    {STATUS_SERVER_LIMITED, 0, is_server_limited},
};

void verdict_eval(struct result *r)
{
    r->verdict = (struct verdict){.status = STATUS_VALID};
    struct counters c = snapshot_counters(r->total);
    bool decided = false;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (!checks[i].applies(r, &c))
            continue;
        if (!decided) {
            r->verdict.status = checks[i].status;
            r->verdict.exit_code = checks[i].exit_code;
            decided = true;
        }
        if (checks[i].status == STATUS_SERVER_LIMITED)
            r->verdict.also_server_limited = true;
    }
    r->stationarity = stationarity_of(r);
    verdict_warn(r);
}
