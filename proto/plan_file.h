/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PLAN_FILE_H
#define HAMMER_PROTO_PLAN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* The whole of the regular file that the plan's option `name` names, at most `max` bytes; the
 * caller's (mem_free), with a NUL behind it. Set-up only; never hangs. Errors name the flag, the
 * file and what the option's row says is accepted. */
enum err plan_file_read(const char *name, const char *path, size_t max, uint8_t **bytes,
                        size_t *len, struct errmsg *msg) MUST_CHECK;
/* The same of a file that no option names: errors are "WHAT PATH: why; accepted is ACCEPTED". */
enum err plan_file_load(const char *what, const char *accepted, const char *path, size_t max,
                        uint8_t **bytes, size_t *len, struct errmsg *msg) MUST_CHECK;

#endif
