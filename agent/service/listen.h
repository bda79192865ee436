/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_LISTEN_H
#define HAMMER_AGENT_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Where an agent may listen and who may come in by its local socket. An agent fires load on
 * command: what other machines reach must be mutual TLS, unless the operator says in so many words
 * that it need not be. Main thread; may block on the resolver and the user database.
 */

#define LISTEN_GROUP "hammer" /* whose members may use an agent's local socket */

enum listen_kind {
    LISTEN_IPC,
    LISTEN_LOOPBACK, /* tcp:// */
    LISTEN_TLS,
    LISTEN_INSECURE /* tcp:// that other machines reach: everybody commands the load */
};

/* ERR_INVALID what is no URL, ERR_REFUSED what needs `insecure` and has it not; the sentence says
 * how to set up TLS. */
enum err listen_check(const char *url, bool insecure, enum listen_kind *kind,
                      struct errmsg *msg) MUST_CHECK;

/* Makes the folder of the default address where it is missing. Errors name --listen. */
enum err listen_make_folder(const char *url, struct errmsg *msg) MUST_CHECK;
/* Gives the socket to LISTEN_GROUP (mode 0660) where that exists and we may; else only our own user
 * and root reach it. */
void listen_share(const char *url);

/* May this user command the agent over ipc://? Root, the agent's own user and the members of
 * LISTEN_GROUP may. Looked up each time: a membership that ended counts. */
bool listen_allows_uid(uint64_t uid);

#endif
