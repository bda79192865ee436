/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "controller/pki/pki_impl.h"

#define INSTALLED     "controller.crt"
#define INSTALLED_KEY "controller.key"

/* --- issuing -------------------------------------------------------------------------------- */

/* "agents/NAME.crt" and "agents/NAME.key". */
struct files {
    char cert[PKI_FILE_TEXT], key[PKI_FILE_TEXT];
};

static struct files files_of(enum pki_role role, const char *name)
{
    struct files f;
    snprintf(f.cert, sizeof f.cert, "%s/%s.crt", pki_role_folder(role), name);
    snprintf(f.key, sizeof f.key, "%s/%s.key", pki_role_folder(role), name);
    return f;
}

/* Unless the certificate has it already. */
static enum err add_dns(struct pki_subject *s, const char *text, struct errmsg *msg)
{
    char name[PKI_DNS_MAX + 1];
    enum err e = pki_dns_parse("--dns", text, name, msg);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < s->n_dns; i++)
        if (strcmp(s->dns[i], name) == 0)
            return ERR_OK;
    if (s->n_dns == PKI_DNS_COUNT)
        return errmsg_set(msg, ERR_TOO_BIG, "--dns %s: accepted are at most %d names", name,
                          PKI_DNS_COUNT - 1);
    memcpy(s->dns[s->n_dns++], name, sizeof name);
    return ERR_OK;
}

/* The names of the certificate that this one replaces. */
static enum err add_former(const struct pki *p, struct pki_subject *s, struct errmsg *msg)
{
    struct files f = files_of(s->role, s->name);
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->index.n; i++) {
        if (strcmp(p->index.entries[i].file, f.cert) != 0)
            continue;
        char *names = mem_strdup(p->index.entries[i].dns), *rest = names, *name;
        while (e == ERR_OK && (name = strsep(&rest, " ")) != NULL)
            e = add_dns(s, name, msg);
        mem_free(names);
        break;
    }
    return e;
}

/* All names of the certificate: its own first, none twice. */
static enum err collect_names(const struct pki *p, const struct pki_request *r,
                              struct pki_subject *s, struct errmsg *msg)
{
    enum err e = pki_name_parse("NAME", r->name, s->name, msg);
    if (e != ERR_OK)
        return e;
    memcpy(s->dns[s->n_dns++], s->name, sizeof s->name);
    for (size_t i = 0; i < r->n_dns && e == ERR_OK; i++)
        e = add_dns(s, r->dns[i], msg);
    if (e == ERR_OK && r->replace && r->n_dns == 0)
        e = add_former(p, s, msg);
    return e;
}

static char *join_names(const struct pki_subject *s)
{
    size_t size = s->n_dns * (PKI_DNS_MAX + 1) + 1, at = 0;
    char *text = mem_calloc(size, 1);
    for (size_t i = 0; i < s->n_dns; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? " " : "", s->dns[i]);
    return text;
}

static enum err check_free(const struct pki *p, const struct pki_subject *s, struct errmsg *msg)
{
    struct files f = files_of(s->role, s->name);
    bool cert = pki_store_has(p->store, f.cert);
    if (!cert && !pki_store_has(p->store, f.key))
        return ERR_OK;
    return errmsg_set(
        msg, ERR_REFUSED,
        "%s/%s: is there already; accepted is another NAME, or --force to issue a new "
        "certificate and key in its place",
        pki_dir(p), cert ? f.cert : f.key);
}

static enum err check_days(const struct pki_ca *ca, const struct pki_request *r, int64_t now_s,
                           struct errmsg *msg)
{
    int64_t left = pki_days_left(pki_ca_not_after(ca), now_s);
    if ((int64_t)r->days <= left)
        return ERR_OK;
    if (left == 0)
        return errmsg_set(msg, ERR_REFUSED,
                          "the CA is at its end; make a new one: hammer-ctl pki init --dir DIR");
    return errmsg_set(msg, ERR_RANGE,
                      "--days %u: the CA ends before that; accepted is at most --days %d",
                      (unsigned)r->days, (int)left);
}

/* Into the index, where an older one gives up its place. */
static void enter(struct pki *p, const struct pki_subject *s)
{
    struct pki_entry e = {
        .role = s->role, .not_before_s = s->not_before_s, .not_after_s = s->not_after_s};
    struct files f = files_of(s->role, s->name);
    for (size_t i = 0; i < p->index.n; i++)
        if (strcmp(p->index.entries[i].file, f.cert) == 0)
            p->index.entries[i].file[0] = '\0';
    memcpy(e.file, f.cert, sizeof e.file);
    memcpy(e.name, s->name, sizeof e.name);
    memcpy(e.serial, s->serial, sizeof e.serial);
    e.dns = join_names(s);
    pki_index_add(&p->index, &e);
    mem_free(e.dns);
}

static enum err write_pair(const struct pki_store *s, const char *cert, const char *key,
                           const struct pki_pair *pair, bool replace, struct errmsg *msg)
{
    enum err e = pki_store_write(s, key, pair->key, PKI_MODE_SECRET, replace, msg);
    if (e == ERR_OK)
        e = pki_store_write(s, cert, pair->cert, PKI_MODE_PUBLIC, replace, msg);
    return e;
}

/* A certificate that is over serves nobody. One that the index does not know is not ours. */
static bool is_over(const struct pki *p, const char *serial, int64_t now_s)
{
    for (size_t i = 0; i < p->index.n; i++)
        if (strcmp(p->index.entries[i].serial, serial) == 0)
            return pki_entry_state(&p->index.entries[i], now_s) != PKI_VALID;
    return false;
}

