/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_ENVIRONMENT_H
#define HAMMER_CONTROLLER_ENVIRONMENT_H

#include <stddef.h>

/* What ran where, as the history keeps it: a JSON object of host, kernel, machine, cpus, cpu_model,
 * memory_bytes, hammer, libc and command_line, without the secrets that it may hold. Set-up only;
 * the caller's (mem_free). */
char *environment_json(void);

/* One word of the command line as it may be kept; `before` is the one in front of it, or NULL. PURE
 * but for memory; the caller's. */
char *environment_word(const char *before, const char *word);

#endif
