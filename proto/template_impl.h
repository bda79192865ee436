/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_TEMPLATE_IMPL_H
#define HAMMER_PROTO_TEMPLATE_IMPL_H

#include "proto/template.h"
#include "proto/template_text.h"

/* What the files of the template share, and nobody else includes. */

struct template_span {
    const char *at;
    size_t len;
};

struct template_choices {
    struct template_span *spans;
    size_t n, max; /* max: the longest one's length */
};

struct template_lines {
    const char *name;
    struct template_choices choices;
    bool checked[2]; /* for TEMPLATE_IN_URL and _IN_HEADER: holds nothing but what belongs there */
};

struct template_book {
    struct template_lines *files;
    size_t n_files;
    const struct template_named *env;
    size_t n_env;
};

enum segment_kind {
    SEGMENT_BYTES,
    SEGMENT_SEQ,
    SEGMENT_RAND,
    SEGMENT_PICK,
    SEGMENT_UUID,
    SEGMENT_LINE,
    SEGMENT_LENGTH,
    SEGMENT_CHUNK_BEGIN,
    SEGMENT_CHUNK_END,
    SEGMENT_KINDS
};

struct segment {
    enum segment_kind kind;
    uint32_t number; /* of the placeholder in the template */
    char *bytes;     /* BYTES: owned. PICK: the words that the choices point into, owned */
    size_t len, cap;
    uint64_t low, high;              /* RAND */
    struct template_choices choices; /* PICK: owned; LINE: the book's */
};

struct template_form {
    struct segment *segments;
    size_t n, cap;
    uint32_t placeholders;
    size_t env_bytes;
    size_t body_from, body_to; /* segments; n / n until there is a body */
    bool has_body, in_body;
};

/* NULL = there is none of that name. */
struct template_lines *template_book_file(const struct template_book *b, const char *name,
                                          size_t len);
const struct template_named *template_book_env(const struct template_book *b, const char *name,
                                               size_t len);

#endif
