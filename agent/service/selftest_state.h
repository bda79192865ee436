/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SELFTEST_STATE_H
#define HAMMER_AGENT_SELFTEST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/service/selftest_search.h"
#include "common/err.h"

/*
 * What a self-test found, as JSON (hammer.selftest/1): on stdout and in the state file, from which
 * an agent learns at its start what its host has shown. Main thread.
 */

struct selftest_result {
    uint64_t date_ns; /* CLOCK_REALTIME */
    char host[64];
    char boot_id[64];
    uint32_t cores;
    uint32_t workers, connections;
    bool complete;        /* the search came to its end, not the time to its */
    uint64_t tested_rate; /* requests per second; 0 = not even SELFTEST_FIRST */
    size_t n;
    struct selftest_step steps[SELFTEST_TRIES];
};

enum err selftest_write_json(const struct selftest_result *r, FILE *out) MUST_CHECK;

/* /var/lib/hammer/selftest.json for root, else $XDG_STATE_HOME/hammer/selftest.json, else
 * $HOME/.local/state/hammer/selftest.json. ERR_NOT_FOUND when there is no home. */
enum err selftest_state_path(char *buf, size_t cap, struct errmsg *msg) MUST_CHECK;

/* Writes beside and renames; missing folders are made. */
enum err selftest_state_save(const char *path, const struct selftest_result *r,
                             struct errmsg *msg) MUST_CHECK;

/* The tested rate of THIS host; 0 = unknown: no file, not readable as one, or of a host with
 * another name or other cores (msg says which; empty when there just is no file). */
uint64_t selftest_state_load(const char *path, struct errmsg *msg);

#endif
