/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "proto/plan.h"
#include "proto/plan_route.h"
#include "proto/plan_tls.h"

/* The checks of a complete plan, each one a row of `checks` at the end. The controller runs them on
 * what the user wrote, every agent on what came over the wire. */

static const struct option_row *row_of(const char *name)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_find(rows, n, name);
}

/* --- numbers, against the rows' own bounds --- */

/* False when the member holds no number or its "not given". */
static bool read_number(const struct plan *p, const struct option_row *row, uint64_t *v)
{
    const void *member = (const char *)p + row->offset;
    bool optional = row->set_offset != OPTION_NO_SET;
    if (row->type == OPTION_U32) {
        *v = *(const uint32_t *)member;
        return !(optional && *v == 0);
    }
    if (row->type != OPTION_COUNT && row->type != OPTION_DURATION)
        return false;
    *v = *(const uint64_t *)member;
    return !(optional && *v == UINT64_MAX);
}

static enum err check_numbers(const struct plan *p, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        if (!read_number(p, &rows[i], &v) || (v >= rows[i].min && v <= rows[i].max))
            continue;
        char text[UNITS_TEXT];
        if (rows[i].type == OPTION_DURATION)
            units_format_duration(v, text);
        else
            snprintf(text, sizeof text, "%" PRIu64, v);
        return option_refuse(&rows[i], text, ERR_RANGE, msg);
    }
    return ERR_OK;
}

static enum err check_rate(const struct plan *p, struct errmsg *msg)
{
    const struct rate *r = &p->rate;
    if (r->den != 0 && r->den <= RATE_DEN_MAX && r->num <= (unsigned __int128)RATE_MAX * r->den)
        return ERR_OK;
    char text[2 * UNITS_TEXT];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "s", r->num, r->den);
    return option_refuse(row_of("rate"), text, ERR_RANGE, msg);
}

/* --- contradictions --- */

static enum err check_end(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    bool timed = p->duration_ns != NS_NEVER, counted = p->requests != UINT64_MAX;
    if (p->forever && timed)
        return errmsg_set(msg, ERR_INVALID,
                          "--forever with -d/--duration %s: accepted is one of the two",
                          units_format_duration(p->duration_ns, text));
    if (p->forever && counted)
        return errmsg_set(msg, ERR_INVALID,
                          "--forever with -n/--requests %" PRIu64 ": accepted is one of the two",
                          p->requests);
    if (!p->forever && !timed && !counted)
        return errmsg_set(msg, ERR_INVALID,
                          "the run has no end: accepted is -d/--duration, -n/--requests or "
                          "--forever");
    return ERR_OK;
}

static enum err check_threads(const struct plan *p, struct errmsg *msg)
{
    if (p->connections == 0 || p->connections >= p->threads)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--connections %" PRIu32 " with --threads %" PRIu32
                      ": accepted is at least one connection a thread",
                      p->connections, p->threads);
}

/* --- sending --- */

static enum err check_spin(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    if (p->spin_ns <= PLAN_SPIN_MAX || p->spin_ns == PLAN_SPIN_AUTO)
        return ERR_OK;
    return option_refuse(row_of("spin"), units_format_duration(p->spin_ns, text), ERR_RANGE, msg);
}

static enum err check_quantum(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT], spin[UNITS_TEXT];
    uint64_t ns = p->dispatch_quantum_ns;
    if (ns == 0)
        return ERR_OK;
    units_format_duration(ns, text);
    if (ns < PLAN_QUANTUM_MIN || ns > PLAN_QUANTUM_MAX)
        return option_refuse(row_of("dispatch-quantum"), text, ERR_RANGE, msg);
    if (p->rate.num == 0)
        return errmsg_set(
            msg, ERR_INVALID,
            "--dispatch-quantum %s without -r/--rate: in a closed loop nothing is due "
            "at an instant; accepted is 0, or a rate",
            text);
    if (p->spin_ns != 0 && p->spin_ns != PLAN_SPIN_AUTO)
        return errmsg_set(msg, ERR_INVALID,
                          "--dispatch-quantum %s with --spin %s: accepted is one of the two", text,
                          units_format_duration(p->spin_ns, spin));
    return ERR_OK;
}

enum err plan_validate(const struct plan *p, struct errmsg *msg)
{
    static enum err (*const checks[])(const struct plan *, struct errmsg *) = {
        plan_check_requests, check_numbers,          check_rate,
        plan_check_stages,   plan_check_arrivals,    plan_check_load,
        check_end,           check_threads,          plan_check_names,
        check_spin,          check_quantum,          plan_tls_check,
        plan_check_routes,   plan_check_connections, plan_check_responses,
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        enum err e = checks[i](p, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