/* May controller.crt become this controller's? If it is free, over, or its already. */
static bool may_install(const struct pki *p, const char *name, int64_t now_s)
{
    char *text = NULL;
    struct pki_info info;
    if (!pki_store_has(p->store, INSTALLED))
        return !pki_store_has(p->store, INSTALLED_KEY);
    bool may = pki_store_read(p->store, INSTALLED, PKI_MODE_PUBLIC, &text, NULL) == ERR_OK &&
               pki_cert_read(text, &info, NULL) == ERR_OK &&
               (strcmp(info.name, name) == 0 || is_over(p, info.serial, now_s));
    mem_free(text);
    return may;
}

static enum err store_new(struct pki *p, const struct pki_subject *s, const struct pki_pair *pair,
                          bool replace, int64_t now_s, bool *used, struct errmsg *msg)
{
    struct files f = files_of(s->role, s->name);
    enter(p, s);
    *used = s->role == PKI_CONTROLLER && may_install(p, s->name, now_s);
    enum err e = pki_write_index(p, msg);
    if (e == ERR_OK)
        e = write_pair(p->store, f.cert, f.key, pair, replace, msg);
    if (e == ERR_OK && *used)
        e = write_pair(p->store, INSTALLED, INSTALLED_KEY, pair, true, msg);
    return e;
}

static enum err sign_and_store(struct pki *p, const struct pki_request *r, struct pki_subject *s,
                               int64_t now_s, bool *used, struct errmsg *msg)
{
    struct pki_ca *ca = NULL;
    struct pki_pair pair = {0};
    enum err e = pki_load_ca(p, &ca, msg);
    if (e == ERR_OK)
        e = check_days(ca, r, now_s, msg);
    if (e == ERR_OK)
        e = pki_ca_issue(ca, s, &pair, msg);
    if (e == ERR_OK)
        e = store_new(p, s, &pair, r->replace, now_s, used, msg);
    pki_pair_clear(&pair);
    pki_ca_close(ca);
    return e;
}

enum err pki_issue(struct pki *p, const struct pki_request *r, int64_t now_s,
                   const struct pki_entry **out, bool *used, struct errmsg *msg)
{
    struct pki_subject s = {.role = r->role,
                            .not_before_s = now_s - PKI_SKEW_S,
                            .not_after_s = now_s + (int64_t)r->days * PKI_DAY_S};
    *out = NULL;
    *used = false;
    if (p->index.n >= PKI_INDEX_MAX)
        return errmsg_set(msg, ERR_TOO_BIG,
                          "%s/" PKI_INDEX ": accepted are at most %d certificates", pki_dir(p),
                          PKI_INDEX_MAX);
    s.dns = mem_calloc(PKI_DNS_COUNT, sizeof *s.dns);
    enum err e = collect_names(p, r, &s, msg);
    if (e == ERR_OK && !r->replace)
        e = check_free(p, &s, msg);
    if (e == ERR_OK)
        e = sign_and_store(p, r, &s, now_s, used, msg);
    if (e == ERR_OK)
        *out = &p->index.entries[p->index.n - 1];
    mem_free(s.dns);
    return e;
}

/* --- export --------------------------------------------------------------------------------- */

/* What the files are called where they are used. */
static struct files exported_files(enum pki_role role)
{
    struct files f;
    snprintf(f.cert, sizeof f.cert, "%s.crt", pki_role_name(role));
    snprintf(f.key, sizeof f.key, "%s.key", pki_role_name(role));
    return f;
}

enum err pki_export_open(const char *dir, enum pki_role role, bool replace, struct pki_store **out,
                         struct errmsg *msg)
{
    struct files f = exported_files(role);
    const char *const names[] = {PKI_CA_CERT, PKI_CRL, f.cert, f.key};
    enum err e = pki_store_open(dir, true, out, msg);
    for (size_t i = 0; i < 4 && e == ERR_OK && !replace; i++)
        if (pki_store_has(*out, names[i]))
            e = errmsg_set(msg, ERR_REFUSED,
                           "--out %s: %s is there already; accepted is an empty or new folder, or "
                           "--force",
                           dir, names[i]);
    if (e == ERR_OK && pki_store_has(*out, PKI_CA_KEY))
        e = errmsg_set(msg, ERR_REFUSED,
                       "--out %s: holds a CA; accepted is another folder, one to be copied", dir);
    if (e != ERR_OK) {
        pki_store_close(*out);
        *out = NULL;
    }
    return e;
}

enum err pki_export(const struct pki *p, const struct pki_entry *entry, const struct pki_store *to,
                    struct errmsg *msg)
{
    struct files from = files_of(entry->role, entry->name), name = exported_files(entry->role);
    struct pki_pair pair = {0};
    char *crl = NULL;
    enum err e = pki_store_read(p->store, from.cert, PKI_MODE_PUBLIC, &pair.cert, msg);
    if (e == ERR_OK)
        e = pki_store_read(p->store, from.key, PKI_MODE_SECRET, &pair.key, msg);
    if (e == ERR_OK)
        e = pki_store_read(p->store, PKI_CRL, PKI_MODE_PUBLIC, &crl, msg);
    if (e == ERR_OK)
        e = pki_store_write(to, PKI_CA_CERT, p->ca_pem, PKI_MODE_PUBLIC, true, msg);
    if (e == ERR_OK)
        e = pki_store_write(to, PKI_CRL, crl, PKI_MODE_PUBLIC, true, msg);
    if (e == ERR_OK)
        e = write_pair(to, name.cert, name.key, &pair, true, msg);
    pki_pair_clear(&pair);
    mem_free(crl);
    return e;
}
