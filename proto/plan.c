/* SPDX-License-Identifier: MIT */
#include "proto/plan.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan_file.h"
#include "proto/plan_tls.h"

#define DURATION_DEFAULT (10 * NS_PER_SEC)
#define TIMEOUT_DEFAULT  (2 * NS_PER_SEC)
#define INTERVAL_DEFAULT (1 * NS_PER_SEC)

void plan_defaults(struct plan *p)
{
    *p = (struct plan){
        .rate = {.num = 0, .den = 1},
        .duration_ns = NS_NEVER,
        .requests = UINT64_MAX,
        .timeout_ns = TIMEOUT_DEFAULT,
        .interval_ns = INTERVAL_DEFAULT,
        .spin_ns = PLAN_SPIN_AUTO,
        .seed = PLAN_SEED_DEFAULT,
    };
}

/* --- the body --- */

static void set_body(struct plan *p, uint8_t *owned, size_t len)
{
    mem_free(p->body);
    p->body = owned;
    p->body_len = len;
}

static enum err load_body(struct plan *p, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    uint8_t *bytes;
    size_t len;
    if (p->data != NULL && p->body_file != NULL)
        return errmsg_set(msg, ERR_INVALID, "--data with --body %s: accepted is one of the two",
                          units_format_shown(p->body_file, shown));
    if (p->data != NULL)
        set_body(p, mem_dup(p->data, strlen(p->data)), strlen(p->data));
    if (p->body_file == NULL)
        return ERR_OK;
    enum err e = plan_file_read("body", p->body_file, PLAN_BODY_MAX, &bytes, &len, msg);
    if (e == ERR_OK)
        set_body(p, bytes, len);
    return e;
}

enum err plan_check(struct plan *p, struct errmsg *msg)
{
    enum err e = load_body(p, msg);
    if (e == ERR_OK)
        e = plan_tls_load(p, msg);
    if (e != ERR_OK)
        return e;
    if (p->method == NULL)
        p->method = mem_strdup(p->body != NULL ? "POST" : "GET");
    e = plan_settle_stages(p, msg);
    if (e != ERR_OK)
        return e;
    if (!p->forever && p->duration_ns == NS_NEVER && p->requests == UINT64_MAX)
        p->duration_ns = DURATION_DEFAULT;
    return plan_validate(p, msg);
}

/* --- ownership --- */

void plan_clear(struct plan *p)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    option_clear(rows, n, p);
    mem_free(p->url);
    mem_free(p->body);
    mem_free(p->cacert);
    mem_free(p->cert);
    if (p->key != NULL)
        explicit_bzero(p->key, p->key_len);
    mem_free(p->key);
    memset(p, 0, sizeof *p);
}

static void copy_list(struct option_list *to, const struct option_list *from)
{
    *to = (struct option_list){0};
    for (size_t i = 0; i < from->n; i++)
        option_list_add(to, from->items[i]);
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
    copy_list(&to->headers, &from->headers);
    copy_list(&to->resolve, &from->resolve);
    copy_list(&to->connect_to, &from->connect_to);
    copy_list(&to->source_ip, &from->source_ip);
    to->unix_socket = mem_strdup(from->unix_socket);
    to->proxy = mem_strdup(from->proxy);
    return ERR_OK;
}
