/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_JOURNAL_RUN_H
#define HAMMER_CONTROLLER_JOURNAL_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/coordinator.h"
#include "controller/run/inventory.h"
#include "proto/msg.h"
#include "proto/wire.h"

/*
 * PURE: what another hammer-ctl must know to take a run over, as the file `run` of its journal
 * holds it (msgpack). docs/resilience.md. The file is foreign bytes all the same: bounded, nothing
 * in it is trusted.
 */

#define JOURNAL_RUN_MAX    (MSG_FRAME_MAX + (4u << 20))
#define JOURNAL_REDACT_MAX (1u << 20)
#define JOURNAL_TEXT_MAX   8192
#define JOURNAL_ABORT_MAX  8192 /* CONDITIONS_MAX of CONDITION_TEXT */

struct journal_run {
    uint8_t owner[MSG_ID_LEN]; /* whoever shows it to the agents is their controller */
    uint8_t run[MSG_ID_LEN];
    char boot_id[64]; /* whose monotonic clock t0_ns is of */
    uint32_t pid;     /* of the hammer-ctl */
    uint64_t wall_ns; /* start of the run, for printing and for t0_ns after a reboot */
    char name[64];
    struct coord_patience patience;
    struct wire_blob plan;              /* plan_encode */
    struct wire_blob redact;            /* --redact, not terminated */
    struct wire_blob abort_on;          /* the conditions, a line each, not terminated */
    struct wire_blob slo;               /* the same of the objectives */
    struct wire_blob description, tags; /* of the history and the report; not terminated */
    struct inventory inventory;
    uint64_t t0_ns;                    /* 0 = nothing was armed, and agents is NULL */
    uint64_t t0_wall_ns;               /* the same instant */
    struct coord_resume_agent *agents; /* one for each of the inventory; owned */
    uint8_t *bytes;                    /* owned: what the blobs of a decoded one point into */
};

/* *buf is the caller's (mem_free). */
enum err journal_run_encode(const struct journal_run *r, uint8_t **buf, size_t *len) MUST_CHECK;
/* Copies the bytes. *r is overwritten; on error it is zeroed. */
enum err journal_run_decode(const uint8_t *buf, size_t len, struct journal_run *r) MUST_CHECK;
/* Frees agents and bytes, and the inventory; not what a filled-in one borrows. */
void journal_run_clear(struct journal_run *r);

#endif
