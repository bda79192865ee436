/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_RESPONSE_H
#define HAMMER_AGENT_H1_RESPONSE_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/client_h1.h"
#include "agent/client/h1_fields.h"
#include "agent/client/h1_head.h"
#include "agent/client/h1_trailer.h"

/*
 * Where one HTTP/1.1 response ends (RFC 9112 section 6): bytes in, state out, no I/O, no clock, no
 * allocation. llhttp parses; what it gets wrong is set right here, see docs/http.md. The result
 * depends neither on llhttp's version nor on how the bytes are cut into calls. Bodies are skipped,
 * not kept: those that end by length or with the connection need not even be read
 * (h1_response_skippable).
 *
 * Servers send the same header block again and again. A struct h1_known remembers the last one and
 * what it meant: bytes that begin with the same block need no parser. A response that is tapped has
 * its fields and its body looked at on their way; then nothing is looked up and nothing skipped.
 *
 * Limits, exact to the byte: the final header block H1_HEADER_MAX; 1xx header blocks, trailers and
 * what chunk lines have beyond H1_CHUNK_LINE_FREE bytes each, together H1_HEADER_MAX.
 */

#define H1_CHUNK_LINE_FREE 32

enum h1_state {
    H1_MORE,     /* not complete yet */
    H1_COMPLETE, /* status and keep_alive are valid */
    H1_BROKEN    /* error is valid */
};

enum h1_phase {
    H1_PHASE_HEAD,
    H1_PHASE_BODY,       /* Content-Length */
    H1_PHASE_UNTIL_EOF,  /* body ends with the connection */
    H1_PHASE_CHUNK_LINE, /* size and extensions */
    H1_PHASE_CHUNK_DATA,
    H1_PHASE_TRAILER,
    H1_PHASE_END
};

#define H1_KNOWN_MAX 1000

/* One remembered header block of a final response; zeroed = none. Shared by all responses to the
 * same request on one thread. */
struct h1_known {
    size_t len; /* with the empty line; 0 = none */
    int status;
    bool keep_alive;
    enum h1_phase phase; /* what follows: BODY, UNTIL_EOF or END */
    uint64_t body;
    char bytes[H1_KNOWN_MAX];
};

/* Who looks at a response beside its framing; either may be missing. */
struct h1_tap {
    struct h1_fields *fields;                               /* of the final header block */
    void (*body)(void *arg, const char *bytes, size_t len); /* without what frames its chunks */
    void *arg;
};

struct h1_response {
    int status;
    bool keep_alive; /* the connection can carry another request (RFC 9112 section 9.3) */
    bool go_on;      /* a 100 came (RFC 9110 section 15.2.1) */
    enum h1_error error;
    /* Of a complete response: status lines, fields and trailers, those of 1xx too; the content,
     * without what frames its chunks. */
    uint64_t head_bytes, body_bytes;
    /* Private below. */
    struct h1_known *known;
    const struct h1_tap *tap; /* NULL = nobody looks */
    llhttp_t parser;          /* set up when the first bytes are not known */
    enum h1_state state;
    enum h1_phase phase;
    struct h1_head head;
    enum h1_trailer trailer;
    bool head_method;
    bool extension; /* inside a chunk extension */
    size_t used;    /* bytes of the current header block or chunk line */
    size_t extra;   /* budget left for 1xx, trailers and long chunk lines */
    uint64_t left;  /* BODY: bytes still to come; UNTIL_EOF: no end */
};

/* Before the first byte of each response. known: NULL, or where to look header blocks up; always
 * the same for the same head_method. */
void h1_response_start(struct h1_response *r, bool head_method, struct h1_known *known);
/* After that, for this response; the tap outlives it. */
void h1_response_tap(struct h1_response *r, const struct h1_tap *tap);
/* Takes bytes up to the end of the response at most; *used says how many. The bytes may be changed
 * (they are looked at only once). After COMPLETE or BROKEN nothing is taken. */
enum h1_state h1_response_feed(struct h1_response *r, char *bytes, size_t len, size_t *used);
/* How many of the next bytes are nothing but body, so that they may be dropped unread; they must be
 * told to h1_response_skip (which then works like feed). */
uint64_t h1_response_skippable(const struct h1_response *r);
enum h1_state h1_response_skip(struct h1_response *r, uint64_t n);
/* The connection ended. COMPLETE if that is the end of this response, BROKEN if it broke before,
 * MORE = it was cut off. */
enum h1_state h1_response_eof(struct h1_response *r);

#endif
