/* SPDX-License-Identifier: MIT */
#include "controller/run/result.h"

#include <math.h>

#include "common/mem.h"
#include "controller/run/blocks.h"

/* From this percentile on as many samples beyond it as a claim about it needs. */
#define FAR_TAIL   99.9
#define FAR_EVENTS 10

static const char *const status_names[STATUS_COUNT] = {
    [STATUS_VALID] = "valid",
    [STATUS_SERVER_LIMITED] = "server-limited",
    [STATUS_GENERATOR_LIMITED] = "generator-limited",
    [STATUS_INCOMPLETE] = "incomplete",
    [STATUS_NO_DATA] = "no-data",
    [STATUS_UNREACHABLE] = "unreachable",
    [STATUS_INTERRUPTED] = "interrupted",
    [STATUS_ABORTED] = "aborted",
    [STATUS_SLO_FAILED] = "slo-failed",
};

static const char *const agent_state_names[] = {
    [RESULT_DONE] = "done",       [RESULT_STOPPED] = "stopped", [RESULT_LOST] = "lost",
    [RESULT_REFUSED] = "refused", [RESULT_UNKNOWN] = "unknown",
};

const char *result_status_name(enum result_status s)
{
    return status_names[s];
}

const char *result_agent_state_name(enum result_agent_state s)
{
    return agent_state_names[s];
}

struct result *result_new_bare(size_t n_agents)
{
    struct result *r = mem_calloc(1, sizeof *r);
    r->n_agents = n_agents;
    r->agents = mem_calloc(n_agents, sizeof *r->agents);
    r->total = snapshot_new();
    return r;
}

struct result *result_new(size_t n_agents)
{
    struct result *r = result_new_bare(n_agents);
    for (size_t i = 0; i < n_agents; i++)
        r->agents[i].total = snapshot_new();
    return r;
}

static void free_sums(struct snapshot *total, struct snapshot *warmup)
{
    snapshot_free(total);
    snapshot_free(warmup);
}

void result_free(struct result *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->n_agents; i++)
        free_sums(r->agents[i].total, r->agents[i].warmup);
    free_sums(r->total, r->warmup);
    mem_free(r->description);
    mem_free(r->tags);
    mem_free(r->agents);
    mem_free(r->intervals);
    mem_free(r->groups);
    blocks_free(r->blocks);
    mem_free(r->stalls);
    mem_free(r->objectives);
    mem_free(r);
}

uint64_t result_planned_ns(const struct plan *p)
{
    uint64_t ns = p->duration_ns;
    if (p->requests == UINT64_MAX || p->rate.num == 0)
        return ns;
    uint64_t counted = plan_due_of_index(p, p->requests);
    return counted < ns ? counted : ns;
}

/* Whoever waits for an agent after the plan's end, or takes a run over then, has opened rows for
 * time in which nothing was due: no interval of the run. */
static size_t without_rows_after_the_end(const struct result_interval *rows, size_t n,
                                         uint64_t planned)
{
    while (n > 0 && rows[n - 1].agents_reporting == 0 && rows[n - 1].from_ns >= planned)
        n--;
    return n;
}

/* Of some nothing but the warm-up is in them. */
static size_t without_warmup(struct result_interval *rows, size_t n, uint64_t end_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].to_ns > end_ns)
            rows[kept++] = rows[i];
    return kept;
}

static void drop_stalls_of_warmup(struct result *r, uint64_t end_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_stalls; i++)
        if (r->stalls[i].begin_ns + r->stalls[i].length_ns > end_ns)
            r->stalls[kept++] = r->stalls[i];
    r->n_stalls = kept;
}

#define GAP_ROWS_MAX 65536 /* a lease has fewer; what a file says may be anything */

/* A lost agent's load is missing until it was given up; where nobody else has reported anything
 * after it there are no rows yet that could say so. */
static size_t with_gap(const struct result *r, struct result_interval **rows, size_t n,
                       uint64_t step, uint64_t planned)
{
    uint64_t end_ns = 0, from_ns = n > 0 ? (*rows)[n - 1].to_ns : 0;
    for (size_t i = 0; i < r->n_agents; i++)
        if (r->agents[i].loss.any && r->agents[i].loss.at_ns > end_ns)
            end_ns = r->agents[i].loss.at_ns;
    end_ns = end_ns < planned ? end_ns : planned;
    if (r->view.partial || step == 0 || end_ns <= from_ns)
        return n;
    from_ns = (from_ns + step - 1) / step * step;
    size_t more = from_ns < end_ns ? (size_t)((end_ns - from_ns) / step) : 0;
    if (more > GAP_ROWS_MAX)
        more = GAP_ROWS_MAX;
    *rows = mem_realloc(*rows, n + more + 1, sizeof **rows);
    for (; more > 0; more--, from_ns += step)
        (*rows)[n++] =
            (struct result_interval){.from_ns = from_ns, .to_ns = from_ns + step, .slots = 1};
    return n;
}

