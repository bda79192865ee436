/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_OPTION_FILE_H
#define HAMMER_COMMON_OPTION_FILE_H

#include "common/option.h"

/*
 * Options from a YAML file: one mapping whose keys are the rows' long names; a list's value is a
 * sequence or one item; a flag's is true or false. Read before the environment and argv, so both
 * win. Strict: an unknown or repeated key, a wrong type or a value that the flag would refuse is
 * ERR_INVALID "FILE:LINE:COLUMN: ..." with what is accepted. At most 1 MiB. ERR_NOT_FOUND when the
 * file does not exist, ERR_SYSTEM when it cannot be read.
 */
enum err option_file(const struct option_row *rows, size_t n_rows, const char *path, void *target,
                     struct errmsg *msg) MUST_CHECK;

#endif
