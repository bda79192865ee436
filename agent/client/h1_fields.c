/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_fields.h"

#include <string.h>

#include "common/mem.h"

#define CAP_MIN 256

void h1_fields_start(struct h1_fields *f)
{
    f->name_len = f->len = 0;
    f->in_value = f->cut = false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static void hand_over(struct h1_fields *f)
{
    const char *value = f->value != NULL ? f->value : "";
    size_t len = f->len;
    while (len > 0 && is_space(value[len - 1]))
        len--;
    for (; len > 0 && is_space(*value); len--)
        value++;
    f->name[f->name_len] = '\0';
    if (f->name_len > 0 && !f->cut)
        f->fn(f->arg, f->name, value, len);
}

void h1_fields_end(struct h1_fields *f)
{
    hand_over(f);
    h1_fields_start(f);
}

void h1_fields_name(struct h1_fields *f, const char *bytes, size_t len)
{
    if (f->in_value)
        h1_fields_end(f);
    if (len > H1_FIELD_NAME - f->name_len) {
        f->cut = true;
        return;
    }
    memcpy(f->name + f->name_len, bytes, len);
    f->name_len += len;
}

void h1_fields_value(struct h1_fields *f, const char *bytes, size_t len)
{
    f->in_value = true;
    if (f->cut || len > H1_FIELD_VALUE - f->len) {
        f->cut = true;
        return;
    }
    if (f->len + len > f->cap) {
        f->cap = f->cap == 0 ? CAP_MIN : f->cap;
        while (f->cap < f->len + len)
            f->cap *= 2;
        f->value = mem_realloc(f->value, f->cap, 1);
    }
    if (len > 0) /* else there may be no room at all */
        memcpy(f->value + f->len, bytes, len);
    f->len += len;
}

void h1_fields_clear(struct h1_fields *f)
{
    mem_free(f->value);
    *f = (struct h1_fields){0};
}
