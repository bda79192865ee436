/* SPDX-License-Identifier: MIT */
#include "controller/cmd/run_again.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/store/store.h"

/* What is put together with the words once they are known. */
struct run_again {
    char *run;     /* as it was named */
    char *secrets; /* what must be given once more; NULL = nothing */
    char *proxy;   /* as it was stored, NULL = none */
    struct option_list headers;
    char *abort_on, *slo; /* a line each; NULL = none */
};

void run_again_free(struct run_again *a)
{
    if (a == NULL)
        return;
    char *const owned[] = {a->run, a->secrets, a->proxy, a->abort_on, a->slo};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        mem_free(owned[i]);
    option_list_clear(&a->headers);
    mem_free(a);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool was_given(const struct plan *p, const char *name)
{
    char item[OPTION_GIVEN_NAME];
    const char *value;
    for (size_t i = 0; i < p->given.n; i++) {
        option_given(p->given.items[i], item, &value);
        if (strcmp(item, name) == 0)
            return true;
    }
    return false;
}

static bool lacks(const char *secrets, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = secrets != NULL ? secrets : ""; *p != '\0'; p += strspn(p, ",")) {
        size_t item = strcspn(p, ",");
        if (item == len && strncmp(p, name, len) == 0)
            return true;
        p += item;
    }
    return false;
}

static void drop_entries(struct plan *p)
{
    for (size_t i = 0; i < p->n_entries; i++)
        plan_entry_clear(&p->entries[i]);
    mem_free(p->entries);
    p->entries = NULL;
    p->n_entries = 0;
}

static void drop_env(struct plan *p)
{
    for (size_t i = 0; i < p->n_env; i++) {
        mem_free(p->env[i].name);
        mem_free(p->env[i].bytes);
    }
    mem_free(p->env);
    p->env = NULL;
    p->n_env = 0;
}

/* The plan is settled already; what followed from other flags follows once more. */
static void unsettle(struct plan *p, const char *secrets)
{
    if (!was_given(p, "method")) {
        mem_free(p->method);
        p->method = NULL;
    }
    if (!was_given(p, "duration") && p->n_stages == 0)
        p->duration_ns = NS_NEVER;
    if (p->n_entries > 0 || lacks(secrets, "URL")) {
        mem_free(p->url); /* of the first request */
        p->url = NULL;
    }
    if (lacks(secrets, "requests"))
        drop_entries(p);
    drop_env(p); /* read anew */
}

static enum err take(struct recording *r, struct run_options *o, struct errmsg *msg)
{
    struct plan p;
    struct errmsg why;
    if (plan_decode(r->plan, r->plan_len, &p, &why) != ERR_OK)
        return errmsg_set(msg, ERR_CORRUPT, "run %.8s: %s", r->run_id, why.text);
    plan_clear(&o->plan);
    o->plan = p;
    unsettle(&o->plan, r->secrets);
    o->again->headers = o->plan.headers;
    o->plan.headers = (struct option_list){0};
    o->again->secrets = mem_strdup(r->secrets);
    o->again->proxy = mem_strdup(o->plan.proxy);
    o->again->abort_on = mem_strdup(r->abort_on);
    o->again->slo = mem_strdup(r->slo);
    return ERR_OK;
}

enum err run_again_load(const char *run, const char *db, struct run_options *o, struct errmsg *msg)
{
    struct recording *r = NULL;
    struct errmsg why = {{0}};
    run_again_free(o->again);
    o->again = mem_calloc(1, sizeof *o->again);
    o->again->run = mem_strdup(run);
    enum err e = store_fetch(run, db, &r, &why);
    if (e == ERR_OK && r->plan == NULL)
        e = errmsg_set(&why, ERR_NOT_FOUND, "run %.8s: its plan was not kept", r->run_id);
    if (e == ERR_OK)
        e = take(r, o, &why);
    recording_free(r);
    return e == ERR_OK ? ERR_OK : errmsg_set(msg, e, "--again %s", why.text);
}

