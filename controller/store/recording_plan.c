/* SPDX-License-Identifier: MIT */
#include "controller/store/recording_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/libcrypto.h"
#include "common/mem.h"
#include "common/redact.h"

#define ID_BYTES 8

/* Names, each once. */
struct names {
    char *text;
    size_t len;
};

static bool has_name(const struct names *n, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = n->text; p != NULL && *p != '\0'; p += strspn(p, ",")) {
        size_t item = strcspn(p, ",");
        if (item == len && strncmp(p, name, len) == 0)
            return true;
        p += item;
    }
    return false;
}

static void add_name(struct names *n, const char *kind, const char *name, size_t name_len)
{
    size_t size = strlen(kind) + name_len + 3;
    char *item = mem_calloc(size, 1);
    snprintf(item, size, "%s%s%.*s", kind, name_len > 0 ? " " : "", (int)name_len, name);
    for (char *p = item; *p != '\0'; p++)
        if (*p == ',')
            *p = '?';
    if (!has_name(n, item)) {
        n->text = mem_realloc(n->text, n->len + size + 1, 1);
        n->len += (size_t)snprintf(n->text + n->len, size + 1, "%s%s", n->len > 0 ? "," : "", item);
    }
    mem_free(item);
}

/* --- what is replaced ----------------------------------------------------------------------- */

/* The value is "{{env NAME}}", maybe with a word in front ("Bearer {{env TOKEN}}"): it says only
 * where the secret is. */
static bool is_elsewhere(const char *line)
{
    const char *p = line + strcspn(line, ":");
    p += strspn(p, ": \t");
    const char *word = p;
    while (isalpha((unsigned char)*p))
        p++;
    if (p > word && *p == ' ')
        p += strspn(p, " ");
    const char *end = strstr(p, "}}");
    return strncmp(p, "{{env ", 6) == 0 && end != NULL && end[2] == '\0';
}

/* Nothing is cut: at worst each byte is replaced by the word. */
static size_t room(const char *text)
{
    return (strlen(text) + 2) * sizeof REDACTED;
}

/* Returns whether something was. */
static bool strip_headers(struct option_list *l, const char *secret_headers, struct names *names)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++) {
        size_t size = room(l->items[i]);
        char *shown = mem_calloc(size, 1);
        redact_header(l->items[i], secret_headers, shown, size);
        if (strcmp(shown, l->items[i]) == 0 || is_elsewhere(l->items[i])) {
            mem_free(shown);
            continue;
        }
        if (names != NULL)
            add_name(names, "header", l->items[i], strcspn(l->items[i], ":"));
        explicit_bzero(l->items[i], strlen(l->items[i]));
        mem_free(l->items[i]);
        l->items[i] = shown;
        any = true;
    }
    return any;
}

static bool strip_url(char **url)
{
    if (*url == NULL)
        return false;
    size_t size = room(*url);
    char *shown = mem_calloc(size, 1);
    redact_url(*url, shown, size);
    bool differs = strcmp(shown, *url) != 0;
    mem_free(*url);
    *url = shown;
    return differs;
}

static void strip_requests(struct plan *p, const char *secret_headers, struct names *names)
{
    bool any = false;
    for (size_t i = 0; i < p->n_entries; i++) {
        any = strip_headers(&p->entries[i].headers, secret_headers, NULL) || any;
        any = strip_url(&p->entries[i].url) || any;
    }
    if (any)
        add_name(names, "requests", "", 0);
    if (strip_url(&p->url) && p->n_entries == 0)
        add_name(names, "URL", "", 0);
}

static void strip_env(struct plan *p, struct names *names)
{
    for (size_t i = 0; i < p->n_env; i++) {
        struct template_named *v = &p->env[i];
        add_name(names, "env", v->name, strlen(v->name));
        explicit_bzero(v->bytes, v->len);
        mem_free(v->bytes);
        v->bytes = mem_dup(REDACTED, sizeof REDACTED - 1);
        v->len = sizeof REDACTED - 1;
    }
}

/* A certificate without its key is no plan. */
static void strip_key(struct plan *p, struct names *names)
{
    if (p->key == NULL)
        return;
    explicit_bzero(p->key, p->key_len);
    mem_free(p->key);
    mem_free(p->cert);
    p->key = p->cert = NULL;
    p->key_len = p->cert_len = 0;
    add_name(names, "cert", "", 0);
    add_name(names, "key", "", 0);
}

/* What is behind the "=" is shown as a URL would be, but where an @ follows no password. */
static void strip_given(struct plan *p)
{
    for (size_t i = 0; i < p->given.n; i++) {
        char *item = p->given.items[i], *equals = strchr(item, '=');
        if (equals == NULL || strncmp(item, "stages=", 7) == 0)
            continue;
        char *value = mem_strdup(equals + 1);
        if (strip_url(&value)) {
            size_t size = (size_t)(equals - item) + strlen(value) + 2;
            char *kept = mem_calloc(size, 1);
            snprintf(kept, size, "%.*s=%s", (int)(equals - item), item, value);
            explicit_bzero(item, strlen(item));
            mem_free(item);
            p->given.items[i] = kept;
        }
        mem_free(value);
    }
}

static void strip(struct plan *p, const char *secret_headers, struct names *names)
{
    strip_headers(&p->headers, secret_headers, names);
    strip_requests(p, secret_headers, names);
    strip_env(p, names);
    strip_key(p, names);
    if (strip_url(&p->proxy))
        add_name(names, "proxy", "", 0);
    strip_given(p);
}

/* --- the id --------------------------------------------------------------------------------- */

/* Without what changes how a load is written or looked at, but not what is sent. */
static enum err encode_load(const struct plan *p, uint8_t **buf, size_t *len)
{
    struct plan load = *p;
    load.given = (struct option_list){0};
    load.interval_ns = 1000000000;
    load.spin_ns = 0;
    load.phases = false;
    return plan_encode(&load, buf, len);
}

static enum err make_id(const struct plan *p, char id[2 * ID_BYTES + 1])
{
    uint8_t *buf, digest[EVP_MAX_MD_SIZE];
    size_t len;
    unsigned digest_len = 0;
    enum err e = encode_load(p, &buf, &len);
    if (e != ERR_OK)
        return e;
    int ok = EVP_Digest(buf, len, digest, &digest_len, EVP_sha256(), NULL);
    mem_free(buf);
    if (ok != 1 || digest_len < ID_BYTES)
        return ERR_SYSTEM;
    host_hex(digest, ID_BYTES, id);
    return ERR_OK;
}

enum err recording_take_plan(struct recording *r, const struct plan *p, const char *secret_headers)
{
    struct plan kept;
    struct names names = {0};
    enum err e = plan_copy(&kept, p);
    if (e != ERR_OK)
        return e;
    strip(&kept, secret_headers, &names);
    r->secrets = names.text;
    e = plan_encode(&kept, &r->plan, &r->plan_len);
    if (e == ERR_OK)
        e = make_id(&kept, r->plan_id);
    plan_clear(&kept);
    return e;
}
