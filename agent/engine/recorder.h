/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RECORDER_H
#define HAMMER_AGENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/client.h"
#include "agent/engine/series_map.h"
#include "common/counters.h"
#include "common/hist.h"
#include "common/mailbox.h"
#include "proto/snapshot.h"

/*
 * What one worker measured in one interval. A recorder owns RECORDER_PARTS preallocated parts and
 * records into one; recorder_take swaps in a spare. When no spare has come back (the main loop is
 * slow) nothing is taken and the current part simply covers more intervals: never lost, only
 * coarser. Recording neither allocates, locks, logs nor formats. Worker's thread only; a taken part
 * belongs to the receiver until recorder_give (any thread: it posts through `home`).
 */

#define RECORDER_PARTS  3
#define RECORDER_ERRORS 32

/* An error by its numbers; the text is made off the hot path. */
struct part_error {
    int source; /* enum outcome, or PART_ERROR_FAULT + enum client_fault */
    int code;
    uint64_t count;
};
#define PART_ERROR_FAULT  100
#define PART_ERROR_EXPECT 200 /* a complete response that is not as expected */

/* Connections by what their handshakes agreed on; the texts are static. */
#define RECORDER_SUITES 8
struct part_suite {
    const char *version, *cipher;
    uint64_t count;
};

/* Connections by the address they went to. */
#define RECORDER_ADDRESSES SNAPSHOT_ADDRESSES_MAX
struct part_address {
    struct target_addr to;
    uint64_t count;
};

/* What is kept of each row of the series map. */
struct part_row {
    struct counters counters;
    struct hist_rec corrected, uncorrected;
};

struct part {
    struct letter letter; /* kind is the worker's, see worker.h */
    uint32_t worker;
    uint64_t first_interval; /* 0-based indices covered, inclusive */
    uint64_t last_interval;
    bool final;              /* nothing follows from this worker */
    bool lease_lost;         /* final: it ended because its lease ran out */
    bool overran;            /* final: it was still sending when its time was up */
    bool forbidden;          /* final: it ended at an address that it may not connect to */
    uint64_t from_ns, to_ns; /* ns after t0 */
    uint64_t backlog, in_flight;
    uint64_t cpu_ns, wall_ns;               /* of the worker thread, in this part */
    uint64_t spin_ns;                       /* of cpu_ns: spent waiting for a due time */
    uint64_t context_switches, preemptions; /* all of them; those against its will */
    uint64_t censored_age_ns;
    const struct series_map *series;
    struct part_row *rows; /* series->n of them */
    uint32_t status[SNAPSHOT_STATUS_MAX + 1];
    uint32_t n_errors;
    struct part_error errors[RECORDER_ERRORS];
    uint64_t errors_other;
    uint64_t first_ns; /* monotonic, after t0 once it is sent away: when the worker's first response
                          was complete; 0 = not in this part */
    uint64_t document_bytes;
    char server[SNAPSHOT_SERVER];
    char *debug; /* owned; of --debug-request, NULL = none */
    uint32_t n_suites;
    struct part_suite suites[RECORDER_SUITES];
    uint32_t n_addresses;
    struct part_address addresses[RECORDER_ADDRESSES];
    struct hist_rec hists[HIST_KINDS]; /* all kinds but the two clocks, which each row has */
};

/* All the memory that there will be: 265 KiB for each part and row of the map, which is borrowed,
 * beside 1.2 MiB for each part. */
struct recorder;
struct recorder *recorder_new(uint32_t worker, const struct series_map *series);
void recorder_free(struct recorder *r);
const struct series_map *recorder_series(const struct recorder *r);
/* A closed loop has no due times: no corrected latency and no send lag is recorded. */
void recorder_closed_loop(struct recorder *r, bool closed);
/* There are due times, but no corrected latency is recorded all the same. */
void recorder_from_send(struct recorder *r);
/* A send lag above this counts as late; PACER_LATE_NS when it is not called. */
void recorder_late_beyond(struct recorder *r, uint64_t late_ns);

/* Hot path. `row`: of the series map. What belongs to a connection rather than to a request is in
 * row 0. Of what is due in the warm-up there are the row's own figures and nothing else: no status
 * code, no error text, no lag, no phase, no age. */
/* n requests of that row became due. */
void recorder_due(struct recorder *r, uint32_t row, uint64_t n);
void recorder_sent(struct recorder *r, uint32_t row, uint64_t due_ns, uint64_t sent_ns,
                   bool waited);
/* Every outcome. */
void recorder_result(struct recorder *r, uint32_t row, const struct client_result *res);
void recorder_handshake(struct recorder *r, const struct conn_handshake *h);
void recorder_reached(struct recorder *r, const struct target_addr *to);
void recorder_connect(struct recorder *r, uint64_t took_ns);
/* The worker's first response. */
void recorder_first(struct recorder *r, uint64_t done_ns, uint64_t body_bytes, const char *server);
/* Allocates: for a run of one request. */
void recorder_debug(struct recorder *r, const char *text, size_t len);
void recorder_fault(struct recorder *r, enum client_fault f, int code);
/* Connections opened in the warm-up count in row 0, for they serve all that follows. */
void recorder_traffic(struct recorder *r, uint32_t row, const struct client_traffic *t);
/* So long requests were waiting and every connection was busy. */
void recorder_limit(struct recorder *r, uint32_t row, uint64_t ns);
/* n requests of that row will never be sent; age = oldest one's (now - due). */
void recorder_unsent_no_connection(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns);
void recorder_unsent_stopped(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns);
void recorder_unsent_dropped(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns);

/* Closes the current part (the caller fills bounds, gauges, cpu) and starts the next; NULL when no
 * spare part is there: go on with the current one. `final` always succeeds. */
struct part *recorder_take(struct recorder *r, bool final);
/* A part comes home, cleared here. Worker's thread. After the final part nothing may be recorded
 * until one has come home. */
void recorder_give(struct recorder *r, struct part *p);

/* Adds a part to a snapshot (main thread): a series for each row in which anything was counted, and
 * row 0's; the other histograms are added to that one. Error texts are made here. ERR_TOO_BIG: the
 * snapshot has no room for another series. */
enum err part_add_to(const struct part *p, struct snapshot *s) MUST_CHECK;

#endif
