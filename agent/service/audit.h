/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_AUDIT_H
#define HAMMER_AGENT_AUDIT_H

#include <stddef.h>

#include "common/err.h"

/*
 * The agent's audit file: one JSON object a line, appended, never changed. A line counts as written
 * when it is on the disk (fdatasync). audit_run.h says what is written and when. Main thread.
 */

struct audit;

/* Appends to `path`, which is created 0640; a symbolic link is refused. NULL = no file: the lines
 * go to the log, at info level. */
enum err audit_open(const char *path, struct audit **out, struct errmsg *msg) MUST_CHECK;
/* Opens the same name again, after logrotate has moved the file away. An error leaves the old file
 * in use. Without a file it does nothing. */
enum err audit_reopen(struct audit *a, struct errmsg *msg) MUST_CHECK;
void audit_close(struct audit *a); /* NULL is fine */

/* Writes one line (without a newline in it). ERR_SYSTEM names the file and the reason; what was
 * written of it then does not spoil the next line. a = NULL: nothing is kept, which is no error. */
enum err audit_write(struct audit *a, const char *line, struct errmsg *msg) MUST_CHECK;

#endif
