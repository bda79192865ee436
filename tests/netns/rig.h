/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_NETNS_RIG_H
#define HAMMER_TESTS_NETNS_RIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/cable.h"
#include "tests/lib/netns.h"
#include "tests/lib/process.h"

/*
 * hammer-ctl near, agents and hammer-target far, a cable of its own for each agent. Two agents
 * share a run by parity: even global indices are sent by agent 0, odd ones by agent 1 (the index is
 * in the path of every request). As on machines of their own the agents' CLOCK_MONOTONIC is another
 * one, RIG_AHEAD_S ahead. Failures abort the check test.
 */

#define RIG_AGENTS_MAX 2

struct rig_config {
    size_t agents; /* 0 = 1 */
    bool tls;      /* mutual TLS with certificates of hammer-ctl pki; else plain tcp */
    const char *target_args[8];
};

#define RIG_AHEAD_S 3600

struct rig {
    struct netns ns;
    struct cable *cables[RIG_AGENTS_MAX];
    struct target_process target;
    struct agent_process agents[RIG_AGENTS_MAX];
    size_t n, fds[RIG_AGENTS_MAX];
    long rss_kib[RIG_AGENTS_MAX];
    bool tls;
    char home[64];
    char list[256];
    struct process ctl;
    bool ctl_running;
};

void rig_open(struct rig *r, const struct rig_config *cfg);
void rig_close(struct rig *r);

/* hammer-ctl run, JSON, over all agents; requests go to /f/INDEX. `more` ends with NULL. */
struct rig_load {
    const char *rate, *duration, *lease;
    const char *more[8];
};
void rig_run(struct rig *r, const struct rig_load *load);
/* Waits until it is over; the exit code. */
int rig_wait(struct rig *r, uint64_t timeout_ms);
/* What it printed, parsed, its ledger checked. NULL when it printed nothing. The caller frees. */
json_t *rig_report(struct rig *r);
/* Ends it if needed and drops what is known of it. */
void rig_drop(struct rig *r);

/* Waits until an agent's log has the text. */
void rig_wait_log(struct rig *r, size_t agent, const char *text);
/* Waits until so many requests of rig_run have been seen by the target (which writes once a
 * second). */
void rig_wait_requests(struct rig *r, size_t n);

/* What the target saw of rig_run, by index. */
struct rig_seen {
    uint64_t *arrived_ns; /* of the first; 0 = never */
    uint32_t *times;
    size_t max, total;   /* indices below max; requests in all */
    uint64_t last_ns[2]; /* last arrival of an even and of an odd index */
};
/* Ends the target for that: nothing can be sent any more. */
void rig_seen_load(struct rig *r, struct rig_seen *s, size_t max);
void rig_seen_free(struct rig_seen *s);

/* The same agents serve a run as if nothing had been, free themselves within `within_ms`, and have
 * neither more descriptors nor (beyond a bound) more memory than at first. */
void rig_check_next(struct rig *r, uint64_t within_ms);

void rig_sleep(uint64_t ms);

#endif
