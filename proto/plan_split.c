/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"

/* PURE: cuts a plan into one part an agent. */

#define THREADS_DEFAULT_MAX 4
#define CONNECTIONS_DEFAULT 50

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (a != 0) {
        uint64_t rest = b % a;
        b = a;
        a = rest;
    }
    return b;
}

enum err plan_settle_rate(struct plan *p, uint64_t weights, struct errmsg *msg)
{
    const struct rate *one = &p->rate_per_agent;
    char text[UNITS_TEXT], other[UNITS_TEXT];
    if (one->num == 0)
        return ERR_OK;
    units_format_rate(one, text);
    if (p->n_stages > 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--rate-per-agent %s with --stages: those are rates of the whole run; "
                          "accepted is one of the two",
                          text);
    if (p->rate_set)
        return errmsg_set(msg, ERR_INVALID,
                          "--rate-per-agent %s with -r/--rate %s: accepted is one of the two", text,
                          units_format_rate(&p->rate, other));
    unsigned __int128 num = (unsigned __int128)one->num * weights;
    if (num > (unsigned __int128)RATE_MAX * one->den)
        return errmsg_set(msg, ERR_RANGE,
                          "--rate-per-agent %s on agents of weight %" PRIu64
                          " in all: accepted is at most 1000000000/s together",
                          text, weights);
    uint64_t common = divisor((uint64_t)(num % one->den), one->den);
    p->rate = (struct rate){(uint64_t)(num / common), one->den / common};
    return ERR_OK;
}

static uint32_t threads_of(const struct plan *p, uint32_t cores)
{
    if (p->threads != 0)
        return p->threads;
    if (cores == 0)
        return 1;
    return cores < THREADS_DEFAULT_MAX ? cores : THREADS_DEFAULT_MAX;
}

static enum err cut_residues(const uint32_t *weights, size_t n, struct plan_part *parts,
                             struct errmsg *msg)
{
    uint32_t total = 0;
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct plan_part){.first = total, .weight = weights[i]};
        if (weights[i] == 0 || __builtin_add_overflow(total, weights[i], &total))
            return errmsg_set(msg, ERR_INVALID,
                              "weight %" PRIu32 " of agent %zu: accepted is 1 or more, all "
                              "together below 2^32",
                              weights[i], i + 1);
    }
    if (n == 0)
        return errmsg_set(msg, ERR_INVALID, "no agents: accepted is one or more");
    for (size_t i = 0; i < n; i++)
        parts[i].total = total;
    return ERR_OK;
}

/* Connections of the whole run; every agent needs parts[i].connections (its least) of them. */
static enum err settle_total(const struct plan *p, size_t n, const struct plan_part *parts,
                             uint64_t *total, struct errmsg *msg)
{
    uint64_t workers = 0, least = 0;
    for (size_t i = 0; i < n; i++) {
        workers += parts[i].threads;
        least += parts[i].connections;
    }
    *total = workers > CONNECTIONS_DEFAULT ? workers : CONNECTIONS_DEFAULT;
    if (p->connections != 0)
        *total = p->connections;
    if (*total >= least)
        return *total <= UINT32_MAX ? ERR_OK
                                    : errmsg_set(msg, ERR_RANGE,
                                                 "%" PRIu64 " threads over all agents: accepted "
                                                 "is fewer than 2^32",
                                                 workers);
    if (p->threads != 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--connections %" PRIu32 " with --threads %" PRIu32
                          " on each of %zu agents: accepted is at least %" PRIu64 ", one a thread",
                          p->connections, p->threads, n, least);
    return errmsg_set(msg, ERR_INVALID,
                      "--connections %" PRIu32 " on %zu agents: accepted is at least %" PRIu64
                      ", one an agent",
                      p->connections, n, least);
}

/* Within a quantum at most half as many requests may become due as there are connections: the other
 * half is for those in flight. */
static enum err check_quantum(const struct plan *p, uint64_t connections, struct errmsg *msg)
{
    uint64_t ns = p->dispatch_quantum_ns;
    if (ns == 0 || p->rate.num == 0)
        return ERR_OK;
    unsigned __int128 largest =
        (unsigned __int128)connections * NS_PER_SEC * p->rate.den / 2 / p->rate.num;
    if (ns <= largest)
        return ERR_OK;
    char text[UNITS_TEXT], rate[UNITS_TEXT], most[UNITS_TEXT], accepted[2 * UNITS_TEXT] = "0";
    uint64_t whole_us = (uint64_t)largest / NS_PER_US * NS_PER_US; /* below ns: it fits */
    if (whole_us >= PLAN_QUANTUM_MIN)
        snprintf(accepted, sizeof accepted, "0, or 50us to %s",
                 units_format_duration(whole_us, most));
    return errmsg_set(msg, ERR_RANGE,
                      "--dispatch-quantum %s with --rate %s on %" PRIu64
                      " connections: accepted is %s (at most connections / (2 * rate)), or more "
                      "connections",
                      units_format_duration(ns, text), units_format_rate(&p->rate, rate),
                      connections, accepted);
}

