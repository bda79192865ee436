/* SPDX-License-Identifier: MIT */
#include "agent/service/policy_caps.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "proto/schedule.h"

typedef unsigned __int128 u128;

static enum err PRINTF_LIKE(4, 5)
    refuse(const struct policy *p, enum policy_cap cap, struct errmsg *msg, const char *fmt, ...)
{
    char where[POLICY_SOURCE_MAX + 32], text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return errmsg_set(msg, ERR_REFUSED, "%s: %s",
                      policy_where(p, p->cap_lines[cap], where, sizeof where), text);
}

static bool method_allowed(const struct policy *p, const char *method)
{
    for (size_t i = 0; i < p->n_methods; i++)
        if (strcmp(p->methods[i], method) == 0)
            return true;
    return p->any_method;
}

/* `why` the plan asks for it; "" = it says so. */
static enum err check_method(const struct policy *p, const char *method, const char *why,
                             struct errmsg *msg)
{
    char list[160] = "", shown[UNITS_SHOWN];
    if (method_allowed(p, method))
        return ERR_OK;
    for (size_t i = 0; i < p->n_methods; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, " %s", p->methods[i]);
    }
    return refuse(p, POLICY_METHODS, msg, "methods are%s, the plan asks for %.40s%s",
                  p->n_methods > 0 ? list : " none", units_format_shown(method, shown), why);
}

static enum err check_body(const struct policy *p, size_t len, struct errmsg *msg)
{
    if (len <= p->max_body)
        return ERR_OK;
    return refuse(p, POLICY_MAX_BODY, msg,
                  "max_body %" PRIu64 " bytes, the plan's body has %zu bytes", p->max_body, len);
}

/* What a redirect may turn a request into as well, except for HEAD. */
static enum err check_methods(const struct policy *p, const struct plan *plan, const char *method,
                              struct errmsg *msg)
{
    method = method != NULL ? method : "GET";
    enum err e = check_method(p, method, "", msg);
    if (e == ERR_OK && plan->follow > 0 && strcmp(method, "HEAD") != 0)
        e = check_method(p, "GET", ", which --follow makes of others", msg);
    return e;
}

/* None of the plan's requests escapes. */
static enum err check_requests(const struct policy *p, const struct plan *plan, struct errmsg *msg)
{
    struct template_book *book;
    bool common = false; /* the body that many may share has been checked */
    enum err e = plan_book(plan, &book, msg);
    for (size_t i = 0; i < plan_request_count(plan) && e == ERR_OK; i++) {
        struct plan_request q;
        size_t len;
        plan_request_at(plan, i, &q);
        e = check_methods(p, plan, q.method, msg);
        if (e != ERR_OK || (common && q.body == plan->body))
            continue;
        common = common || q.body == plan->body;
        e = plan_text_max(plan, book, q.body, q.body_len, TEMPLATE_IN_BODY, &len, NULL, msg);
        if (e == ERR_OK)
            e = check_body(p, len, msg);
    }
    template_book_free(book);
    return e;
}

static enum err check_connections(const struct policy *p, const struct plan_part *part,
                                  struct errmsg *msg)
{
    if (plan_part_most(part) <= p->max_connections)
        return ERR_OK;
    return refuse(p, POLICY_MAX_CONNECTIONS, msg,
                  "max_connections %" PRIu64 ", the plan asks this agent for %" PRIu32,
                  p->max_connections, plan_part_most(part));
}

/* rate * weight / total > cap. A left side that does not fit into 128 bits counts as more. */
static bool over_rate(const struct rate *rate, const struct plan_part *part, const struct rate *cap)
{
    u128 left, right;
    if (__builtin_mul_overflow((u128)rate->num * part->weight, (u128)cap->den, &left))
        return true;
    if (__builtin_mul_overflow((u128)rate->den * part->total, (u128)cap->num, &right))
        return false;
    return left > right;
}

/* What may be sent by then without being over the cap. */
static uint64_t allowance(const struct policy *p, uint64_t elapsed_ns)
{
    if (p->max_rate.num == 0 || p->max_rate.den == 0)
        return 0;
    u128 n = (u128)clock_add(elapsed_ns, NS_PER_SEC) * p->max_rate.num;
    n /= (u128)NS_PER_SEC * p->max_rate.den;
    return clock_add(n > UINT64_MAX ? UINT64_MAX : (uint64_t)n, POLICY_SLACK);
}

/* An agent sends its `weight` requests of every `total` in a row, at the rate of the whole plan. */
static bool too_bursty(const struct policy *p, const struct plan_part *part)
{
    u128 ahead = (u128)part->weight * (part->total - part->weight) / part->total;
    return ahead > allowance(p, 0);
}

