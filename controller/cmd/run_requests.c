/* SPDX-License-Identifier: MIT */
#include "controller/cmd/run_requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "controller/cmd/request_file.h"
#include "controller/cmd/url_list.h"

/* --- the plan file -------------------------------------------------------------------------- */

/* The words are read for the name of the file alone: what else they say comes after it. */
static enum err find_file(const struct option_row *rows, size_t n, int argc, char **argv,
                          char **path, struct errmsg *msg)
{
    struct run_options *words = mem_calloc(1, sizeof *words);
    const char **rest = mem_calloc(argc > 0 ? (size_t)argc : 1, sizeof *rest);
    size_t n_rest;
    plan_defaults(&words->plan);
    enum err e = option_environment(rows, n, words, msg);
    if (e == ERR_OK)
        e = option_parse(rows, n, argc, argv, words, rest, argc > 0 ? (size_t)argc : 1, &n_rest,
                         msg);
    if (e == ERR_OK && !words->help)
        *path = mem_strdup(words->file);
    run_options_clear(words);
    mem_free(words);
    mem_free(rest);
    return e;
}

static enum err check_secrets(const struct run_options *o, const char *path, struct errmsg *msg)
{
    enum err e = secret_options_check_file(&o->secrets, &o->plan.headers, path, msg);
    for (size_t i = 0; i < o->plan.n_entries && e == ERR_OK; i++)
        e = secret_options_check_file(&o->secrets, &o->plan.entries[i].headers, path, msg);
    return e;
}

/* Its headers come behind those of the file of defaults, which is not to blame for them. */
static enum err read_file(const struct option_row *rows, size_t n, const char *path,
                          struct run_options *o, struct errmsg *msg)
{
    struct option_list all = o->plan.headers;
    o->plan.headers = (struct option_list){0};
    enum err e = request_file_read(rows, n, path, &o->plan, msg);
    if (e == ERR_OK)
        e = check_secrets(o, path, msg);
    for (size_t i = 0; i < o->plan.headers.n; i++)
        option_list_add(&all, o->plan.headers.items[i]);
    option_list_clear(&o->plan.headers);
    o->plan.headers = all;
    return e;
}

enum err run_requests_file(const struct option_row *rows, size_t n, int argc, char **argv,
                           struct run_options *o, struct errmsg *msg)
{
    char *path = NULL;
    if (option_find(rows, n, "file") == NULL)
        return ERR_OK;
    enum err e = find_file(rows, n, argc, argv, &path, msg);
    if (path == NULL)
        path = mem_strdup(o->file); /* of the file of defaults */
    if (e == ERR_OK && path != NULL) {
        struct errmsg why = {{0}};
        e = read_file(rows, n, path, o, &why);
        if (e != ERR_OK)
            errmsg_set(msg, e, "--file %s", why.text);
    }
    mem_free(path);
    return e;
}

/* --- URLs ----------------------------------------------------------------------------------- */

static char *show_url(const char *url)
{
    size_t cap = sizeof REDACTED * (strlen(url) + 2);
    char *shown = mem_calloc(cap, 1);
    redact_url(url, shown, cap);
    return shown;
}

static enum err refuse_two(const char *first, const char *second, struct errmsg *msg)
{
    char *a = show_url(first), *b = show_url(second);
    errmsg_set(msg, ERR_INVALID,
               "%s and %s: two arguments beside the flags; accepted is one, the URL", a, b);
    mem_free(a);
    mem_free(b);
    return ERR_INVALID;
}

static void take_url(struct run_options *o, const char *url, bool argument)
{
    mem_free(o->plan.url);
    o->plan.url = mem_strdup(url);
    char *shown = show_url(url);
    o->secrets.in_url = argument && strcmp(shown, url) != 0;
    mem_free(shown);
}

static enum err read_list(struct run_options *o, struct errmsg *msg)
{
    if (o->urls == NULL)
        return ERR_OK;
    if (o->plan.n_entries > 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--urls with requests in the plan file: accepted is one of the two");
    return url_list_read(o->urls, &o->plan, msg);
}

/* The URL is what paths are put behind, and nothing else. */
static enum err settle_several(struct run_options *o, struct errmsg *msg)
{
    struct plan *p = &o->plan;
    if (p->url != NULL && !request_urls_need_base(p)) {
        char *shown = show_url(p->url);
        errmsg_set(msg, ERR_INVALID,
                   "%s beside requests of a file: accepted is a URL where one of them is a path",
                   shown);
        mem_free(shown);
        return ERR_INVALID;
    }
    enum err e = request_urls_settle(p, p->url, msg);
    mem_free(p->url); /* of the first request, from here on */
    p->url = NULL;
    return e;
}

enum err run_requests_settle(struct run_options *o, const char *const *rest, size_t n_rest,
                             struct errmsg *msg)
{
    const char *variable = getenv("HAMMER_URL");
    if (n_rest > 1)
        return refuse_two(rest[0], rest[1], msg);
    if (n_rest == 1)
        take_url(o, rest[0], true);
    else if (variable != NULL && *variable != '\0')
        take_url(o, variable, false);
    enum err e = read_list(o, msg);
    if (e == ERR_OK && o->plan.n_entries > 0)
        return settle_several(o, msg);
    if (e == ERR_OK && o->plan.url == NULL)
        e = errmsg_set(msg, ERR_INVALID,
                       "the URL is missing: accepted is hammer-ctl run [flags] http://HOST/");
    return e;
}

enum err run_requests_check_unused(const struct plan *p, struct errmsg *msg)
{
    bool has_body = false;
    struct plan_request q;
    for (size_t i = 0; i < plan_request_count(p) && !has_body; i++) {
        plan_request_at(p, i, &q);
        has_body = q.body != NULL;
    }
    if (p->proxy != NULL && p->connect_to.n > 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--proxy with --connect-to: all connections go to the proxy; accepted is "
                          "one of the two");
    if (has_body || (!p->chunked && !p->expect_continue))
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--%s without a body: accepted is with --data, --body, --body-lines or "
                      "--body-size, or a body of a request in the plan file",
                      p->chunked ? "chunked" : "expect-continue");
}
