/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_FIELDS_H
#define HAMMER_AGENT_H1_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The fields of a header block, each handed over whole, however the parser cuts them. No I/O. What
 * is longer than the limits is left out: nobody wants half a value. The buffer grows to the longest
 * value so far and is kept.
 */

#define H1_FIELD_NAME  127
#define H1_FIELD_VALUE 8192

/* The name ends with a NUL; the value does not, and has no whitespace around it. */
typedef void (*h1_field_fn)(void *arg, const char *name, const char *value, size_t len);

struct h1_fields {
    h1_field_fn fn; /* the user's, with its argument */
    void *arg;
    char name[H1_FIELD_NAME + 1];
    size_t name_len, len, cap;
    char *value;
    bool in_value, cut;
};

/* Before the first field of each block. */
void h1_fields_start(struct h1_fields *f);
void h1_fields_name(struct h1_fields *f, const char *bytes, size_t len);
void h1_fields_value(struct h1_fields *f, const char *bytes, size_t len);
/* The block is over. */
void h1_fields_end(struct h1_fields *f);
void h1_fields_clear(struct h1_fields *f);

#endif
