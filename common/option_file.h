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

/* A key whose value is a list of mappings, each with rows of its own. */
struct option_nested {
    const char *name; /* of the key */
    const struct option_row *rows;
    size_t n_rows;
    void *arg;
    void *(*begin)(void *arg); /* the target of the next mapping */
    /* It is complete. What an error says is put behind its place in the file. */
    enum err (*end)(void *arg, struct errmsg *msg);
};

/* The same with such a key, for a file of at most max bytes. After an error the last mapping may
 * have begun without an end. */
enum err option_file_nested(const struct option_row *rows, size_t n_rows,
                            const struct option_nested *nested, size_t max, const char *path,
                            void *target, struct errmsg *msg) MUST_CHECK;

#endif
