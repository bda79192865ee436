/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TLS_CONTEXT_H
#define HAMMER_AGENT_TLS_CONTEXT_H

#include <stdbool.h>

#include "agent/client/tls_bio.h"
#include "common/err.h"
#include "proto/plan.h"
#include "proto/url.h"

/*
 * What all TLS connections of a run have in common, made once from the plan: versions, whom to
 * trust and under which name, the client's certificate, ALPN. Shared by all workers, read-only once
 * it is made.
 */

struct tls_context;
struct ssl_st;
struct ssl_session_st;

/* The session that a worker's next connection resumes; zeroed = none yet. One thread. */
struct tls_session {
    struct ssl_session_st *last; /* owned */
};

/* Main thread; reads the system's list of CAs unless the plan brings its own. Errors name the flag
 * whose contents cannot be used. The plan may go afterwards. */
enum err tls_context_new(const struct plan *p, const struct url_parts *u, struct tls_context **out,
                         struct errmsg *msg) MUST_CHECK;
/* NULL is fine. After the last connection. */
void tls_context_free(struct tls_context *c);
/* The name that the server's certificate must be for. */
const char *tls_context_name(const struct tls_context *c);

/* A connection about to begin its handshake over that socket, resuming what `session` holds; the
 * sessions that the server offers go there. Freed by SSL_free; NULL = out of memory. */
struct ssl_st *tls_context_connect(const struct tls_context *c, struct tls_socket *socket,
                                   struct tls_session *session);

/* Forgets it: the next connection makes a full handshake. */
void tls_session_clear(struct tls_session *s);

#endif
