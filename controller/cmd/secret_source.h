/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SECRET_SOURCE_H
#define HAMMER_CONTROLLER_SECRET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * Secrets as the command line names them: FILE, env:NAME, or - for stdin; never the secret itself.
 * A FILE without a slash is looked for in $CREDENTIALS_DIRECTORY (systemd) first. A file must be
 * closed to other users. A variable is read once: it is wiped and gone afterwards, so that neither
 * /proc nor a child has it. Set-up only. Messages begin with the flag and never repeat a text that
 * might be the secret put in the place of its file's name.
 */

#define SECRET_TEXT_MAX (256u << 10)

struct secret_text {
    char *text; /* owned; NUL-terminated, may hold further NULs */
    size_t len;
};

/* `flag` with its dashes. Ends within 10 s: a pipe that says nothing is refused. */
enum err secret_source_read(const char *flag, const char *source, struct secret_text *out,
                            struct errmsg *msg) MUST_CHECK;
/* Wipes and frees. */
void secret_text_clear(struct secret_text *t);

/* May group or others read or change what has this mode? */
bool secret_mode_is_open(mode_t mode);

/* Overwrites and removes the variable, if it is there. */
void secret_source_forget(const char *variable);

#endif
