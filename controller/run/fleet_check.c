/* SPDX-License-Identifier: MIT */
#include "controller/run/fleet_check.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/msg.h"
#include "proto/preflight.h"
#include "proto/url.h"

struct check {
    const struct plan *plan;
    const struct fleet_fact *facts;
    size_t n, refused;
    uint64_t addresses; /* 1 = the URL holds an address; 0 = a name */
    bool loopback;
    fleet_check_fn fn;
    void *arg;
};

static void tell(struct check *c, bool refused, size_t agent, const char *text)
{
    c->refused += refused;
    c->fn(c->arg, &(struct fleet_problem){refused, agent, text});
}

static void tell_agent(struct check *c, bool refused, size_t agent, const char *why)
{
    char text[700];
    snprintf(text, sizeof text, "agent %s: %s", c->facts[agent].address, why);
    tell(c, refused, agent, text);
}

/* --- one agent ------------------------------------------------------------------------------ */

static void check_version(struct check *c, size_t i)
{
    const struct fleet_fact *f = &c->facts[i];
    char text[256];
    if (f->version_max != 0 &&
        (f->version_min > MSG_VERSION_MAX || f->version_max < MSG_VERSION_MIN)) {
        snprintf(text, sizeof text,
                 "it speaks protocol %" PRIu32 " to %" PRIu32
                 " (version %s), this hammer-ctl %d to "
                 "%d (version %s): install the same version on both",
                 f->version_min, f->version_max, f->build, MSG_VERSION_MIN, MSG_VERSION_MAX,
                 HAMMER_VERSION);
        tell_agent(c, true, i, text);
    } else if (f->build[0] != '\0' && strcmp(f->build, HAMMER_VERSION) != 0) {
        snprintf(
            text, sizeof text,
            "it is version %s, this hammer-ctl %s: two builds may measure in two ways, and one "
            "report adds them up; install the same version on both",
            f->build, HAMMER_VERSION);
        tell_agent(c, true, i, text);
    }
}

static void check_descriptors(struct check *c, size_t i)
{
    const struct fleet_fact *f = &c->facts[i];
    struct errmsg msg;
    if (f->fd_limit != 0 &&
        preflight_descriptors(plan_part_most(&f->part), f->fd_limit, &msg) != ERR_OK)
        tell_agent(c, true, i, msg.text);
}

static void check_ports(struct check *c, size_t i)
{
    const struct fleet_fact *f = &c->facts[i];
    uint64_t addresses = f->addresses != 0 ? f->addresses : c->addresses;
    bool loopback = f->addresses != 0 ? f->loopback : c->loopback;
    struct errmsg msg;
    if (addresses == 0)
        return;
    if (preflight_ports(plan_part_most(&f->part), addresses, f->ports, &msg) != ERR_OK)
        tell_agent(c, true, i, msg.text);
    if (preflight_fresh_ports(c->plan, &f->part, addresses, loopback, f->ports, &msg) != ERR_OK)
        tell_agent(c, true, i, msg.text);
}

/* More than the agent's host has shown: not wrong, and the run's own lag will tell, but the user
 * should know before. A closed loop asks for no rate. */
static void check_rate(struct check *c, size_t i)
{
    const struct fleet_fact *f = &c->facts[i];
    const struct rate *rate = &c->plan->rate;
    char text[512];
    if (rate->num == 0 || f->tested_rate == 0)
        return;
    double share = (double)rate->num / (double)rate->den * f->part.weight / f->part.total;
    if (share <= (double)f->tested_rate)
        return;
    snprintf(text, sizeof text,
             "agent %s is asked for %.0f requests/s; its self-test has shown %" PRIu64
             ": it may send late (hammer-agent selftest tests it again)",
             f->address, share, f->tested_rate);
    tell(c, false, i, text);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void look_at_target(struct check *c)
{
    struct url_parts u;
    struct in_addr v4;
    struct in6_addr v6;
    if (c->plan->n_entries > 1 || c->plan->url == NULL || /* which of them? */
        plan_url_parse(c->plan, c->plan->url, &u, NULL) != ERR_OK)
        return;
    if (inet_pton(AF_INET, u.host, &v4) == 1) {
        c->addresses = 1;
        c->loopback = ntohl(v4.s_addr) >> 24 == 127;
    } else if (inet_pton(AF_INET6, u.host, &v6) == 1) {
        c->addresses = 1;
        c->loopback = IN6_IS_ADDR_LOOPBACK(&v6);
    }
    url_clear(&u);
}

size_t fleet_check(const struct plan *p, const struct fleet_fact *facts, size_t n,
                   fleet_check_fn fn, void *arg)
{
    struct check c = {.plan = p, .facts = facts, .n = n, .fn = fn, .arg = arg};
    look_at_target(&c);
    for (size_t i = 0; i < n; i++) {
        check_version(&c, i);
        if (facts[i].part.weight == 0)
            continue;
        check_descriptors(&c, i);
        check_ports(&c, i);
        check_rate(&c, i);
    }
    return c.refused;
}
