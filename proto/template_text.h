/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_TEMPLATE_TEXT_H
#define HAMMER_PROTO_TEMPLATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * PURE: the language of templates. A text is literal bytes and placeholders:
 *
 *   {{seq}} {{rand A B}} {{pick a b c}} {{uuid}} {{line FILE}} {{env NAME}}
 *
 * Everything else between "{{" and "}}" is an error. What they become: template.h.
 */

#define TEMPLATE_ACCEPTED                                                                          \
    "accepted are {{seq}}, {{rand A B}}, {{pick A B ...}}, {{uuid}}, {{line FILE}} and "           \
    "{{env NAME}}, or --no-templates"
#define TEMPLATE_NAME_MAX 1024 /* of a file or a variable */
#define TEMPLATE_PICK_MAX 1024 /* words of one {{pick}} */

enum template_kind {
    TEMPLATE_LITERAL,
    TEMPLATE_SEQ,
    TEMPLATE_RAND,
    TEMPLATE_PICK,
    TEMPLATE_UUID,
    TEMPLATE_LINE,
    TEMPLATE_ENV,
    TEMPLATE_KINDS
};

/* Bytes of the text. */
struct template_piece {
    enum template_kind kind;
    const char *text; /* all of it, braces included */
    size_t len;
    const char *args; /* behind the word, without blanks around */
    size_t args_len;
    uint64_t low, high; /* RAND: both can be drawn */
};

struct template_scan {
    const char *at, *end; /* set by the caller, moved on by template_next */
};

/* The next piece; false in *more when there was none left. ERR_INVALID names the placeholder and
 * what is accepted. */
enum err template_next(struct template_scan *s, struct template_piece *out, bool *more,
                       struct errmsg *msg) MUST_CHECK;
/* The next blank-separated word of args; false at the end. */
bool template_word(struct template_scan *args, const char **word, size_t *len);
/* Are there placeholders, good or bad? */
bool template_is_in(const void *text, size_t len);

#endif
