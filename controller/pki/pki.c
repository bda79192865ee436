/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_impl.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/units.h"
#include "common/xdg.h"

static const char *const folders[] = {[PKI_AGENT] = "agents", [PKI_CONTROLLER] = "controllers"};

const char *pki_role_folder(enum pki_role role)
{
    return folders[role];
}

enum err pki_default_dir(char dir[PATH_MAX], struct errmsg *msg)
{
    if (xdg_config_path("pki", dir, PATH_MAX))
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "neither XDG_CONFIG_HOME nor HOME names a folder; accepted is --dir DIR");
}

const char *pki_dir(const struct pki *p)
{
    return pki_store_dir(p->store);
}

const struct pki_info *pki_authority(const struct pki *p)
{
    return &p->authority;
}

const struct pki_index *pki_certificates(const struct pki *p)
{
    return &p->index;
}

void pki_close(struct pki *p)
{
    if (p == NULL)
        return;
    pki_index_clear(&p->index);
    mem_free(p->ca_pem);
    pki_store_close(p->store);
    mem_free(p);
}

/* --- the authority -------------------------------------------------------------------------- */

static void wipe(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    mem_free(secret);
}

enum err pki_load_ca(const struct pki *p, struct pki_ca **ca, struct errmsg *msg)
{
    char *key = NULL;
    struct errmsg why = {{0}};
    *ca = NULL;
    enum err e = pki_store_read(p->store, PKI_CA_KEY, PKI_MODE_SECRET, &key, msg);
    if (e != ERR_OK)
        return e;
    e = pki_ca_open(p->ca_pem, key, ca, &why);
    wipe(key);
    if (e != ERR_OK)
        errmsg_set(msg, e, "%s: " PKI_CA_CERT " and " PKI_CA_KEY ": %.200s", pki_dir(p), why.text);
    return e;
}

enum err pki_write_index(const struct pki *p, struct errmsg *msg)
{
    char *text = pki_index_text(&p->index);
    enum err e = pki_store_write(p->store, PKI_INDEX, text, PKI_MODE_SECRET, true, msg);
    mem_free(text);
    return e;
}

static enum err write_crl(const struct pki *p, const struct pki_ca *ca, int64_t now_s,
                          struct errmsg *msg)
{
    struct pki_revoked *list = mem_calloc(p->index.n + 1, sizeof *list);
    size_t n = 0;
    char *pem = NULL;
    for (size_t i = 0; i < p->index.n; i++) {
        const struct pki_entry *e = &p->index.entries[i];
        if (e->revoked_s == 0)
            continue;
        memcpy(list[n].serial, e->serial, sizeof e->serial);
        list[n++].at_s = e->revoked_s;
    }
    enum err e = pki_ca_crl(ca, list, n, now_s - PKI_SKEW_S, pki_ca_not_after(ca), &pem, msg);
    if (e == ERR_OK)
        e = pki_store_write(p->store, PKI_CRL, pem, PKI_MODE_PUBLIC, true, msg);
    mem_free(pem);
    mem_free(list);
    return e;
}

static enum err refuse_second(const struct pki_store *s, struct errmsg *msg)
{
    const char *dir = pki_store_dir(s);
    if (pki_store_has(s, PKI_CA_CERT))
        return errmsg_set(msg, ERR_REFUSED,
                          "%s/" PKI_CA_CERT ": is there already and is never replaced, or every "
                          "certificate it issued would end; accepted is another folder (--dir DIR)",
                          dir);
    if (pki_store_has(s, PKI_CA_KEY))
        return errmsg_set(msg, ERR_REFUSED,
                          "%s: has " PKI_CA_KEY " but no " PKI_CA_CERT ": an init that did not "
                          "finish, or a certificate that got lost; accepted is another folder "
                          "(--dir DIR), or this one when " PKI_CA_KEY " is gone",
                          dir);
    return ERR_OK;
}

