/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "proto/plan.h"
#include "proto/plan_file.h"
#include "proto/template_text.h"

/* What plan_check does for the requests before they are checked: bodies, methods, files. */

/* --- the body of the plan ------------------------------------------------------------------- */

static void set_body(struct plan *p, uint8_t *owned, size_t len)
{
    mem_free(p->body);
    p->body = owned;
    p->body_len = len;
}

static enum err body_of_data(struct plan *p, struct errmsg *msg)
{
    (void)msg;
    set_body(p, mem_dup(p->data, strlen(p->data)), strlen(p->data));
    return ERR_OK;
}

static enum err body_of_file(struct plan *p, struct errmsg *msg)
{
    uint8_t *bytes;
    size_t len;
    enum err e = plan_file_read("body", p->body_file, PLAN_BODY_MAX, &bytes, &len, msg);
    if (e == ERR_OK)
        set_body(p, bytes, len);
    return e;
}

/* The file itself is read as that of any {{line}}. */
static enum err body_of_lines(struct plan *p, struct errmsg *msg)
{
    static const char frame[] = "{{line %s}}";
    if (p->no_templates)
        return errmsg_set(msg, ERR_INVALID,
                          "--body-lines with --no-templates: accepted is one of the two");
    size_t cap = sizeof frame + strlen(p->body_lines);
    char *text = mem_calloc(cap, 1);
    int len = snprintf(text, cap, frame, p->body_lines);
    set_body(p, (uint8_t *)text, (size_t)len);
    return ERR_OK;
}

/* Letters, the same in every run: nothing in them looks like a template. */
static enum err body_of_size(struct plan *p, struct errmsg *msg)
{
    (void)msg;
    uint8_t *bytes = mem_calloc(p->body_size + 1, 1);
    for (uint64_t i = 0; i < p->body_size; i++)
        bytes[i] = (uint8_t) "abcdefghijklmnopqrstuvwxyz"[(i + i / 26) % 26];
    set_body(p, bytes, p->body_size);
    return ERR_OK;
}

static enum err settle_body(struct plan *p, struct errmsg *msg)
{
    const struct {
        const char *flag;
        bool given;
        const char *value; /* to be shown */
        enum err (*load)(struct plan *, struct errmsg *);
    } sources[] = {
        {"--data", p->data != NULL, "", body_of_data},
        {"--body", p->body_file != NULL, p->body_file, body_of_file},
        {"--body-lines", p->body_lines != NULL, p->body_lines, body_of_lines},
        {"--body-size", p->body_size_set, "", body_of_size},
    };
    const char *first = NULL;
    char shown[UNITS_SHOWN];
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0] && e == ERR_OK; i++) {
        if (!sources[i].given)
            continue;
        if (first != NULL)
            return errmsg_set(
                msg, ERR_INVALID, "%s with %s%s%s: accepted is one of the two", first,
                sources[i].flag, *sources[i].value != '\0' ? " " : "",
                *sources[i].value != '\0' ? units_format_shown(sources[i].value, shown) : "");
        first = sources[i].flag;
        e = sources[i].load(p, msg);
    }
    return e;
}

/* --- methods and headers -------------------------------------------------------------------- */

static void settle_methods(struct plan *p)
{
    for (size_t i = 0; i < p->n_entries && p->method == NULL; i++)
        if (p->entries[i].method == NULL && p->entries[i].body != NULL)
            p->entries[i].method = mem_strdup("POST");
    if (p->method == NULL)
        p->method = mem_strdup(p->body != NULL ? "POST" : "GET");
}

/* "METHOD /path", which may be a template; cut between two characters. */
static char *name_of(const struct plan_request *q)
{
    char url[PLAN_URL_MAX + 1], name[PLAN_METHOD_MAX + PLAN_NAME_MAX + 4];
    redact_url(q->url, url, sizeof url);
    const char *scheme = strstr(url, "://");
    const char *path = scheme != NULL ? scheme + 3 : url;
    path += strcspn(path, "/?#");
    path = *path == '/' ? path : "/";
    size_t len = strcspn(path, "?#");
    int n = snprintf(name, sizeof name, "%.*s %.*s", PLAN_METHOD_MAX, q->method,
                     (int)(len < PLAN_NAME_MAX ? len : PLAN_NAME_MAX), path);
    size_t cut = PLAN_NAME_MAX - 3;
    if ((size_t)n > PLAN_NAME_MAX) {
        while (((unsigned char)name[cut] & 0xc0) == 0x80)
            cut--;
        strcpy(name + cut, "...");
    }
    return mem_strdup(name);
}

