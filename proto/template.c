/* SPDX-License-Identifier: MIT */
#include "proto/template.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/units.h"
#include "proto/template_impl.h"

/* --- building ------------------------------------------------------------------------------- */

struct template_form *template_new(void)
{
    return mem_calloc(1, sizeof(struct template_form));
}

void template_free(struct template_form *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n; i++) {
        struct segment *s = &t->segments[i];
        if (s->bytes != NULL)
            explicit_bzero(s->bytes, s->len);
        mem_free(s->bytes);
        if (s->kind == SEGMENT_PICK)
            mem_free(s->choices.spans);
    }
    mem_free(t->segments);
    mem_free(t);
}

size_t template_size(const struct template_form *t)
{
    size_t sum = sizeof *t + t->cap * sizeof *t->segments;
    for (size_t i = 0; i < t->n; i++) {
        const struct segment *s = &t->segments[i];
        sum += s->len > s->cap ? s->len : s->cap;
        sum += s->kind == SEGMENT_PICK ? s->choices.n * sizeof *s->choices.spans : 0;
    }
    return sum;
}

static struct segment *append(struct template_form *t, enum segment_kind kind)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 4 : 2 * t->cap;
        t->segments = mem_realloc(t->segments, t->cap, sizeof *t->segments);
    }
    struct segment *s = &t->segments[t->n++];
    *s = (struct segment){.kind = kind};
    return s;
}

/* No realloc: it would leave secrets behind. */
static void grow(struct segment *s, size_t len)
{
    if (s->cap - s->len >= len)
        return;
    s->cap = s->len + (s->len > len ? s->len : len);
    char *grown = mem_calloc(s->cap, 1);
    if (s->len > 0) {
        memcpy(grown, s->bytes, s->len);
        explicit_bzero(s->bytes, s->len);
    }
    mem_free(s->bytes);
    s->bytes = grown;
}

/* May the last segment take more? Not where the body begins or ends. */
static bool can_grow(const struct template_form *t)
{
    if (t->n == 0 || t->segments[t->n - 1].kind != SEGMENT_BYTES)
        return false;
    return !t->has_body || t->n != (t->in_body ? t->body_from : t->body_to);
}

void template_put(struct template_form *t, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    struct segment *s = can_grow(t) ? &t->segments[t->n - 1] : append(t, SEGMENT_BYTES);
    grow(s, len);
    memcpy(s->bytes + s->len, bytes, len);
    s->len += len;
}

void template_begin_body(struct template_form *t)
{
    t->has_body = t->in_body = true;
    t->body_from = t->body_to = t->n;
}

void template_end_body(struct template_form *t)
{
    t->in_body = false;
    t->body_to = t->n;
}

void template_put_body_length(struct template_form *t)
{
    append(t, SEGMENT_LENGTH);
}

void template_put_chunk_begin(struct template_form *t)
{
    append(t, SEGMENT_CHUNK_BEGIN);
}

void template_put_chunk_end(struct template_form *t)
{
    append(t, SEGMENT_CHUNK_END);
}

/* --- placeholders --------------------------------------------------------------------------- */

/* Where a text is compiled into. */
struct compiling {
    struct template_form *t;
    const struct template_book *book;
    enum template_place place;
    struct errmsg *msg;
};

