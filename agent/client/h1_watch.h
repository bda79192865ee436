/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_WATCH_H
#define HAMMER_AGENT_H1_WATCH_H

#include "agent/client/cookies.h"
#include "agent/client/expectation.h"
#include "agent/client/h1_debug.h"
#include "agent/client/h1_slot.h"
#include "agent/client/location.h"
#include "agent/client/request_edit.h"
#include "proto/snapshot.h"

/*
 * What is done with responses beside counting them: expectations, redirects, cookies, and who sent
 * the first one. Part of client_h1; nobody else includes it. It costs nothing while
 * client_h1.watching is false: that is, without those options, from the first response on.
 *
 * A hop of a redirect is the slot's request once more, edited: it keeps its due time, its send time
 * and its timeout, on the same connection if that is kept and goes there, else on one that is
 * opened for it. Cookies belong to the slot and outlive its connections.
 */

/* One a slot; of a run without those options there is but one, for the first response. */
struct h1_watch {
    struct h1_fields fields;
    struct h1_tap tap;
    struct expect_seen seen;
    struct cookie_jar jar;
    struct request request; /* of a hop: the slot's request then */
    uint32_t hops;
    bool as_get;
    char *path; /* and query, of what was sent last */
    size_t path_len, path_cap;
    char *location; /* of the response */
    size_t location_len, location_cap;
    char *cookie; /* that goes with the request */
    size_t cookie_len;
};

struct h1_watching {
    bool expects; /* responses are judged */
    struct expectation expectation;
    size_t n;
    struct h1_watch *each;
    struct location location; /* of a redirect, shared */
    char *edited;             /* room for an edited request, shared */
    char (*hosts)[280];       /* "HOST" or "HOST:PORT" of each origin, as a Host field has it */
    const struct slot *first; /* whose response is to be the first one */
    char server[SNAPSHOT_SERVER];
    struct h1_debug debug; /* with client_rules.debug */
};

/* Once env and slots are there. */
enum err h1_watch_init(struct client_h1 *c, struct errmsg *msg) MUST_CHECK;
void h1_watch_clear(struct client_h1 *c);

/* Before a request is written: what goes with it, and what is wanted of its response. */
void slot_watch(struct slot *s);
/* It is edited: the bytes to be sent in place of those rendered. */
void slot_edit(struct slot *s, struct request_bytes *r);
/* Its request is a hop. */
bool slot_hops(const struct slot *s);
/* A complete response: true = it was a redirect, and is being followed. */
bool slot_follow(struct slot *s, bool reuse, uint64_t now_ns);
/* With client_rules.debug, however the request has ended: what there is to show. */
void slot_debug(const struct slot *s);
/* A complete, final response. EXPECT_MET, or what is not as expected. */
int slot_judge(struct slot *s, uint64_t now_ns);

#endif
