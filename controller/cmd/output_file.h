/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OUTPUT_FILE_H
#define HAMMER_CONTROLLER_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"

/*
 * A file that is there whole or not at all: it is written beside its place and then renamed. What
 * is not a regular file (a FIFO, /dev/stdout), or stands where no other file can be made, is
 * written as it is. Owned by the caller; one thread.
 */

struct output_file;

/* Can it be written? Creates nothing. The message begins with the path. */
enum err output_file_check(const char *path, struct errmsg *msg) MUST_CHECK;
/* The same for what is always made beside its place: no device, and the folder can be written. */
enum err output_file_check_beside(const char *path, struct errmsg *msg) MUST_CHECK;
/* The errors of all: ERR_SYSTEM, the message says why. */
enum err output_file_open(const char *path, struct output_file **out,
                          struct errmsg *msg) MUST_CHECK;
FILE *output_file_stream(const struct output_file *f);
/* Puts it in its place unless `whole` is false or writing it had failed, and frees it. */
enum err output_file_close(struct output_file *f, bool whole, struct errmsg *msg) MUST_CHECK;

#endif
