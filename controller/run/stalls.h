/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STALLS_H
#define HAMMER_CONTROLLER_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PURE: stretches in which requests were due and no answers came, by agent, and which of them are
 * one: what all agents see is the server's, what one sees is that agent's or its path's
 * (docs/measuring.md). Fed with every agent's intervals in order; the state of an agent has a fixed
 * size and only what was seen is kept, so a long run costs nothing. Open loops only: a closed one
 * asks for nothing while it waits.
 */

#define STALLS_MAX       4096 /* sightings kept; more are counted */
#define STALL_MIN_DUE    5    /* an agent with fewer requests due in it has seen nothing */
#define STALL_AGENTS_MAX 8    /* named; the rest is in seen_by */

/* One interval (or several, sent as one) of one agent. */
struct stall_fact {
    uint64_t from_ns, to_ns; /* after t0 */
    uint32_t intervals;
    uint64_t due, completed;
    uint64_t lost;    /* ended without an answer: they wait no longer */
    uint64_t waiting; /* due and without an end at to_ns: in the backlog or in flight */
    uint64_t max_ns;  /* largest corrected latency of those that completed */
};

struct stall {
    uint64_t begin_ns, length_ns; /* after t0; the median of those that saw it */
    uint64_t due;                 /* requests due in it, at those agents */
    uint32_t seen_by;             /* agents */
    uint32_t of;                  /* agents that had requests due in it */
    bool open;                    /* no answer came any more; the length is a lower bound */
    uint32_t n_agents;
    uint32_t agents[STALL_AGENTS_MAX];
};

struct stalls;

struct stalls *stalls_new(size_t n_agents, uint64_t interval_ns);
void stalls_free(struct stalls *s); /* NULL is fine */
void stalls_add(struct stalls *s, size_t agent, const struct stall_fact *f);
/* All stalls by begin, an array the caller frees (mem_free). `usual_ns`: what an answer takes at
 * each agent, by its number; a stall is longer than that by an interval at least. */
struct stall *stalls_list(struct stalls *s, const uint64_t *usual_ns, size_t *n);
/* Sightings beyond STALLS_MAX. */
uint64_t stalls_dropped(const struct stalls *s);

#endif
