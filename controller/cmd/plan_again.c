/* SPDX-License-Identifier: MIT */
#include "controller/cmd/plan_again.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "controller/store/store.h"

#define SECRET_TEXT 256

/* --- secrets ---------------------------------------------------------------------------------- */

static bool same_name(const char *line, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(line, name, len) == 0 && line[len] == ':';
}

static bool take_header(struct plan *to, const struct plan *given, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < to->headers.n; i++)
        for (size_t j = 0; j < given->headers.n && same_name(to->headers.items[i], name); j++)
            if (same_name(given->headers.items[j], name)) {
                mem_free(to->headers.items[i]);
                to->headers.items[i] = mem_strdup(given->headers.items[j]);
                any = true;
                break;
            }
    return any;
}

static bool take_env(struct plan *to, const struct plan *given, const char *name)
{
    for (size_t i = 0; i < to->n_env; i++)
        for (size_t j = 0; j < given->n_env; j++)
            if (strcmp(to->env[i].name, name) == 0 && strcmp(given->env[j].name, name) == 0) {
                mem_free(to->env[i].bytes);
                to->env[i].bytes = mem_dup(given->env[j].bytes, given->env[j].len);
                to->env[i].len = given->env[j].len;
                return true;
            }
    return false;
}

static bool take_cert(struct plan *to, const struct plan *given, const char *name)
{
    (void)name;
    if (given->cert == NULL)
        return false;
    mem_free(to->cert);
    to->cert = mem_dup(given->cert, given->cert_len);
    to->cert_len = given->cert_len;
    return true;
}

static bool take_key(struct plan *to, const struct plan *given, const char *name)
{
    (void)name;
    if (given->key == NULL)
        return false;
    mem_free(to->key);
    to->key = mem_dup(given->key, given->key_len);
    to->key_len = given->key_len;
    return true;
}

/* What recording_take_plan may say that a plan lacks; anything else cannot be given anew. */
static const struct {
    const char *kind;
    bool (*take)(struct plan *to, const struct plan *given, const char *name);
} secrets[] = {
    {"header ", take_header}, {"env ", take_env}, {"cert", take_cert}, {"key", take_key}};

static bool take_secret(struct plan *to, const struct plan *given, const char *secret)
{
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        size_t len = strlen(secrets[i].kind);
        if (strncmp(secret, secrets[i].kind, len) == 0)
            return secrets[i].take(to, given, secret + len);
    }
    return false;
}

static enum err take_secrets(struct plan_again *a, const char *list, const struct plan *given,
                             struct errmsg *msg)
{
    while (list != NULL && *list != '\0') {
        char secret[SECRET_TEXT];
        size_t len = strcspn(list, ",");
        snprintf(secret, sizeof secret, "%.*s", (int)len, list);
        if (!take_secret(&a->plan, given, secret))
            return errmsg_set(msg, ERR_INVALID,
                              "run %.8s had a secret (%s), which is not kept: accepted is a run "
                              "whose secrets are given on this command line too",
                              a->run_id, secret);
        list += len + (list[len] == ',');
    }
    return ERR_OK;
}

/* --- the plan --------------------------------------------------------------------------------- */

static enum err take_plan(struct plan_again *a, const struct recording *r, const struct plan *given,
                          struct errmsg *msg)
{
    snprintf(a->run_id, sizeof a->run_id, "%s", r->run_id);
    snprintf(a->name, sizeof a->name, "%s", r->name);
    enum err e = plan_decode(r->plan, r->plan_len, &a->plan, msg);
    if (e == ERR_OK)
        e = take_secrets(a, r->secrets, given, msg);
    return e == ERR_OK ? plan_validate(&a->plan, msg) : e;
}

enum err plan_again_load(const char *word, const char *db, const struct plan *given,
                         struct plan_again *out, struct errmsg *msg)
{
    struct recording *r = NULL;
    *out = (struct plan_again){.run_id = ""};
    enum err e = store_fetch(word, db, &r, msg);
    if (e == ERR_OK)
        e = take_plan(out, r, given, msg);
    recording_free(r);
    return e;
}

void plan_again_clear(struct plan_again *a)
{
    plan_clear(&a->plan);
}
