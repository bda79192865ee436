/* SPDX-License-Identifier: MIT */
#include "controller/report/figures.h"

#include "common/clock.h"

const struct figures_percentile figures_percentiles[FIGURES_PERCENTILES] = {
    {50, "50"}, {75, "75"}, {90, "90"}, {95, "95"}, {99, "99"}, {99.9, "99.9"}, {99.99, "99.99"},
};

uint64_t figures_at(const struct hist *h, double percentile)
{
    uint64_t value = hist_value_at_percentile(h, percentile), max = hist_max(h);
    return value < max ? value : max;
}

struct figures figures_of(const struct hist *h)
{
    struct figures f = {.count = hist_count(h)};
    if (f.count == 0)
        return f;
    f.min = hist_min(h);
    f.max = hist_max(h);
    f.mean = hist_mean_exact(h);
    f.stddev = hist_stddev(h);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        f.at[i] = figures_at(h, figures_percentiles[i].p);
        f.supported[i] = result_supports(figures_percentiles[i].p, f.count);
    }
    return f;
}

struct figures_all_due figures_all_due(const struct snapshot *s, const struct hist *corrected)
{
    uint64_t scheduled = snapshot_counters(s).scheduled, completed = hist_count(corrected);
    struct figures_all_due f = {.count = scheduled, .limit = hist_max(corrected)};
    f.incomplete = scheduled > completed ? scheduled - completed : 0;
    if (s->censored_age_ns > f.limit)
        f.limit = s->censored_age_ns;
    for (size_t i = 0; i < FIGURES_PERCENTILES && completed > 0; i++) {
        f.known[i] = result_all_due(s, corrected, figures_percentiles[i].p, &f.at[i]);
        f.supported[i] = result_supports(figures_percentiles[i].p, scheduled);
        if (f.known[i] && f.at[i] > hist_max(corrected))
            f.at[i] = hist_max(corrected);
    }
    return f;
}

bool figures_closed_loop(const struct result *r)
{
    return r->plan != NULL && r->plan->rate.num == 0;
}

struct hist *figures_main_hist(const struct result *r, const struct snapshot *s)
{
    return snapshot_hist(s, result_one_clock(r) ? HIST_UNCORRECTED : HIST_CORRECTED);
}

uint64_t figures_elapsed_ns(const struct result *r)
{
    if (r->end_ns == 0)
        return 0;
    bool bounded = r->duration_ns != NS_NEVER && !r->interrupted;
    return bounded && r->duration_ns > r->end_ns ? r->duration_ns : r->end_ns;
}

static void within(uint64_t from_ns, uint64_t to_ns, uint64_t *from, uint64_t *to)
{
    if (*from < from_ns)
        *from = from_ns;
    if (*to > to_ns)
        *to = to_ns;
    if (*to < *from)
        *to = *from;
}

void figures_bounds(const struct result *r, uint64_t *from_ns, uint64_t *to_ns)
{
    const struct result_view *v = &r->view;
    uint64_t begin = 0;
    *from_ns = 0;
    *to_ns = figures_elapsed_ns(r);
    within(result_warmup_ns(r), UINT64_MAX, from_ns, to_ns);
    within(v->from_ns, v->to_ns > 0 ? v->to_ns : UINT64_MAX, from_ns, to_ns);
    for (uint32_t i = 0; v->one_stage && i < v->stage && i < r->plan->n_stages; i++)
        begin += r->plan->stages[i].duration_ns;
    if (v->one_stage && v->stage < r->plan->n_stages)
        within(begin, begin + r->plan->stages[v->stage].duration_ns, from_ns, to_ns);
}

uint64_t figures_measured_ns(const struct result *r)
{
    uint64_t from, to;
    figures_bounds(r, &from, &to);
    return to - from;
}

double figures_achieved(const struct result *r)
{
    uint64_t ns = figures_measured_ns(r);
    if (ns == 0)
        return 0;
    return (double)snapshot_counters(r->total).completed * (double)NS_PER_SEC / (double)ns;
}

uint64_t figures_due(const struct plan *p, uint64_t from_ns, uint64_t to_ns)
{
    struct share whole = {.total = 1, .weight = 1, .threads = 1};
    struct schedule s;
    if (p == NULL || p->rate.num == 0 || to_ns <= from_ns ||
        plan_schedule(p, &whole, p->requests, &s, NULL) != ERR_OK)
        return 0;
    uint64_t before = from_ns > 0 ? schedule_due_until(&s, from_ns - 1) : 0;
    return schedule_due_until(&s, to_ns - 1) - before;
}

static double scheduled_target(const struct result *r)
{
    uint64_t ns = figures_elapsed_ns(r), from = result_warmup_ns(r);
    if (ns == 0 || ns > r->duration_ns)
        ns = r->duration_ns;
    if (ns <= from)
        return 0;
    return (double)figures_due(r->plan, from, ns) * (double)NS_PER_SEC / (double)(ns - from);
}

/* Of an agent's or a name's share of what was due in a time nobody has kept a record. */
static double target_of_part(const struct result *r)
{
    uint64_t from, to;
    figures_bounds(r, &from, &to);
    if (r->view.agent[0] != '\0' || r->view.request[0] != '\0' || to == from)
        return 0;
    return (double)figures_due(r->plan, from, to) * (double)NS_PER_SEC / (double)(to - from);
}

double figures_target(const struct result *r)
{
    if (r->plan == NULL || r->plan->rate.num == 0)
        return 0;
    if (r->view.partial)
        return target_of_part(r);
    if (r->plan->n_stages > 0 || plan_is_random(r->plan))
        return scheduled_target(r);
    return (double)r->plan->rate.num / (double)r->plan->rate.den;
}

/* The warm-up took CPU time too. */
static double worker_share(const struct result *r, const struct result_agent *a, uint64_t ns)
{
    uint64_t to = figures_elapsed_ns(r);
    if (r->view.to_ns > 0 && r->view.to_ns < to)
        to = r->view.to_ns;
    return (double)ns / ((double)(to - r->view.from_ns) * a->threads);
}

static bool nothing_known(const struct result *r, const struct result_agent *a)
{
    return figures_elapsed_ns(r) <= r->view.from_ns || a->threads == 0 || !a->started ||
           result_is_row(r);
}

double figures_cpu(const struct result *r, const struct result_agent *a)
{
    if (nothing_known(r, a))
        return -1;
    return worker_share(r, a, a->total->cpu_ns);
}

double figures_limit(const struct result *r, const struct result_agent *a)
{
    if (nothing_known(r, a))
        return -1;
    return worker_share(r, a, result_agent_counters(a).limit_ns);
}

struct figures_health figures_health(const struct result *r, const struct result_agent *a)
{
    const struct snapshot *s = a->total;
    double cpu = figures_cpu(r, a);
    if (cpu < 0)
        return (struct figures_health){.known = false};
    return (struct figures_health){.known = true,
                                   .cpu = cpu,
                                   .cpu_peak = (double)s->cpu_busy_ppm / 1e6,
                                   .spin = worker_share(r, a, s->spin_ns),
                                   .switches = s->context_switches,
                                   .preemptions = s->preemptions};
}
