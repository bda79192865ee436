/* SPDX-License-Identifier: MIT */
#include "common/clock.h"
#include "proto/expect.h"
#include "proto/plan.h"

/* What is expected of responses, and done about them. */

static enum err refuse(const char *name, const char *value, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_refuse(option_find(rows, n, name), value, ERR_INVALID, msg);
}

static enum err check_status(const struct plan *p, struct errmsg *msg)
{
    struct expect_status s;
    if (p->expect_status == NULL || expect_status_parse(p->expect_status, &s) == ERR_OK)
        return ERR_OK;
    return refuse("expect-status", p->expect_status, msg);
}

static enum err check_body(const struct plan *p, struct errmsg *msg)
{
    struct expect_body b;
    char why[128], shown[UNITS_SHOWN];
    regex_t regex;
    if (p->expect_body == NULL)
        return ERR_OK;
    if (expect_body_parse(p->expect_body, &b) != ERR_OK)
        return refuse("expect-body", p->expect_body, msg);
    if (b.kind != EXPECT_REGEX)
        return ERR_OK;
    if (expect_compile(b.text, &regex, why, sizeof why) != ERR_OK)
        return errmsg_set(msg, ERR_INVALID,
                          "--expect-body %s: %s; accepted is a POSIX extended regular expression, "
                          "sha256:HEX or =TEXT",
                          units_format_shown(p->expect_body, shown), why);
    regfree(&regex);
    return ERR_OK;
}

void plan_settle_debug(struct plan *p)
{
    if (!p->debug_request)
        return;
    p->requests = 1;
    p->duration_ns = NS_NEVER;
    p->forever = false;
    p->n_stages = 0;
    p->rate = p->rate_per_agent = (struct rate){.num = 0, .den = 1};
    p->arrivals = PLAN_CONSTANT;
    p->on_full = PLAN_WAIT;
    p->connections = p->threads = 1;
    p->max_connections = p->jitter = 0;
    p->warmup_ns = p->think_min_ns = p->think_max_ns = p->dispatch_quantum_ns = 0;
    p->closed_loop = false;
}

enum err plan_check_responses(const struct plan *p, struct errmsg *msg)
{
    enum err e = check_status(p, msg);
    return e == ERR_OK ? check_body(p, msg) : e;
}
