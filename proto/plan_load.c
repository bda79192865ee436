/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "proto/plan.h"

/* --warmup, --on-full, --max-connections, --think: from the user's text, and what goes with what.
 */

#define THINK_MAX (3600 * NS_PER_SEC)

/* --- text ------------------------------------------------------------------------------------ */

static const char *const on_full_names[] = {
    [PLAN_WAIT] = "wait", [PLAN_GROW] = "grow", [PLAN_DROP] = "drop"};

enum err plan_parse_on_full(const struct option_row *row, const char *value, void *target,
                            struct errmsg *msg)
{
    (void)row, (void)msg; /* the row says what is accepted */
    for (uint32_t i = 0; i <= PLAN_DROP; i++) {
        if (strcmp(value, on_full_names[i]) != 0)
            continue;
        ((struct plan *)target)->on_full = i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

const char *plan_on_full_name(const struct plan *p)
{
    return p->on_full <= PLAN_DROP ? on_full_names[p->on_full] : "?";
}

enum err plan_parse_think(const struct option_row *row, const char *value, void *target,
                          struct errmsg *msg)
{
    (void)row, (void)msg;
    struct plan *p = target;
    char text[UNITS_SHOWN];
    uint64_t min_ns, max_ns;
    if (strlen(value) >= sizeof text)
        return ERR_INVALID;
    memcpy(text, value, strlen(value) + 1);
    char *to = strstr(text, "..");
    if (to != NULL) {
        *to = '\0';
        to += 2;
    }
    enum err e = units_parse_duration(text, NS_PER_SEC, &min_ns, NULL);
    max_ns = min_ns;
    if (e == ERR_OK && to != NULL)
        e = units_parse_duration(to, NS_PER_SEC, &max_ns, NULL);
    if (e == ERR_OK && (min_ns > max_ns || max_ns > THINK_MAX))
        e = ERR_RANGE;
    if (e != ERR_OK)
        return e;
    p->think_min_ns = min_ns;
    p->think_max_ns = max_ns;
    return ERR_OK;
}

/* --- checks ---------------------------------------------------------------------------------- */

static enum err check_on_full(const struct plan *p, struct errmsg *msg)
{
    if (p->on_full > PLAN_DROP)
        return errmsg_set(msg, ERR_INVALID, "--on-full %" PRIu32 ": accepted is wait, grow or drop",
                          p->on_full);
    if (p->on_full != PLAN_WAIT && p->rate.num == 0)
        return errmsg_set(
            msg, ERR_INVALID,
            "--on-full %s without a rate: in a closed loop nothing is due while every "
            "connection is busy; accepted is with -r/--rate or --stages",
            plan_on_full_name(p));
    if (p->on_full == PLAN_GROW && p->max_connections == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--on-full grow without a bound: accepted is with --max-connections N");
    if (p->on_full != PLAN_GROW && p->max_connections != 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--max-connections %" PRIu32
                          " without --on-full grow: accepted is with it, or -c/--connections",
                          p->max_connections);
    if (p->max_connections != 0 && p->max_connections < p->connections)
        return errmsg_set(msg, ERR_INVALID,
                          "--max-connections %" PRIu32 " with --connections %" PRIu32
                          ": accepted is at least as many",
                          p->max_connections, p->connections);
    return ERR_OK;
}

/* Something must be left that counts. A closed loop sends its -n requests as fast as it can. */
static enum err check_warmup(const struct plan *p, struct errmsg *msg)
{
    char warmup[UNITS_TEXT], text[UNITS_TEXT];
    if (p->warmup_ns == 0)
        return ERR_OK;
    units_format_duration(p->warmup_ns, warmup);
    if (p->warmup_ns >= p->duration_ns)
        return errmsg_set(msg, ERR_INVALID,
                          "--warmup %s in a run of %s: accepted is less than the whole run", warmup,
                          units_format_duration(p->duration_ns, text));
    if (p->rate.num > 0 && p->requests != UINT64_MAX && p->requests > 0 &&
        plan_due_of_index(p, p->requests - 1) < p->warmup_ns)
        return errmsg_set(msg, ERR_INVALID,
                          "--warmup %s with -n/--requests %" PRIu64
                          ": all of them are due by then; accepted is a shorter time",
                          warmup, p->requests);
    return ERR_OK;
}

static enum err check_think(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    if (p->think_max_ns == 0 && p->think_min_ns == 0)
        return ERR_OK;
    units_format_duration(p->think_max_ns, text);
    if (p->think_min_ns > p->think_max_ns || p->think_max_ns > THINK_MAX)
        return errmsg_set(msg, ERR_RANGE,
                          "--think %s: accepted is a time of at most 1h, or two such as 100ms..2s",
                          text);
    if (p->rate.num > 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--think %s with a rate: with -r/--rate or --stages the schedule says "
                          "when requests are sent; accepted is one of the two",
                          text);
    return ERR_OK;
}

enum err plan_check_load(const struct plan *p, struct errmsg *msg)
{
    enum err e = check_on_full(p, msg);
    if (e == ERR_OK)
        e = check_warmup(p, msg);
    return e == ERR_OK ? check_think(p, msg) : e;
}
