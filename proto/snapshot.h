/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_SNAPSHOT_H
#define HAMMER_PROTO_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counters.h"
#include "common/err.h"
#include "common/hist.h"

/*
 * What was measured in one interval (deltas) or in a whole run (cumulative): a list of series, each
 * {stage, request name, counters, histograms by kind}, plus status codes, error texts and the
 * generator's own health. Adding is associative and commutative; percentiles come from added
 * histograms only. New kinds add rows, not formats.
 */

#define SNAPSHOT_SERIES_MAX    64
/* Of the requests that were due in the warm-up: in no figure but their own. */
#define SERIES_STAGE_WARMUP    UINT32_MAX
#define SNAPSHOT_STATUS_MIN    100
#define SNAPSHOT_STATUS_MAX    599
#define SNAPSHOT_ERRORS_MAX    32 /* different texts, the first by strcmp; the rest: errors_other */
#define SNAPSHOT_ERROR_TEXT    96
#define SNAPSHOT_SUITES_MAX    8                   /* the first by strcmp */
#define SNAPSHOT_ADDRESSES_MAX 32                  /* likewise */
#define SNAPSHOT_DEBUG         65536               /* of --debug-request */
#define SNAPSHOT_SERVER        64                  /* of a Server header, with its NUL */
#define SNAPSHOT_COUNT_MAX     (UINT64_C(1) << 56) /* of any count; 64 series of them fit u64 */

enum hist_kind {
    HIST_CORRECTED,   /* response - due */
    HIST_UNCORRECTED, /* response - actual send */
    HIST_SEND_LAG,    /* send - due while a connection was idle: hammer's own delay */
    HIST_WAIT,        /* send - due while every connection was busy: the server's */
    HIST_RECEIVE,     /* read - arrival in the kernel: hammer's own delay */
    HIST_TLS,         /* TLS handshakes, from the connection to the end */
    /* Where the time goes, with --latency: */
    HIST_DNS,        /* look-ups of names */
    HIST_CONNECT,    /* TCP connections, from connect() to established */
    HIST_UPLOAD,     /* from the send to the last byte of the request handed to the kernel */
    HIST_FIRST_BYTE, /* from there to the first byte of the response */
    HIST_DOWNLOAD,   /* from there to its last byte */
    HIST_KINDS
};

const char *
hist_kind_name(enum hist_kind k); /* "corrected" ... "tls" "dns" ... "first_byte" "download" */

struct series {
    uint32_t stage;
    char name[64]; /* request name; "" for the only one */
    struct counters counters;
    struct hist *hists[HIST_KINDS]; /* owned, default geometry; NULL = nothing recorded */
};

struct error_row {
    char text[SNAPSHOT_ERROR_TEXT];
    uint64_t count;
};

struct snapshot {
    uint64_t seq;     /* 1.. ; 0 in a cumulative one */
    uint64_t from_ns; /* interval bounds, ns after t0 */
    uint64_t to_ns;
    uint32_t intervals; /* how many were added together (1 normally; 0 = nothing, bounds are 0) */
    bool cumulative;
    uint64_t backlog;      /* due but not sent at to_ns; gauge: the later one wins, agents add up */
    uint64_t in_flight;    /* the same */
    uint64_t cpu_ns;       /* CPU time of the workers */
    uint64_t cpu_busy_ppm; /* busiest worker's CPU share in the interval less what it spun, parts
                              per million; max */
    uint64_t spin_ns;      /* of cpu_ns: spent waiting for due times with the clock in sight */
    uint64_t context_switches; /* of the workers */
    uint64_t preemptions;      /* of these, those against their will */
    uint64_t censored_age_ns;  /* largest known age of a request that never completed; max */
    uint64_t first_ns;         /* when the first response was complete, ns after t0; 0 = none was;
                                  of two the earlier one stands, with the two below */
    uint64_t document_bytes;   /* length of its body */
    char server[SNAPSHOT_SERVER]; /* its Server header, sanitised, cut to size; "" = none */
    char *debug;                  /* owned; what --debug-request shows; NULL = nothing */
    size_t n_series;
    struct series *series; /* owned, sorted by (stage, name) */
    /* Owned, sorted by text; as long as there are rows: a controller has one a thousand times. */
    size_t n_errors, n_suites, n_addresses;
    struct error_row *errors;
    struct error_row *suites;    /* TLS: "VERSION CIPHER", handshakes */
    struct error_row *addresses; /* "ADDRESS:PORT" or "unix:PATH", connections opened to it */
    uint64_t errors_other;
    /* Last, as most of it is never touched: of a new snapshot it then takes no memory. */
    uint64_t status[SNAPSHOT_STATUS_MAX + 1]; /* by code; below 100 unused */
};