/* An agent whose proportional part is below its least gets the least and leaves the sharing; the
 * others share the rest. Repeated, since each one that leaves makes the rest smaller. */
static void fix_least(uint64_t *left, uint64_t *weight_left, struct plan_part *parts, bool *fixed,
                      size_t n)
{
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < n; i++) {
            if (fixed[i] || *left * parts[i].weight >= parts[i].connections * *weight_left)
                continue;
            fixed[i] = again = true;
            *left -= parts[i].connections;
            *weight_left -= parts[i].weight;
        }
    }
}

/* Largest remainder; of equal remainders the earlier agent's counts first. */
static void share_rest(uint64_t left, uint64_t weight_left, struct plan_part *parts, bool *fixed,
                       size_t n)
{
    uint64_t *remainders = mem_calloc(n, sizeof *remainders);
    uint64_t given = 0;
    for (size_t i = 0; i < n; i++) {
        if (fixed[i])
            continue;
        uint64_t quota = left * parts[i].weight;
        parts[i].connections = (uint32_t)(quota / weight_left);
        remainders[i] = quota % weight_left;
        given += parts[i].connections;
    }
    for (; given < left; given++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!fixed[i] && (best == n || remainders[i] > remainders[best]))
                best = i;
        parts[best].connections++;
        fixed[best] = true;
    }
    mem_free(remainders);
}

/* What the plan may have beyond its connections, by weight and with no least. */
static enum err split_growth(const struct plan *p, uint64_t total, size_t n,
                             struct plan_part *parts, struct errmsg *msg)
{
    if (p->max_connections == 0)
        return ERR_OK;
    if (p->max_connections < total)
        return errmsg_set(msg, ERR_INVALID,
                          "--max-connections %" PRIu32 " with %" PRIu64
                          " connections: accepted is at least as many",
                          p->max_connections, total);
    struct plan_part *more = mem_calloc(n, sizeof *more);
    bool *fixed = mem_calloc(n, sizeof *fixed);
    memcpy(more, parts, n * sizeof *more);
    share_rest(p->max_connections - total, parts[0].total, more, fixed, n);
    for (size_t i = 0; i < n; i++)
        parts[i].max_connections = parts[i].connections + more[i].connections;
    mem_free(fixed);
    mem_free(more);
    return ERR_OK;
}

enum err plan_split(const struct plan *p, const uint32_t *weights, const uint32_t *cores, size_t n,
                    struct plan_part *parts, struct errmsg *msg)
{
    enum err e = cut_residues(weights, n, parts, msg);
    if (e != ERR_OK)
        return e;
    uint64_t total, weight_left = parts[0].total;
    for (size_t i = 0; i < n; i++) {
        parts[i].threads = threads_of(p, cores[i]);
        parts[i].connections = p->threads != 0 ? p->threads : 1;
    }
    e = settle_total(p, n, parts, &total, msg);
    if (e == ERR_OK)
        e = check_quantum(p, total, msg);
    if (e != ERR_OK)
        return e;
    uint64_t left = total;
    bool *fixed = mem_calloc(n, sizeof *fixed);
    fix_least(&left, &weight_left, parts, fixed, n);
    share_rest(left, weight_left, parts, fixed, n);
    mem_free(fixed);
    for (size_t i = 0; i < n; i++)
        if (parts[i].threads > parts[i].connections)
            parts[i].threads = parts[i].connections;
    return split_growth(p, total, n, parts, msg);
}

enum err plan_part_check(const struct plan_part *part, struct errmsg *msg)
{
    if (part->weight == 0 || part->first >= part->total || part->weight > part->total - part->first)
        return errmsg_set(msg, ERR_INVALID,
                          "residues %" PRIu32 "+%" PRIu32 " of %" PRIu32
                          ": accepted is a part of at least 1 inside the total",
                          part->first, part->weight, part->total);
    if (part->threads == 0 || part->threads > PLAN_THREADS_MAX)
        return errmsg_set(msg, ERR_INVALID, "threads %" PRIu32 ": accepted is 1 to %d",
                          part->threads, PLAN_THREADS_MAX);
    if (part->connections < part->threads || part->connections > PLAN_CONNECTIONS_MAX)
        return errmsg_set(msg, ERR_INVALID,
                          "connections %" PRIu32 ": accepted is the %" PRIu32 " threads to %d",
                          part->connections, part->threads, PLAN_CONNECTIONS_MAX);
    if (part->max_connections != 0 &&
        (part->max_connections < part->connections || part->max_connections > PLAN_CONNECTIONS_MAX))
        return errmsg_set(msg, ERR_INVALID,
                          "max_connections %" PRIu32 ": accepted is 0, or the %" PRIu32
                          " connections to %d",
                          part->max_connections, part->connections, PLAN_CONNECTIONS_MAX);
    return ERR_OK;
}

uint32_t plan_part_most(const struct plan_part *part)
{
    return part->max_connections > part->connections ? part->max_connections : part->connections;
}
