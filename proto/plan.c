/* SPDX-License-Identifier: MIT */
#include "proto/plan.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan_tls.h"

#define DURATION_DEFAULT (10 * NS_PER_SEC)
#define TIMEOUT_DEFAULT  (2 * NS_PER_SEC)
#define INTERVAL_DEFAULT (1 * NS_PER_SEC)

void plan_defaults(struct plan *p)
{
    *p = (struct plan){
        .rate = {.num = 0, .den = 1},
        .rate_per_agent = {.num = 0, .den = 1},
        .duration_ns = NS_NEVER,
        .requests = UINT64_MAX,
        .timeout_ns = TIMEOUT_DEFAULT,
        .interval_ns = INTERVAL_DEFAULT,
        .spin_ns = PLAN_SPIN_AUTO,
        .seed = PLAN_SEED_DEFAULT,
    };
}

/* What is bounded by itself fits; several requests and files together need not. */
static enum err check_size(const struct plan *p, struct errmsg *msg)
{
    uint8_t *bytes;
    size_t len;
    if (p->n_entries + p->n_files == 0)
        return ERR_OK;
    enum err e = plan_encode(p, &bytes, &len);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "the plan cannot be encoded: %s", err_str(e));
    explicit_bzero(bytes, len);
    mem_free(bytes);
    if (len <= PLAN_WIRE_MAX)
        return ERR_OK;
    return errmsg_set(msg, ERR_TOO_BIG,
                      "the plan has %zu bytes with its requests, bodies and files: accepted are at "
                      "most %u",
                      len, PLAN_WIRE_MAX);
}

enum err plan_check(struct plan *p, struct errmsg *msg)
{
    plan_settle_debug(p);
    enum err e = plan_settle_requests(p, msg);
    if (e == ERR_OK)
        e = plan_tls_load(p, msg);
    if (e == ERR_OK)
        e = plan_settle_stages(p, msg);
    if (e != ERR_OK)
        return e;
    if (!p->forever && p->duration_ns == NS_NEVER && p->requests == UINT64_MAX)
        p->duration_ns = DURATION_DEFAULT;
    e = plan_validate(p, msg);
    return e == ERR_OK ? check_size(p, msg) : e;
}

/* --- ownership --- */

static void named_clear(struct template_named **list, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        mem_free((*list)[i].name);
        if ((*list)[i].bytes != NULL)
            explicit_bzero((*list)[i].bytes, (*list)[i].len); /* may be secrets */
        mem_free((*list)[i].bytes);
    }
    mem_free(*list);
    *list = NULL;
    *n = 0;
}

void plan_clear(struct plan *p)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    option_clear(rows, n, p);
    option_list_clear(&p->given);
    mem_free(p->url);
    mem_free(p->body);
    mem_free(p->cacert);
    mem_free(p->cert);
    if (p->key != NULL)
        explicit_bzero(p->key, p->key_len);
    mem_free(p->key);
    for (size_t i = 0; i < p->n_entries; i++)
        plan_entry_clear(&p->entries[i]);
    mem_free(p->entries);
    named_clear(&p->files, &p->n_files);
    named_clear(&p->env, &p->n_env);
    memset(p, 0, sizeof *p);
}

static struct option_list copy_list(const struct option_list *from)
{
    struct option_list to = {0};
    for (size_t i = 0; i < from->n; i++)
        option_list_add(&to, from->items[i]);
    return to;
}

static struct template_named *copy_named(const struct template_named *from, size_t n)
{
    struct template_named *to = n > 0 ? mem_calloc(n, sizeof *to) : NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = (struct template_named){mem_strdup(from[i].name),
                                        mem_dup(from[i].bytes, from[i].len), from[i].len};
    return to;
}

static struct plan_entry *copy_entries(const struct plan_entry *from, size_t n)
{
    struct plan_entry *to = n > 0 ? mem_calloc(n, sizeof *to) : NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = (struct plan_entry){.name = mem_strdup(from[i].name),
                                    .url = mem_strdup(from[i].url),
                                    .method = mem_strdup(from[i].method),
                                    .headers = copy_list(&from[i].headers),
                                    .body = mem_dup(from[i].body, from[i].body_len),
                                    .body_len = from[i].body_len,
                                    .weight = from[i].weight};
    return to;
}

enum err plan_copy(struct plan *to, const struct plan *from)
{
    *to = *from;
    to->url = mem_strdup(from->url);
    to->method = mem_strdup(from->method);
    to->data = mem_strdup(from->data);
    to->body_file = mem_strdup(from->body_file);
    to->body = mem_dup(from->body, from->body_len);
    to->cacert_file = mem_strdup(from->cacert_file);
    to->cert_file = mem_strdup(from->cert_file);
    to->key_file = mem_strdup(from->key_file);
    to->cacert = mem_dup(from->cacert, from->cacert_len);
    to->cert = mem_dup(from->cert, from->cert_len);
    to->key = mem_dup(from->key, from->key_len);
    to->sni = mem_strdup(from->sni);
    to->headers = copy_list(&from->headers);
    to->given = copy_list(&from->given);
    to->body_lines = mem_strdup(from->body_lines);
    to->entries = copy_entries(from->entries, from->n_entries);
    to->files = copy_named(from->files, from->n_files);
    to->env = copy_named(from->env, from->n_env);
    to->resolve = copy_list(&from->resolve);
    to->connect_to = copy_list(&from->connect_to);
    to->source_ip = copy_list(&from->source_ip);
    to->unix_socket = mem_strdup(from->unix_socket);
    to->proxy = mem_strdup(from->proxy);
    to->expect_status = mem_strdup(from->expect_status);
    to->expect_body = mem_strdup(from->expect_body);
    return ERR_OK;
}