/* The certificate comes last: where there is one, everything else is. */
static enum err write_authority(struct pki *p, const struct pki_pair *pair, int64_t now_s,
                                struct errmsg *msg)
{
    struct pki_ca *ca = NULL;
    enum err e = pki_ca_open(pair->cert, pair->key, &ca, msg);
    for (enum pki_role r = PKI_AGENT; r <= PKI_CONTROLLER && e == ERR_OK; r++)
        e = pki_store_folder(p->store, folders[r], msg);
    if (e == ERR_OK)
        e = pki_store_write(p->store, PKI_CA_KEY, pair->key, PKI_MODE_SECRET, false, msg);
    if (e == ERR_OK)
        e = pki_write_index(p, msg);
    if (e == ERR_OK)
        e = write_crl(p, ca, now_s, msg);
    if (e == ERR_OK)
        e = pki_store_write(p->store, PKI_CA_CERT, pair->cert, PKI_MODE_PUBLIC, false, msg);
    pki_ca_close(ca);
    return e;
}

static enum err make_authority(struct pki *p, int64_t now_s, struct errmsg *msg)
{
    struct pki_pair pair = {0};
    enum err e = refuse_second(p->store, msg);
    if (e == ERR_OK)
        e = pki_ca_make(now_s - PKI_SKEW_S, now_s + PKI_CA_DAYS * PKI_DAY_S, &pair, msg);
    if (e == ERR_OK)
        e = write_authority(p, &pair, now_s, msg);
    if (e == ERR_OK)
        e = pki_cert_read(pair.cert, &p->authority, msg);
    if (e == ERR_OK)
        p->ca_pem = mem_strdup(pair.cert);
    pki_pair_clear(&pair);
    return e;
}

static enum err finish(struct pki *p, enum err e, struct pki **out)
{
    *out = e == ERR_OK ? p : NULL;
    if (e != ERR_OK)
        pki_close(p);
    return e;
}

enum err pki_init(const char *dir, int64_t now_s, struct pki **out, struct errmsg *msg)
{
    struct pki *p = mem_calloc(1, sizeof *p);
    enum err e = pki_store_open(dir, true, &p->store, msg);
    if (e == ERR_OK)
        e = pki_store_lock(p->store, msg);
    if (e == ERR_OK)
        e = make_authority(p, now_s, msg);
    return finish(p, e, out);
}

static enum err read_folder(struct pki *p, struct errmsg *msg)
{
    char *text = NULL, file[PATH_MAX + 16];
    struct errmsg why = {{0}};
    enum err e = pki_store_lock(p->store, msg);
    if (e == ERR_OK)
        e = pki_store_read(p->store, PKI_CA_CERT, PKI_MODE_PUBLIC, &p->ca_pem, msg);
    if (e != ERR_OK)
        return e;
    e = pki_cert_read(p->ca_pem, &p->authority, &why);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "%s/" PKI_CA_CERT ": %.200s", pki_dir(p), why.text);
    e = pki_store_read(p->store, PKI_INDEX, PKI_MODE_SECRET, &text, msg);
    if (e != ERR_OK)
        return e;
    snprintf(file, sizeof file, "%s/" PKI_INDEX, pki_dir(p));
    e = pki_index_parse(file, text, &p->index, msg);
    mem_free(text);
    return e;
}

enum err pki_open(const char *dir, struct pki **out, struct errmsg *msg)
{
    struct pki *p = mem_calloc(1, sizeof *p);
    enum err e = pki_store_open(dir, false, &p->store, msg);
    bool made = e == ERR_OK && pki_store_has(p->store, PKI_CA_CERT);
    if (made)
        e = read_folder(p, msg);
    else if (e == ERR_OK || e == ERR_NOT_FOUND)
        e = errmsg_set(msg, ERR_NOT_FOUND,
                       "%s: there is no CA; make one first: hammer-ctl pki init --dir %s", dir,
                       dir);
    return finish(p, e, out);
}

/* --- revocation ----------------------------------------------------------------------------- */