/* The words are read for this alone: what else they say comes after it. */
enum err run_again_words(const struct option_row *rows, size_t n, int argc, char **argv,
                         struct run_options *o, struct errmsg *msg)
{
    if (option_find(rows, n, "again") == NULL)
        return ERR_OK;
    struct run_options *words = mem_calloc(1, sizeof *words);
    const char **rest = mem_calloc(argc > 0 ? (size_t)argc : 1, sizeof *rest);
    size_t n_rest;
    plan_defaults(&words->plan);
    enum err e = option_environment(rows, n, words, msg);
    if (e == ERR_OK)
        e = option_parse(rows, n, argc, argv, words, rest, argc > 0 ? (size_t)argc : 1, &n_rest,
                         msg);
    if (e == ERR_OK && !words->help && words->again_run != NULL) {
        e = run_again_load(words->again_run,
                           words->results.db != NULL ? words->results.db : o->results.db, o, msg);
        if (words->file != NULL || words->urls != NULL)
            drop_entries(&o->plan);
    }
    run_options_clear(words);
    mem_free(words);
    mem_free(rest);
    return e;
}

/* --- settling ------------------------------------------------------------------------------- */

static bool has_header(const struct option_list *l, const char *name, size_t len)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcspn(l->items[i], ":") == len && strncasecmp(l->items[i], name, len) == 0)
            return true;
    return false;
}

/* Was it given? A variable of {{env}} is asked for where it is read. */
static bool is_given(const struct run_options *o, const char *item, bool url)
{
    static const char header[] = "header ";
    if (strncmp(item, header, sizeof header - 1) == 0) {
        const char *name = item + sizeof header - 1;
        return has_header(&o->plan.headers, name, strlen(name));
    }
    if (strcmp(item, "key") == 0 || strcmp(item, "cert") == 0)
        return o->plan.key != NULL && o->plan.cert_file != NULL;
    if (strcmp(item, "proxy") == 0)
        return o->plan.proxy != NULL && strcmp(o->plan.proxy, o->again->proxy) != 0;
    if (strcmp(item, "URL") == 0)
        return url;
    if (strcmp(item, "requests") == 0)
        return o->plan.n_entries > 0 || o->urls != NULL;
    return true;
}

static enum err check_secrets(const struct run_options *o, bool url, struct errmsg *msg)
{
    char missing[256] = "";
    size_t len = 0;
    const char *all = o->again->secrets != NULL ? o->again->secrets : "";
    for (const char *p = all; *p != '\0'; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        char *item = mem_dup(p, n);
        if (!is_given(o, item, url) && len < sizeof missing)
            len += (size_t)snprintf(missing + len, sizeof missing - len, "%s%s",
                                    len > 0 ? ", " : "", item);
        mem_free(item);
        p += n;
    }
    if (missing[0] == '\0')
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--again %.64s: secrets are not kept, they must be given once more: %s "
                      "(headers by --bearer, --basic, --header-file or HAMMER_HEADER, requests by "
                      "--file or --urls)",
                      o->again->run, missing);
}

/* Unless others were given. */
static void add_lines(struct option_list *to, const char *lines)
{
    if (to->n > 0)
        return;
    for (const char *p = lines != NULL ? lines : ""; *p != '\0'; p += strspn(p, "\n")) {
        size_t len = strcspn(p, "\n");
        char *line = mem_dup(p, len);
        option_list_add(to, line);
        mem_free(line);
        p += len;
    }
}

enum err run_again_settle(struct run_options *o, bool url, struct errmsg *msg)
{
    struct run_again *a = o->again;
    if (a == NULL)
        return ERR_OK;
    enum err e = check_secrets(o, url, msg);
    struct option_list given = o->plan.headers;
    o->plan.headers = (struct option_list){0};
    for (size_t i = 0; i < a->headers.n; i++)
        if (!has_header(&given, a->headers.items[i], strcspn(a->headers.items[i], ":")))
            option_list_add(&o->plan.headers, a->headers.items[i]);
    for (size_t i = 0; i < given.n; i++)
        option_list_add(&o->plan.headers, given.items[i]);
    option_list_clear(&given);
    add_lines(&o->abort_texts, a->abort_on);
    add_lines(&o->slo_texts, a->slo);
    return e;
}