static bool belongs(char c, enum template_place place)
{
    unsigned char b = (unsigned char)c;
    if (place == TEMPLATE_IN_BODY)
        return true;
    if (place == TEMPLATE_IN_HEADER)
        return (b >= ' ' && b != 0x7f) || b == '\t';
    return (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z') ||
           (b != '\0' && strchr("-._~!$&'()*+,;=:@/?[]%", b) != NULL);
}

static bool all_belong(const char *text, size_t len, enum template_place place)
{
    for (size_t i = 0; i < len; i++)
        if (!belongs(text[i], place))
            return false;
    return true;
}

static enum err refuse(const struct compiling *c, const struct template_piece *p, enum err e,
                       const char *why)
{
    char text[UNITS_SHOWN], shown[UNITS_SHOWN];
    snprintf(text, sizeof text, "%.*s", (int)(p->len < 80 ? p->len : 80), p->text);
    return errmsg_set(c->msg, e, "template %s: %s", units_format_shown(text, shown), why);
}

static enum err refuse_value(const struct compiling *c, const struct template_piece *p)
{
    return refuse(c, p, ERR_INVALID,
                  c->place == TEMPLATE_IN_URL
                      ? "a value has a byte that no URL has; accepted is such a byte "
                        "percent-encoded"
                      : "a value has a control character, which no header has");
}

static enum err add_env(struct compiling *c, const struct template_piece *p)
{
    const struct template_named *v = template_book_env(c->book, p->args, p->args_len);
    if (v == NULL)
        return refuse(c, p, ERR_NOT_FOUND, "no such variable came with the plan");
    if (!all_belong((const char *)v->bytes, v->len, c->place))
        return refuse_value(c, p);
    if (v->len > TEMPLATE_ENV_BYTES - c->t->env_bytes)
        return refuse(c, p, ERR_TOO_BIG, "the variables of one request have more than 8 MiB");
    c->t->env_bytes += v->len;
    template_put(c->t, v->bytes, v->len);
    return ERR_OK;
}

static enum err add_line(struct compiling *c, const struct template_piece *p)
{
    struct template_lines *l = template_book_file(c->book, p->args, p->args_len);
    if (l == NULL)
        return refuse(c, p, ERR_NOT_FOUND, "no such file came with the plan");
    for (size_t i = 0; c->place != TEMPLATE_IN_BODY && !l->checked[c->place] && i < l->choices.n;
         i++) {
        char why[160];
        if (all_belong(l->choices.spans[i].at, l->choices.spans[i].len, c->place))
            continue;
        snprintf(why, sizeof why, "line %zu has a byte that no %s has%s", i + 1,
                 c->place == TEMPLATE_IN_URL ? "URL" : "header",
                 c->place == TEMPLATE_IN_URL ? "; accepted is such a byte percent-encoded" : "");
        return refuse(c, p, ERR_INVALID, why);
    }
    if (c->place != TEMPLATE_IN_BODY) /* ten thousand requests share it */
        l->checked[c->place] = true;
    append(c->t, SEGMENT_LINE)->choices = l->choices;
    return ERR_OK;
}

static enum err add_pick(struct compiling *c, const struct template_piece *p)
{
    if (!all_belong(p->args, p->args_len, TEMPLATE_IN_HEADER))
        return refuse(c, p, ERR_INVALID, "a control character in a word");
    struct segment *s = append(c->t, SEGMENT_PICK);
    s->bytes = mem_dup(p->args, p->args_len);
    s->len = p->args_len;
    struct template_scan args = {s->bytes, s->bytes + s->len};
    struct template_span word;
    s->choices.spans = mem_calloc(TEMPLATE_PICK_MAX, sizeof word);
    while (template_word(&args, &word.at, &word.len)) {
        if (!all_belong(word.at, word.len, c->place))
            return refuse_value(c, p);
        s->choices.spans[s->choices.n++] = word;
        if (word.len > s->choices.max)
            s->choices.max = word.len;
    }
    s->choices.spans = mem_realloc(s->choices.spans, s->choices.n, sizeof word);
    return ERR_OK;
}

static enum err add_rand(struct compiling *c, const struct template_piece *p)
{
    struct segment *s = append(c->t, SEGMENT_RAND);
    s->low = p->low;
    s->high = p->high;
    return ERR_OK;
}

static enum err add_seq(struct compiling *c, const struct template_piece *p)
{
    (void)p;
    append(c->t, SEGMENT_SEQ);
    return ERR_OK;
}

static enum err add_uuid(struct compiling *c, const struct template_piece *p)
{
    (void)p;
    append(c->t, SEGMENT_UUID);
    return ERR_OK;
}

static enum err add_literal(struct compiling *c, const struct template_piece *p)
{
    template_put(c->t, p->text, p->len);
    return ERR_OK;
}

static enum err (*const adders[TEMPLATE_KINDS])(struct compiling *,
                                                const struct template_piece *) = {
    [TEMPLATE_LITERAL] = add_literal, [TEMPLATE_SEQ] = add_seq,   [TEMPLATE_RAND] = add_rand,
    [TEMPLATE_PICK] = add_pick,       [TEMPLATE_UUID] = add_uuid, [TEMPLATE_LINE] = add_line,
    [TEMPLATE_ENV] = add_env,
};

enum err template_add(struct template_form *t, const struct template_book *book, const void *text,
                      size_t len, enum template_place place, struct errmsg *msg)
{
    struct compiling c = {t, book, place, msg};
    struct template_scan scan = {text, (const char *)text + len};
    for (;;) {
        struct template_piece p;
        bool more;
        enum err e = template_next(&scan, &p, &more, msg);
        if (e != ERR_OK || !more)
            return e;
        size_t before = t->n;
        if (t->placeholders == TEMPLATE_PLACEHOLDERS_MAX && p.kind != TEMPLATE_LITERAL)
            return refuse(&c, &p, ERR_TOO_BIG, "more than 10000 placeholders in one request");
        e = adders[p.kind](&c, &p);
        if (e != ERR_OK)
            return e;
        if (p.kind != TEMPLATE_LITERAL && p.kind != TEMPLATE_ENV && t->n > before)
            t->segments[t->n - 1].number = t->placeholders++;
    }
}
