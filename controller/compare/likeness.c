/* SPDX-License-Identifier: MIT */
#include "controller/compare/likeness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/report/figures.h"
#include "proto/url.h"

#define SHOWN            200
#define LENGTH_TOLERANCE 50 /* a run may be longer than another by one part in so many */

struct pair {
    const struct result *a, *b;
    const char *name_a, *name_b;
    struct option_list *differences;
};

static void differ(const struct pair *p, const char *what, const char *a, const char *b)
{
    char text[3 * SHOWN];
    snprintf(text, sizeof text, "%s: %s has %.180s, %s has %.180s", what, p->name_a, a, p->name_b,
             b);
    option_list_add(p->differences, text);
}

/* --- what is said of a plan ------------------------------------------------------------------- */

static void say_rate(const struct plan *p, char *buf)
{
    char text[UNITS_TEXT];
    if (p->rate.num == 0)
        snprintf(buf, SHOWN, "none (a closed loop)");
    else
        snprintf(buf, SHOWN, "%s%s", units_format_rate(&p->rate, text),
                 p->closed_loop ? " (--closed-loop)" : "");
}

static void say_stages(const struct plan *p, char *buf)
{
    size_t at = 0;
    char from[UNITS_TEXT], to[UNITS_TEXT], time[UNITS_TEXT];
    snprintf(buf, SHOWN, "none");
    for (size_t i = 0; i < p->n_stages && at < SHOWN; i++) {
        const struct stage *s = &p->stages[i];
        int n = snprintf(buf + at, SHOWN - at, "%s%s@%s..%s", i > 0 ? "," : "",
                         units_format_duration(s->duration_ns, time),
                         units_format_rate(&s->from, from), units_format_rate(&s->to, to));
        at += n > 0 ? (size_t)n : 0;
    }
}

static void say_arrivals(const struct plan *p, char *buf)
{
    char jitter[UNITS_TEXT];
    if (p->rate.num == 0)
        snprintf(buf, SHOWN, "those of a closed loop");
    else if (p->arrivals == PLAN_POISSON)
        snprintf(buf, SHOWN, "poisson");
    else
        snprintf(buf, SHOWN, "constant, jitter %s", units_format_percent(p->jitter, jitter));
}

static void say_connections(const struct plan *p, char *buf)
{
    static const char *const full[] = {"waits", "grows", "drops"};
    snprintf(buf, SHOWN, "%" PRIu32 " (%s%s", p->connections,
             p->on_full <= PLAN_DROP ? full[p->on_full] : "?", p->no_keepalive ? ", one each" : "");
    size_t at = strlen(buf);
    if (p->requests_per_connection > 0)
        snprintf(buf + at, SHOWN - at, ", %" PRIu32 " requests each)", p->requests_per_connection);
    else
        snprintf(buf + at, SHOWN - at, ")");
}

static void say_length(const struct plan *p, char *buf)
{
    char text[UNITS_TEXT];
    if (p->requests != UINT64_MAX)
        snprintf(buf, SHOWN, "%" PRIu64 " requests", p->requests);
    else if (p->duration_ns == NS_NEVER)
        snprintf(buf, SHOWN, "no end");
    else
        snprintf(buf, SHOWN, "%s", units_format_duration(p->duration_ns, text));
}

static void say_duration(uint64_t ns, char *buf)
{
    char text[UNITS_TEXT];
    snprintf(buf, SHOWN, "%s", units_format_duration(ns, text));
}

static void say_warmup(const struct plan *p, char *buf)
{
    say_duration(p->warmup_ns, buf);
}

static void say_timeout(const struct plan *p, char *buf)
{
    say_duration(p->timeout_ns, buf);
}

static void say_think(const struct plan *p, char *buf)
{
    char least[UNITS_TEXT], most[UNITS_TEXT];
    snprintf(buf, SHOWN, "%s..%s", units_format_duration(p->think_min_ns, least),
             units_format_duration(p->think_max_ns, most));
}

static void say_requests(const struct plan *p, char *buf)
{
    struct plan_request r;
    plan_request_at(p, 0, &r);
    size_t n = plan_request_count(p);
    snprintf(buf, SHOWN, "%zu (%s%s, %zu bytes of body)", n, r.method != NULL ? r.method : "GET",
             n > 1 ? " first" : "", r.body_len);
}