/* "AB:CD:..." as openssl prints it, or plain hex; false when it is no serial. */
static bool serial_parse(const char *text, char out[PKI_SERIAL_TEXT])
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        char c = *text;
        if (c >= 'A' && c <= 'F')
            c = (char)(c - 'A' + 'a');
        if (c == ':')
            continue;
        if (strchr("0123456789abcdef", c) == NULL || n + 1 >= PKI_SERIAL_TEXT)
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n + 1 == PKI_SERIAL_TEXT;
}

/* What the user means: one serial, or every certificate of a name. */
struct choice {
    char serial[PKI_SERIAL_TEXT], name[PKI_NAME_MAX + 1];
    const enum pki_role *role;
    bool by_serial;
};

static bool is_chosen(const struct choice *c, const struct pki_entry *e)
{
    if (c->role != NULL && e->role != *c->role)
        return false;
    return c->by_serial ? strcmp(e->serial, c->serial) == 0 : strcmp(e->name, c->name) == 0;
}

static bool in_index(const struct pki *p, const struct choice *c)
{
    for (size_t i = 0; i < p->index.n; i++)
        if (is_chosen(c, &p->index.entries[i]))
            return true;
    return false;
}

/* A serial, where there is one of it; else a name: 32 hex digits can be one too. */
static enum err choose(const struct pki *p, const char *text, struct choice *c, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    static const enum pki_role agent = PKI_AGENT, controller = PKI_CONTROLLER;
    c->by_serial = serial_parse(text, c->serial);
    if (c->by_serial && in_index(p, c))
        return ERR_OK;
    c->by_serial = false;
    if (pki_name_parse("", text, c->name, NULL) != ERR_OK || !in_index(p, c))
        return errmsg_set(
            msg, ERR_NOT_FOUND,
            "%s: no certificate of %s%s%s by that name or serial; accepted is one that "
            "hammer-ctl pki show lists",
            units_format_shown(text, shown), pki_dir(p), c->role != NULL ? " for role " : "",
            c->role != NULL ? pki_role_name(*c->role) : "");
    struct choice a = *c, b = *c;
    a.role = &agent;
    b.role = &controller;
    if (c->role == NULL && in_index(p, &a) && in_index(p, &b))
        return errmsg_set(msg, ERR_INVALID,
                          "%s: an agent and a controller have this name; accepted is --role agent, "
                          "--role controller, or a serial",
                          c->name);
    return ERR_OK;
}

static size_t mark(struct pki *p, const struct choice *c, int64_t now_s, size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < p->index.n; i++) {
        struct pki_entry *e = &p->index.entries[i];
        if (!is_chosen(c, e) || e->revoked_s != 0)
            continue;
        e->revoked_s = now_s;
        which[n++] = i;
    }
    return n;
}

/* The list is written even where nothing was left to revoke: an interrupted command may have come
 * as far as the index only. */
static enum err revoke_chosen(struct pki *p, const char *text, const struct choice *c,
                              int64_t now_s, size_t *which, size_t *n, struct errmsg *msg)
{
    struct pki_ca *ca = NULL;
    enum err e = pki_load_ca(p, &ca, msg);
    if (e != ERR_OK)
        return e;
    *n = mark(p, c, now_s, which);
    if (*n > 0)
        e = pki_write_index(p, msg);
    if (e == ERR_OK)
        e = write_crl(p, ca, now_s, msg);
    pki_ca_close(ca);
    if (e == ERR_OK && *n == 0)
        e = errmsg_set(msg, ERR_STATE, "%s: already revoked; %s/" PKI_CRL " says so", text,
                       pki_dir(p));
    return e;
}

enum err pki_revoke(struct pki *p, const char *name_or_serial, const enum pki_role *role,
                    int64_t now_s, size_t **which, size_t *n, struct errmsg *msg)
{
    struct choice c = {.role = role};
    *which = NULL;
    *n = 0;
    enum err e = choose(p, name_or_serial, &c, msg);
    if (e != ERR_OK)
        return e;
    size_t *places = mem_calloc(p->index.n, sizeof *places);
    e = revoke_chosen(p, name_or_serial, &c, now_s, places, n, msg);
    if (e == ERR_OK)
        *which = places;
    else
        mem_free(places);
    return e;
}
