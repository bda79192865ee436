/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPLAY_STORE_H
#define HAMMER_CONTROLLER_REPLAY_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/store/replay_core.h"
#include "controller/store/store.h"

/* Runs of the history and of files as sources of rows. Part of replay and verify. */

struct replay_opened {
    struct store *store;
    struct recording *recording;
};

/* A name that holds a slash or ends in .hammer. */
bool replay_is_file(const char *word);
/* `word`: see replay_run; db NULL = the default history. Begun by it even on error: replay_close
 * is fine. */
enum err replay_open(const char *word, const char *db, struct replay_opened *o,
                     struct errmsg *msg) MUST_CHECK;
void replay_close(struct replay_opened *o); /* zeroed is fine */
/* Borrows *o. */
struct replay_source replay_opened_source(struct replay_opened *o);

#endif