static void settle_names(struct plan *p)
{
    for (size_t i = 0; i < p->n_entries && p->name_entries; i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        if (q.name[0] == '\0' && q.url != NULL) {
            mem_free(p->entries[i].name);
            p->entries[i].name = name_of(&q);
        }
    }
}

/* "Name;" is what the user writes, "Name:" what the rest of the program reads. */
static void settle_removals(struct option_list *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        char *line = headers->items[i];
        size_t len = strlen(line);
        if (len > 1 && line[len - 1] == ';' && strcspn(line, ":; \t") == len - 1)
            line[len - 1] = ':';
    }
}

/* --- what templates need -------------------------------------------------------------------- */

static bool is_listed(const struct template_named *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

static void list_add(struct template_named **list, size_t *n, const char *name, uint8_t *owned,
                     size_t len)
{
    *list = mem_realloc(*list, *n + 1, sizeof **list);
    (*list)[(*n)++] = (struct template_named){mem_strdup(name), owned, len};
}

static size_t bytes_of(const struct template_named *list, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].len;
    return sum;
}

static enum err need_file(struct plan *p, const char *name, struct errmsg *msg)
{
    uint8_t *bytes;
    size_t len;
    if (is_listed(p->files, p->n_files, name))
        return ERR_OK;
    if (p->n_files == PLAN_FILES_MAX)
        return errmsg_set(msg, ERR_INVALID,
                          "templates read more than %d files: accepted are at most so many",
                          PLAN_FILES_MAX);
    enum err e =
        plan_file_load("{{line}}", "a readable regular file, all of them together at most 6 MiB",
                       name, PLAN_FILES_BYTES - bytes_of(p->files, p->n_files), &bytes, &len, msg);
    if (e == ERR_OK)
        list_add(&p->files, &p->n_files, name, bytes, len);
    return e;
}

static enum err need_env(struct plan *p, const char *name, struct errmsg *msg)
{
    const char *value = getenv(name);
    if (is_listed(p->env, p->n_env, name))
        return ERR_OK;
    if (value == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "template {{env %s}}: there is no such variable in the environment",
                          name);
    if (p->n_env == PLAN_ENV_MAX || strlen(value) > PLAN_ENV_BYTES)
        return errmsg_set(msg, ERR_INVALID,
                          "template {{env %s}}: accepted are at most %d variables of 64 KiB each",
                          name, PLAN_ENV_MAX);
    list_add(&p->env, &p->n_env, name, mem_dup(value, strlen(value)), strlen(value));
    return ERR_OK;
}

/* What is wrong with the text is said later, by the check. */
static enum err need_all_of(struct plan *p, const void *text, size_t len, struct errmsg *msg)
{
    struct template_scan scan = {text, (const char *)text + len};
    struct template_piece piece;
    char name[TEMPLATE_NAME_MAX + 1];
    bool more;
    if (!plan_is_template(p, text, len))
        return ERR_OK;
    while (template_next(&scan, &piece, &more, NULL) == ERR_OK && more) {
        if (piece.kind != TEMPLATE_LINE && piece.kind != TEMPLATE_ENV)
            continue;
        memcpy(name, piece.args, piece.args_len);
        name[piece.args_len] = '\0';
        enum err e = piece.kind == TEMPLATE_LINE ? need_file(p, name, msg) : need_env(p, name, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err need_all_of_list(struct plan *p, const struct option_list *headers,
                                 struct errmsg *msg)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < headers->n && e == ERR_OK; i++)
        e = need_all_of(p, headers->items[i], strlen(headers->items[i]), msg);
    return e;
}

static enum err settle_templates(struct plan *p, struct errmsg *msg)
{
    enum err e = need_all_of_list(p, &p->headers, msg);
    bool common = false; /* the body that many may share has been looked at */
    for (size_t i = 0; i < plan_request_count(p) && e == ERR_OK; i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        if (q.url != NULL)
            e = need_all_of(p, q.url, strlen(q.url), msg);
        if (e == ERR_OK && q.own != NULL)
            e = need_all_of_list(p, q.own, msg);
        if (e != ERR_OK || q.body == NULL || (common && q.body == p->body))
            continue;
        common = common || q.body == p->body;
        e = need_all_of(p, q.body, q.body_len, msg);
    }
    return e;
}

enum err plan_settle_requests(struct plan *p, struct errmsg *msg)
{
    enum err e = settle_body(p, msg);
    if (e != ERR_OK)
        return e;
    settle_methods(p);
    settle_names(p);
    settle_removals(&p->headers);
    for (size_t i = 0; i < p->n_entries; i++)
        settle_removals(&p->entries[i].headers);
    if (p->url == NULL && p->n_entries > 0)
        p->url = mem_strdup(p->entries[0].url);
    return settle_templates(p, msg);
}