static void say_seed(const struct plan *p, char *buf)
{
    bool random = p->rate.num > 0 && (p->arrivals == PLAN_POISSON || p->jitter > 0);
    snprintf(buf, SHOWN, "%" PRIu64, random ? p->seed : 0);
}

static const struct {
    const char *what;
    void (*say)(const struct plan *p, char *buf);
} loads[] = {
    {"rate", say_rate},        {"stages", say_stages},           {"arrivals", say_arrivals},
    {"seed", say_seed},        {"connections", say_connections}, {"length", say_length},
    {"warm-up", say_warmup},   {"timeout", say_timeout},         {"think time", say_think},
    {"requests", say_requests}};

/* What is said of them is cut where there are many. */
static bool same_stages(const struct plan *a, const struct plan *b)
{
    if (a->n_stages != b->n_stages)
        return false;
    for (size_t i = 0; i < a->n_stages; i++) {
        const struct stage *x = &a->stages[i], *y = &b->stages[i];
        if (x->duration_ns != y->duration_ns || x->from.num != y->from.num ||
            x->from.den != y->from.den || x->to.num != y->to.num || x->to.den != y->to.den)
            return false;
    }
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool same_requests(const struct plan *a, const struct plan *b)
{
    struct plan_request x, y;
    for (size_t i = 0; i < plan_request_count(a) && i < plan_request_count(b); i++) {
        plan_request_at(a, i, &x);
        plan_request_at(b, i, &y);
        if (!same_text(x.name, y.name) || !same_text(x.method, y.method) ||
            x.body_len != y.body_len || x.weight != y.weight)
            return false;
    }
    return true;
}

/* --- what came of it -------------------------------------------------------------------------- */

/* Of a run by time: the plan may have been cut short. By number of requests its length is what is
 * measured. */
static void compare_lengths(const struct pair *p)
{
    uint64_t a = figures_measured_ns(p->a), b = figures_measured_ns(p->b);
    char shown_a[UNITS_TEXT], shown_b[UNITS_TEXT];
    uint64_t longer = a > b ? a : b, by = a > b ? a - b : b - a;
    if (p->a->plan->requests == UINT64_MAX && p->b->plan->requests == UINT64_MAX &&
        by > longer / LENGTH_TOLERANCE && by > NS_PER_SEC)
        differ(p, "what was measured", units_format_latency(a, shown_a),
               units_format_latency(b, shown_b));
}

static uint32_t generators(const struct result *r)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        n += result_took_part(&r->agents[i]);
    return n;
}

static void compare_agents(const struct pair *p)
{
    char a[SHOWN], b[SHOWN];
    if (generators(p->a) == generators(p->b))
        return;
    snprintf(a, sizeof a, "%" PRIu32, generators(p->a));
    snprintf(b, sizeof b, "%" PRIu32, generators(p->b));
    differ(p, "agents", a, b);
}

void likeness_of_load(const struct result *a, const struct result *b, const char *name_a,
                      const char *name_b, struct option_list *differences)
{
    char said_a[SHOWN], said_b[SHOWN];
    struct pair p = {a, b, name_a, name_b, differences};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        loads[i].say(a->plan, said_a);
        loads[i].say(b->plan, said_b);
        if (strcmp(said_a, said_b) != 0)
            differ(&p, loads[i].what, said_a, said_b);
    }
    if (a->plan->n_stages == b->plan->n_stages && !same_stages(a->plan, b->plan))
        differ(&p, "stages", "some", "others");
    if (!same_requests(a->plan, b->plan))
        differ(&p, "requests", "some", "others (name, method, length of the body or weight)");
    compare_agents(&p);
    compare_lengths(&p);
}

void likeness_of_validity(const struct result *r, const char *name, struct option_list *problems)
{
    static const bool sound[STATUS_COUNT] = {
        [STATUS_VALID] = true, [STATUS_SERVER_LIMITED] = true, [STATUS_SLO_FAILED] = true};
    const struct verdict *v = &r->verdict;
    char text[3 * SHOWN];
    if (sound[v->status])
        return;
    snprintf(text, sizeof text, "validity: %s is %s%s%.300s", name, result_status_name(v->status),
             v->n_reasons > 0 ? ": " : "", v->n_reasons > 0 ? v->reasons[0] : "");
    option_list_add(problems, text);
}