static size_t settle_rows(const struct result *r, struct result_interval *rows, size_t n,
                          uint64_t planned)
{
    n = without_rows_after_the_end(rows, n, planned);
    n = without_warmup(rows, n, result_warmup_ns(r));
    for (size_t i = 0; i < r->n_agents; i++)
        for (size_t k = 0; r->agents[i].loss.any && k < n; k++)
            rows[k].agents_lost += loss_lacks(&r->agents[i].loss, rows[k].from_ns, rows[k].to_ns);
    return n;
}

bool result_took_part(const struct result_agent *a)
{
    return !a->left_out && a->state != RESULT_REFUSED;
}

static struct counters with_warmup(const struct snapshot *total, const struct snapshot *warmup)
{
    struct counters c = snapshot_counters(total);
    if (warmup == NULL)
        return c;
    struct counters w = snapshot_counters(warmup);
    counters_add(&c, &w);
    return c;
}

struct counters result_counters(const struct result *r)
{
    return with_warmup(r->total, r->warmup);
}

struct counters result_agent_counters(const struct result_agent *a)
{
    return with_warmup(a->total, a->warmup);
}

bool result_is_window(const struct result *r)
{
    return r->view.from_ns > 0 || r->view.to_ns > 0;
}

bool result_is_row(const struct result *r)
{
    return r->view.one_stage || r->view.request[0] != '\0';
}

uint64_t result_warmup_ns(const struct result *r)
{
    return r->plan != NULL ? r->plan->warmup_ns : 0;
}

bool result_one_clock(const struct result *r)
{
    return r->plan != NULL && (r->plan->rate.num == 0 || r->plan->closed_loop);
}

uint64_t result_missing(const struct result *r)
{
    struct counters c = result_counters(r);
    for (size_t i = 0; i < r->n_agents; i++)
        c.scheduled -= r->agents[i].loss.overlap;
    return r->plan != NULL ? loss_missing(r->plan, c.scheduled) : UINT64_MAX;
}

void result_settle(struct result *r)
{
    uint64_t planned = result_planned_ns(r->plan);
    bool cut = r->interrupted || r->no_target;
    for (size_t i = 0; i < r->n_agents; i++)
        cut = cut || (r->agents[i].state != RESULT_DONE && !r->agents[i].left_out);
    r->end_ns = r->total->to_ns;
    r->duration_ns = planned;
    if (r->end_ns < planned && (cut || planned == UINT64_MAX))
        r->duration_ns = r->end_ns;
    r->n_intervals = with_gap(r, &r->intervals, r->n_intervals, r->plan->interval_ns, planned);
    r->n_intervals = settle_rows(r, r->intervals, r->n_intervals, planned);
    r->n_groups = with_gap(r, &r->groups, r->n_groups, r->every_ns, planned);
    r->n_groups = settle_rows(r, r->groups, r->n_groups, planned);
    drop_stalls_of_warmup(r, result_warmup_ns(r));
    if (r->plan->rate.num == 0)
        r->n_stalls = 0; /* nothing is due while a closed loop waits */
}

bool result_all_due(const struct snapshot *s, const struct hist *corrected, double percentile,
                    uint64_t *value)
{
    struct counters c = snapshot_counters(s);
    uint64_t rank = hist_rank(percentile, c.scheduled);
    if (rank > hist_count(corrected))
        return false;
    *value = hist_value_at_rank(corrected, rank);
    return true;
}

uint64_t result_samples_needed(double percentile)
{
    uint64_t bound = (uint64_t)ceil(log(0.05) / log(percentile / 100));
    uint64_t events = (uint64_t)llround(FAR_EVENTS / (1 - percentile / 100));
    return percentile >= FAR_TAIL && events > bound ? events : bound;
}

bool result_supports(double percentile, uint64_t n)
{
    if (percentile <= 0 || percentile >= 100)
        return n > 0;
    return n >= result_samples_needed(percentile);
}
