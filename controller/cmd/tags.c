/* SPDX-License-Identifier: MIT */
#include "controller/cmd/tags.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/units.h"

static bool is_tag(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > TAG_MAX)
        return false;
    for (const char *p = text; *p != '\0'; p++) {
        bool word =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!word && strchr("._-", *p) == NULL)
            return false;
    }
    return true;
}

enum err tags_check(const char *flag, const struct option_list *tags, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    for (size_t i = 0; i < tags->n; i++)
        if (!is_tag(tags->items[i]))
            return errmsg_set(msg, ERR_INVALID,
                              "--%s %s: accepted is a word of 1 to %d letters, digits and . _ -",
                              flag, units_format_shown(tags->items[i], shown), TAG_MAX);
    if (tags->n > TAGS_MAX)
        return errmsg_set(msg, ERR_RANGE, "--%s: %zu tags: accepted are at most %d", flag, tags->n,
                          TAGS_MAX);
    return ERR_OK;
}

static bool has(const struct option_list *l, const char *tag, size_t len)
{
    for (size_t i = 0; l != NULL && i < l->n; i++)
        if (strlen(l->items[i]) == len && strncasecmp(l->items[i], tag, len) == 0)
            return true;
    return false;
}

static void add_lower(struct option_list *l, const char *tag, size_t len)
{
    if (len == 0 || has(l, tag, len))
        return;
    char *copy = mem_dup(tag, len);
    for (char *p = copy; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    option_list_add(l, copy);
    mem_free(copy);
}

/* Of a list that is freed. "" = none. */
static char *join(struct option_list *l)
{
    size_t size = 1, at = 0;
    for (size_t i = 0; i < l->n; i++)
        size += strlen(l->items[i]) + 1;
    char *text = mem_calloc(size, 1);
    for (size_t i = 0; i < l->n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? "," : "", l->items[i]);
    option_list_clear(l);
    return text;
}

char *tags_text(const struct option_list *tags)
{
    struct option_list l = {0};
    for (size_t i = 0; i < tags->n; i++)
        add_lower(&l, tags->items[i], strlen(tags->items[i]));
    return l.n > 0 ? join(&l) : NULL;
}

enum err tags_change(const char *had, const struct option_list *add, const struct option_list *drop,
                     char **out, struct errmsg *msg)
{
    struct option_list l = {0};
    *out = NULL;
    for (const char *p = had != NULL ? had : ""; *p != '\0'; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        if (!has(drop, p, len))
            add_lower(&l, p, len);
        p += len;
    }
    for (size_t i = 0; i < add->n; i++)
        if (!has(drop, add->items[i], strlen(add->items[i])))
            add_lower(&l, add->items[i], strlen(add->items[i]));
    size_t n = l.n;
    *out = join(&l);
    if (n <= TAGS_MAX)
        return ERR_OK;
    mem_free(*out);
    *out = NULL;
    return errmsg_set(msg, ERR_RANGE, "%zu tags: a run has at most %d", n, TAGS_MAX);
}
