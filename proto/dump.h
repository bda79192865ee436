/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_DUMP_H
#define HAMMER_PROTO_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Single requests on their way to the controller (--dump-requests): rows packed into the bytes of a
 * REQUESTS message, each as the difference to the one before, so that most take 15 to 20 bytes.
 * Every message stands alone. docs/protocol.md has the format. No allocation, any thread.
 */

#define DUMP_BYTES_MAX (64u << 10) /* of a message's rows */
#define DUMP_TEXTS_MAX 32          /* different error texts in a message */
#define DUMP_TEXT      96          /* with its NUL, as SNAPSHOT_ERROR_TEXT */

/* What became of a request; a list that only grows at the end. */
enum dump_outcome {
    DUMP_OK,         /* complete, status below 400 */
    DUMP_HTTP_ERROR, /* complete, status 4xx or 5xx */
    DUMP_TLS,
    DUMP_READ,
    DUMP_WRITE,
    DUMP_PROTOCOL,
    DUMP_CONNECT,
    DUMP_TIMEOUT,
    DUMP_UNFINISHED,
    DUMP_UNSENT_NO_CONNECTION,
    DUMP_UNSENT_STOPPED,
    DUMP_UNSENT_DROPPED,
    DUMP_OUTCOMES
};

/* "ok" "http_error" ... "unsent_dropped". */
const char *dump_outcome_name(enum dump_outcome o);
bool dump_was_sent(enum dump_outcome o);
bool dump_was_completed(enum dump_outcome o);

struct dump_row {
    uint64_t index;    /* global */
    uint64_t due_ns;   /* after t0, as the next two */
    uint64_t sent_ns;  /* 0 of one that was not sent, as all that follows */
    uint64_t done_ns;  /* the end, whichever */
    uint64_t bytes;    /* of the response: what came of its head and body */
    uint32_t stage;    /* SERIES_STAGE_WARMUP = the warm-up's */
    uint32_t request;  /* of the plan's requests, from 0 */
    uint32_t status;   /* of a complete response */
    uint32_t text;     /* reader: bytes of the error text; 0 = none */
    const char *error; /* NULL = none; of a reader not NUL-terminated: in the message */
    enum dump_outcome outcome;
};

/* All but `bytes` is the writer's own. */
struct dump_writer {
    size_t len; /* of bytes that are used */
    uint32_t n; /* rows */
    uint32_t n_texts;
    uint32_t stage, request; /* of the last row */
    uint64_t index, due_ns;
    struct {
        uint32_t at, len;
    } texts[DUMP_TEXTS_MAX];
    uint8_t bytes[DUMP_BYTES_MAX];
};

/* Empties it: the next row begins a message. */
void dump_writer_clear(struct dump_writer *w);
/* false = it does not fit: nothing was written, the message is to be sent first. An empty writer
 * takes any row. An error text is cut to size. */
bool dump_put(struct dump_writer *w, const struct dump_row *row);

struct dump_reader {
    const uint8_t *p, *end;
    enum err err; /* first error, sticky */
    uint32_t n;   /* rows so far */
    uint32_t n_texts;
    uint32_t stage, request;
    uint64_t index, due_ns;
    struct {
        const char *at;
        uint32_t len;
    } texts[DUMP_TEXTS_MAX];
};

void dump_reader_init(struct dump_reader *r, const void *bytes, size_t len);
/* false = no more rows: at the end, or r->err says why. Texts are printable: a message with others
 * is ERR_CORRUPT. */
bool dump_get(struct dump_reader *r, struct dump_row *row);

#endif