static enum err check_rate(const struct policy *p, const struct plan *plan,
                           const struct plan_part *part, struct errmsg *msg)
{
    char cap[UNITS_TEXT];
    /* With that much room 64 standard deviations of slack are never used up: the excess of n random
     * arrivals is a few sqrt(n), the allowance's n / 5 + POLICY_SLACK. */
    struct rate calm = {p->max_rate.num / 5 * 4 + p->max_rate.num % 5 * 4 / 5, p->max_rate.den};
    if (p->unlimited_rate)
        return ERR_OK;
    if (p->max_rate.num == 0 || p->max_rate.den == 0)
        return refuse(p, POLICY_MAX_RATE, msg, "it allows no rate at all");
    units_format_rate(&p->max_rate, cap);
    if (plan->rate.num == 0)
        return refuse(p, POLICY_MAX_RATE, msg,
                      "max_rate %s, the plan has no rate (closed loop); give -r", cap);
    if (over_rate(&plan->rate, part, &p->max_rate)) {
        double asked = (double)plan->rate.num / (double)plan->rate.den * part->weight / part->total;
        return refuse(p, POLICY_MAX_RATE, msg, "max_rate %s, the plan asks this agent for %.6g/s",
                      cap, asked);
    }
    if (plan->arrivals == PLAN_POISSON && over_rate(&plan->rate, part, &calm))
        return refuse(p, POLICY_MAX_RATE, msg,
                      "max_rate %s, Poisson arrivals pass their mean rate at times: accepted is a "
                      "rate of at most 4/5 of it for this agent",
                      cap);
    if (too_bursty(p, part))
        return refuse(p, POLICY_MAX_RATE, msg,
                      "max_rate %s, the plan asks this agent for %" PRIu32
                      " requests in a row; give smaller weights",
                      cap, part->weight);
    return ERR_OK;
}

uint64_t policy_plan_end(const struct plan *plan)
{
    uint64_t end_ns = plan->duration_ns;
    if (plan->rate.num == 0 || plan->requests == UINT64_MAX)
        return end_ns;
    uint64_t last = plan->requests > 0 ? plan->requests - 1 : 0;
    uint64_t last_ns = plan_due_of_index(plan, last);
    return last_ns < end_ns ? last_ns : end_ns;
}

static enum err check_end(const struct policy *p, const struct plan *plan, struct errmsg *msg)
{
    char cap[UNITS_TEXT], asked[UNITS_TEXT];
    uint64_t end_ns = policy_plan_end(plan);
    if (p->max_duration_ns == NS_NEVER || end_ns <= p->max_duration_ns)
        return ERR_OK;
    units_format_duration(p->max_duration_ns, cap);
    if (end_ns == NS_NEVER)
        return refuse(p, POLICY_MAX_DURATION, msg,
                      "max_duration %s, the plan has no known end; give -d", cap);
    return refuse(p, POLICY_MAX_DURATION, msg, "max_duration %s, the plan takes %s", cap,
                  units_format_duration(end_ns, asked));
}

enum err policy_check_plan(const struct policy *p, const struct plan *plan,
                           const struct plan_part *part, struct errmsg *msg)
{
    enum err e = check_requests(p, plan, msg);
    if (e == ERR_OK)
        e = check_connections(p, part, msg);
    if (e == ERR_OK)
        e = check_rate(p, plan, part, msg);
    if (e == ERR_OK)
        e = check_end(p, plan, msg);
    return e;
}

enum err policy_check_sent(const struct policy *p, uint64_t sent, uint64_t elapsed_ns,
                           struct errmsg *msg)
{
    char cap[UNITS_TEXT];
    if (p->unlimited_rate || sent <= allowance(p, elapsed_ns))
        return ERR_OK;
    return refuse(p, POLICY_MAX_RATE, msg,
                  "max_rate %s, but %" PRIu64 " requests were sent in %.3f s; the run was stopped",
                  units_format_rate(&p->max_rate, cap), sent, (double)elapsed_ns / 1e9);
}

uint64_t policy_send_limit(const struct policy *p, uint64_t timeout_ns)
{
    return clock_add(p->max_duration_ns, timeout_ns < POLICY_TAIL_NS ? timeout_ns : POLICY_TAIL_NS);
}

void policy_overran(const struct policy *p, struct errmsg *msg)
{
    char cap[UNITS_TEXT];
    (void)refuse(p, POLICY_MAX_DURATION, msg, "max_duration %s was over before all was sent",
                 units_format_duration(p->max_duration_ns, cap));
}
