/* SPDX-License-Identifier: MIT */
#include "controller/cmd/request_file.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/option_file.h"
#include "common/redact.h"
#include "proto/plan_file.h"

/* One of the list, as it is written. */
struct item {
    char *url, *method, *data, *body, *name;
    struct option_list headers;
    uint32_t weight;
};

struct reading {
    struct plan *plan;
    struct item item;
};

#define ROW(key, kind, member, form)                                                               \
    {                                                                                              \
        .name = key, .aliases = "", .type = kind, .offset = offsetof(struct item, member),         \
        .set_offset = OPTION_NO_SET, .accepted = form                                              \
    }

static const struct option_row item_rows[] = {
    ROW("url", OPTION_STRING, url, "http://HOST[:PORT][/PATH], or /PATH"),
    ROW("method", OPTION_STRING, method, "a method"),
    ROW("headers", OPTION_LIST, headers, "NAME: VALUE"),
    ROW("data", OPTION_STRING, data, "a text"),
    ROW("body", OPTION_STRING, body, "a file name"),
    ROW("name", OPTION_STRING, name, "a text"),
    {.name = "weight",
     .aliases = "",
     .type = OPTION_U32,
     .offset = offsetof(struct item, weight),
     .set_offset = OPTION_NO_SET,
     .min = 1,
     .max = PLAN_WEIGHT_MAX},
};

#define N_ITEM_ROWS (sizeof item_rows / sizeof item_rows[0])

static void *begin(void *arg)
{
    struct reading *r = arg;
    r->item = (struct item){.weight = 1};
    return &r->item;
}

static size_t body_bytes(const struct plan *p)
{
    size_t sum = 0;
    for (size_t i = 0; i < p->n_entries; i++)
        sum += p->entries[i].body_len;
    return sum;
}

enum err request_body_read(const char *path, const struct plan *p, struct plan_entry *e,
                           struct errmsg *msg)
{
    size_t had = body_bytes(p);
    enum err bad = plan_file_load("body", "a readable regular file of at most 4 MiB", path,
                                  PLAN_BODY_MAX, &e->body, &e->body_len, msg);
    if (bad == ERR_OK && had + e->body_len > PLAN_WIRE_MAX)
        bad = errmsg_set(msg, ERR_TOO_BIG,
                         "the bodies of the requests have more than %u bytes together",
                         PLAN_WIRE_MAX);
    return bad;
}

static char *take(char **from)
{
    char *text = *from;
    *from = NULL;
    return text;
}

static enum err end(void *arg, struct errmsg *msg)
{
    struct reading *r = arg;
    struct item *it = &r->item;
    if (it->url == NULL)
        return errmsg_set(msg, ERR_INVALID, "a request without url; accepted is url: http://HOST/");
    if (it->data != NULL && it->body != NULL)
        return errmsg_set(msg, ERR_INVALID, "data and body: accepted is one of the two");
    if (r->plan->n_entries == PLAN_ENTRIES_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "accepted are at most %d requests", PLAN_ENTRIES_MAX);
    struct plan_entry *e = plan_add_entry(r->plan);
    e->url = take(&it->url);
    e->method = take(&it->method);
    e->name = take(&it->name);
    e->weight = it->weight;
    e->headers = it->headers;
    it->headers = (struct option_list){0};
    enum err bad = ERR_OK;
    if (it->data != NULL) {
        e->body_len = strlen(it->data);
        e->body = (uint8_t *)take(&it->data);
    } else if (it->body != NULL) {
        bad = request_body_read(it->body, r->plan, e, msg);
    }
    option_clear(item_rows, N_ITEM_ROWS, it);
    return bad;
}

/* The command's rows but for the file itself, and the URL, which is no flag. */
static struct option_row *file_rows(const struct option_row *rows, size_t *n)
{
    struct option_row *all = mem_calloc(*n + 1, sizeof *all);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(rows[i].name, "file") != 0)
            all[kept++] = rows[i];
    *n = kept + 1;
    all[kept] = (struct option_row){.name = "url",
                                    .aliases = "",
                                    .type = OPTION_STRING,
                                    .offset = offsetof(struct plan, url),
                                    .set_offset = OPTION_NO_SET,
                                    .accepted = "http://HOST[:PORT][/PATH] or https://"};
    return all;
}

enum err request_file_read(const struct option_row *rows, size_t n_rows, const char *path,
                           struct plan *p, struct errmsg *msg)
{
    struct reading r = {.plan = p};
    const struct option_nested nested = {.name = "requests",
                                         .rows = item_rows,
                                         .n_rows = N_ITEM_ROWS,
                                         .arg = &r,
                                         .begin = begin,
                                         .end = end};
    struct option_row *all = file_rows(rows, &n_rows);
    enum err e = option_file_nested(all, n_rows, &nested, REQUEST_FILE_MAX, path, p, msg);
    option_clear(item_rows, N_ITEM_ROWS, &r.item); /* of one that was given up */
    mem_free(all);
    p->name_entries = p->name_entries || p->n_entries > 0;
    return e;
}

/* --- URLs that are paths -------------------------------------------------------------------- */

static bool is_path(const char *url)
{
    return url != NULL && url[0] == '/';
}

bool request_urls_need_base(const struct plan *p)
{
    for (size_t i = 0; i < p->n_entries; i++)
        if (is_path(p->entries[i].url))
            return true;
    return false;
}

static char *join(const char *base, const char *path)
{
    size_t len = strlen(base);
    while (len > 0 && base[len - 1] == '/')
        len--;
    size_t cap = len + strlen(path) + 1;
    char *url = mem_calloc(cap, 1);
    snprintf(url, cap, "%.*s%s", (int)len, base, path);
    return url;
}

enum err request_urls_settle(struct plan *p, const char *base, struct errmsg *msg)
{
    for (size_t i = 0; i < p->n_entries; i++) {
        struct plan_entry *e = &p->entries[i];
        char shown[128];
        if (!is_path(e->url))
            continue;
        redact_url(e->url, shown, sizeof shown);
        if (base == NULL || strlen(base) > PLAN_URL_MAX || strpbrk(base, "?#") != NULL)
            return errmsg_set(msg, ERR_INVALID,
                              "request %zu: URL %s is a path; accepted is one with a URL, without "
                              "a query, on the command line or as url in the plan file",
                              i + 1, shown);
        char *url = join(base, e->url);
        mem_free(e->url);
        e->url = url;
    }
    return ERR_OK;
}
