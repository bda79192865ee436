/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_TEMPLATE_H
#define HAMMER_PROTO_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * A text with placeholders (template_text.h), compiled once and rendered for a request's index into
 * the caller's buffer, without allocating. What a placeholder becomes depends on the seed, the
 * index and its number in the template alone, so that it is the same whoever sends the request and
 * however often it is rendered:
 *
 *   {{seq}}        the index
 *   {{rand A B}}   a whole number from A to B, both included
 *   {{pick a b c}} one of the words
 *   {{uuid}}       a UUID of version 4 (RFC 9562 section 5.4)
 *   {{line FILE}}  line (index modulo lines) of the file, without its end
 *   {{env NAME}}   the variable, put in when compiled
 *
 * A compiled template is read-only: any thread.
 */

/* A file or a variable, by the name that the placeholder has. */
struct template_named {
    char *name;
    uint8_t *bytes;
    size_t len;
};

/* What {{line}} and {{env}} stand for; borrows the bytes, which must outlive it and the templates
 * compiled with it. Set-up only. A file without a line is ERR_INVALID. */
struct template_book;
enum err template_book_new(const struct template_named *files, size_t n_files,
                           const struct template_named *env, size_t n_env,
                           struct template_book **out, struct errmsg *msg) MUST_CHECK;
void template_book_free(struct template_book *b); /* NULL is fine */

/* Where the text stands decides what a value may hold: nothing is escaped, what does not belong
 * there is refused. */
enum template_place {
    TEMPLATE_IN_URL,    /* path and query: what RFC 3986 allows, escapes included */
    TEMPLATE_IN_HEADER, /* no control character but the tab */
    TEMPLATE_IN_BODY    /* anything */
};

/* Of one form: a few bytes of text must not become gigabytes. */
#define TEMPLATE_PLACEHOLDERS_MAX 10000
#define TEMPLATE_ENV_BYTES        (8u << 20) /* that variables stand for */

struct template_form;

struct template_form *template_new(void);
void template_free(
    struct template_form *t); /* wipes its bytes, which may be secrets; NULL is fine */

void template_put(struct template_form *t, const void *bytes, size_t len);
/* Appends a text with placeholders. book may be NULL where there are neither files nor variables.
 * ERR_INVALID names the placeholder, ERR_NOT_FOUND the file or the variable. */
enum err template_add(struct template_form *t, const struct template_book *book, const void *text,
                      size_t len, enum template_place place, struct errmsg *msg) MUST_CHECK;

/* The body is what is appended between these two, at most once. */
void template_begin_body(struct template_form *t);
void template_end_body(struct template_form *t);
/* Its length in decimal; stands anywhere. */
void template_put_body_length(struct template_form *t);
/* What stands before and behind it as the only chunk of RFC 9112 section 7.1, the end included; no
 * chunk where it is empty. */
void template_put_chunk_begin(struct template_form *t);
void template_put_chunk_end(struct template_form *t);

/* No render of it is longer. SIZE_MAX where that does not fit. */
size_t template_max(const struct template_form *t);
size_t template_body_max(const struct template_form *t);
/* The memory that it takes. */
size_t template_size(const struct template_form *t);
/* Without placeholders: every render is the same. */
bool template_is_constant(const struct template_form *t);

/* Exactly as long as template_render writes. */
size_t template_len(const struct template_form *t, uint64_t seed, uint64_t index);
/* Writes it to buf, which holds template_max bytes; no NUL. *head_len (may be NULL): bytes before
 * the body. Returns the length. Hot path. */
size_t template_render(const struct template_form *t, uint64_t seed, uint64_t index, char *buf,
                       size_t *head_len);

#endif
