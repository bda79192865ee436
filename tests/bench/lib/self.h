/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_SELF_H
#define HAMMER_BENCH_SELF_H

#include <stdint.h>

#include "common/err.h"
#include "common/option.h"

/* What every benchmark program does with itself: options, place, time used. All of these end the
 * process with a message (exit 1: bad options, 2: could not run) instead of returning an error. */

#define SELF_NO_CPU UINT32_MAX

/* Parses argv into `target`, exits on errors and after --help. `usage` is the line behind the
 * program's name; a positional argument beyond rest_max is an error; what is missing is NULL. */
void self_options(const char *usage, const struct option_row *rows, size_t n, int argc, char **argv,
                  void *target, const char **rest, size_t rest_max);

/* Binds the process to one CPU; SELF_NO_CPU = anywhere. */
void self_pin(uint32_t cpu);

/* As many open files as the hard limit allows. */
void self_raise_files(void);

/* User + system time of this process, ns. */
uint64_t self_cpu_ns(void);

/* "PROGRAM: text: strerror(errno)" unless errno is 0; exits with 2. */
_Noreturn void self_die(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
