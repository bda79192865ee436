/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DOC_WRITE_H
#define HAMMER_CONTROLLER_DOC_WRITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Writes a JSON object whose long lists are made while they are written, one element at a time: the
 * trees of a thousand agents would take more memory than all that is known of them.
 */

struct doc_list {
    const char *key; /* in the object, where it has the value null */
    size_t n;
    json_t *(*make)(const void *arg, size_t i); /* a new reference */
};

/* As json_dumpf writes the whole with these flags (JSON_INDENT is 2), and a line's end. false = it
 * could not be written, or made. */
bool doc_write(json_t *object, const struct doc_list *lists, size_t n_lists, const void *arg,
               size_t flags, FILE *out);

#endif
