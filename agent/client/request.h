/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REQUEST_H
#define HAMMER_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/plan.h"
#include "proto/url.h"

#define REQUEST_INDEX_DIGITS 20

/*
 * A request as bytes, compiled once from the plan: request line, Host (RFC 9112 section 3.2; IPv6
 * literals keep their brackets, RFC 3986 section 3.2.2), default headers User-Agent
 * "hammer/VERSION" and Accept, "Connection: close" for a connection of its own, the plan's own
 * headers (each replaces the default of that name, or leaves it out), Content-Length or
 * Transfer-Encoding, and body. What has templates is rendered for an index when it is sent.
 * Read-only afterwards: shared by all workers.
 */

struct request {
    char *bytes;                /* head and body, as sent; NULL = it has templates */
    size_t len;                 /* of bytes; with templates the most that is rendered */
    size_t head_len;            /* of bytes: what stands before the body */
    struct template_form *form; /* NULL = no templates */
    uint64_t seed;
    bool expect_continue; /* it has a body and an Expect: 100-continue */
    bool head_method;     /* HEAD: the response has no body (RFC 9110 section 9.3.2) */
    bool idempotent;      /* RFC 9110 section 9.2.2 */
    bool close_after;     /* the plan's own "Connection: close" */
    uint32_t origin;      /* number of its target, see reqset.h */
    uint32_t name;        /* number of its name in the report, see reqset.h */
    /* Test mode of the paired end-to-end test (URL_TEST_INDEX_ENV): "{i}" in the path is replaced
     * per request by the global index, REQUEST_INDEX_DIGITS wide, zero padded, in place.
     * SIZE_MAX = none. */
    size_t index_at;
};

/* Number i of the plan's requests; u is its URL. The book (plan_book) outlives the request.
 * Refuses, naming the value: a method that is no token, CONNECT; CR, LF, NUL in a header; a second
 * Host; Transfer-Encoding; a Content-Length that is not the body's; a template that is none. `out`
 * untouched on error. */
enum err request_compile_entry(const struct plan *p, size_t i, const struct template_book *book,
                               const struct url_parts *u, struct request *out,
                               struct errmsg *msg) MUST_CHECK;
/* The only request of a plan, without templates. */
enum err request_compile(const struct plan *p, const struct url_parts *u, struct request *out,
                         struct errmsg *msg) MUST_CHECK;
void request_clear(struct request *r);

/* What is sent for an index. */
struct request_bytes {
    const char *bytes;
    size_t len, head_len;
};
/* For those that are not the same for every index. */
void request_render_varied(const struct request *r, uint64_t index, char *scratch,
                           struct request_bytes *out);
/* The same bytes for the same index, however often: a short write goes on in the next rendering.
 * scratch holds request.len bytes; out->bytes may point there. Hot path. */
static inline void request_render(const struct request *r, uint64_t index, char *scratch,
                                  struct request_bytes *out)
{
    *out = (struct request_bytes){r->bytes, r->len, r->head_len};
    if (r->form != NULL || r->index_at != SIZE_MAX)
        request_render_varied(r, index, scratch, out);
}

/* Writes the index's digits at `at` (REQUEST_INDEX_DIGITS bytes, no NUL). Hot path. */
void request_put_index(char *at, uint64_t index);

#endif
