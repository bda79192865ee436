/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RECORDING_H
#define HAMMER_CONTROLLER_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/result.h"

/*
 * What is kept of a run, apart from its snapshots: who ran what when, and what only the running
 * controller knew. Everything else of a report is made anew from the snapshots (replay.h), so that
 * a figure is worked out in one place only. Secrets are not kept: values of secret headers, --env,
 * the TLS key and proxy passwords are replaced, and `secrets` names them.
 */

struct recording {
    char run_id[33]; /* hex */
    char name[64];
    char *description, *tags; /* owned; NULL = none; tags are comma-separated, lower case */
    char plan_id[17]; /* hex: equal plans, equal ids; of what the load is, not of the name */
    uint64_t started_wall_ns;
    uint64_t ended_wall_ns; /* 0 = it has not ended, or nobody was there to see it */
    char version[32];       /* of hammer-ctl */
    char boot_id[64];       /* with pid: is its hammer-ctl still there? */
    uint32_t pid;
    char *environment; /* owned; a JSON object: host, kernel, cpus, command line without secrets ...
                        */
    uint8_t *plan;     /* owned; plan_encode, without secrets */
    size_t plan_len;
    char *secrets; /* owned; what --again has to be given anew, comma-separated; NULL = none */
    char *redact;  /* owned; --redact; NULL = none */
    char *abort_on, *slo; /* owned; a line each; NULL = none */
    uint64_t interval_ns;
    uint64_t lost_rows; /* snapshots that could not be stored: figures made anew lack them */

    /* Known when it has ended. */
    bool interrupted, no_target, takeover_late;
    char *aborted, *takeover; /* owned; NULL = none */
    char status[24];          /* as the report said, "" = it has not ended */
    int exit_code;
    size_t n_agents; /* known from the start */
    struct result_agent
        *agents;  /* owned; totals are NULL; before the end only name, address, weight */
    char *totals; /* owned; a JSON object for lists: what stands in the report's "totals", "rate"
                     and the main clock's percentiles; NULL before the end */
};

void recording_free(struct recording *r); /* NULL is fine */

/* What of `agents` and the facts known at the end is in the database: JSON both ways. Foreign
 * bytes: bounded, nothing in it is trusted. */
enum err recording_facts_encode(const struct recording *r, char **text) MUST_CHECK;
enum err recording_facts_decode(const char *text, struct recording *r,
                                struct errmsg *msg) MUST_CHECK;

#endif