struct snapshot *snapshot_new(void); /* no series yet */
void snapshot_free(struct snapshot *s);
struct snapshot *snapshot_copy(const struct snapshot *s);

/* The series, created when missing; valid until the next one is created. NULL when
 * SNAPSHOT_SERIES_MAX is reached. The name is cut to size and sanitised. */
struct series *snapshot_series(struct snapshot *s, uint32_t stage, const char *name);
/* The histogram, created when missing. */
struct hist *series_hist(struct series *s, enum hist_kind k);
/* Adds `count` to the row of the text (cut to size, sanitised); overflow rows go to errors_other.
 */
void snapshot_add_error(struct snapshot *s, const char *text, uint64_t count);

/* Takes note of a response if it is earlier than the one known; sanitises and cuts the name. */
void snapshot_note_first(struct snapshot *s, uint64_t first_ns, uint64_t document_bytes,
                         const char *server);

/* Keeps the text if there is none yet, cut to SNAPSHOT_DEBUG bytes. */
void snapshot_note_debug(struct snapshot *s, const char *text);

/* The same for what TLS handshakes agreed on; what has no row is dropped. */
void snapshot_add_suite(struct snapshot *s, const char *text, uint64_t count);
/* And for where connections went. */
void snapshot_add_address(struct snapshot *s, const char *text, uint64_t count);

/* into += from: counters, histograms, status, errors, cpu, intervals; bounds become the union; seq
 * and cumulative stay. With `same_agent` the gauges are taken from the later one (to_ns), else they
 * add up. The order of adding does not matter. Nothing is changed on error: ERR_RANGE = a count
 * would pass SNAPSHOT_COUNT_MAX, ERR_NOMEM = more than SNAPSHOT_SERIES_MAX series. */
enum err snapshot_add(struct snapshot *into, const struct snapshot *from,
                      bool same_agent) MUST_CHECK;

/* Takes the series of the warm-up out of s into a new snapshot of nothing else (caller frees; NULL
 * = there are none). */
struct snapshot *snapshot_split_warmup(struct snapshot *s);

/* Counters of all series added up; histogram of a kind over all series (caller frees, never NULL).
 */
struct counters snapshot_counters(const struct snapshot *s);
struct hist *snapshot_hist(const struct snapshot *s, enum hist_kind k);

/* Are the two equal in everything that must not be lost: counters, histograms, status, errors? A
 * missing series or histogram equals an empty one. On a difference msg names the first one. Used
 * for sum(deltas) == cumulative. */
bool snapshot_same_data(const struct snapshot *a, const struct snapshot *b, struct errmsg *msg);

/* msgpack map, keys in docs/protocol.md; *buf is the caller's (mem_free). ERR_TOO_BIG when it would
 * not fit a frame. */
enum err snapshot_encode(const struct snapshot *s, uint8_t **buf, size_t *len) MUST_CHECK;
/* A NEW snapshot, caller frees; *out is NULL on error. Bounded; every histogram is validated before
 * anything is returned; in each series counters and histogram totals must agree (completed ==
 * corrected count, or the uncorrected one where there are no corrected samples) else ERR_CORRUPT.
 */
enum err snapshot_decode(const uint8_t *buf, size_t len, struct snapshot **out) MUST_CHECK;

/* The same for many, one after the other and into the same memory: *out is the reader's and is
 * valid until the next one. */
struct snapshot_reader;
struct snapshot_reader *snapshot_reader_new(void);
void snapshot_reader_free(struct snapshot_reader *reader); /* NULL is fine */
enum err snapshot_read(struct snapshot_reader *reader, const uint8_t *buf, size_t len,
                       const struct snapshot **out) MUST_CHECK;

#endif
