/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_H
#define HAMMER_CONTROLLER_PKI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/pki/pki_cert.h"
#include "controller/pki/pki_index.h"
#include "controller/pki/pki_store.h"

/*
 * The user's own certificate authority, a folder:
 *
 *   ca.crt ca.key                     the CA; only this folder has its key
 *   crl.pem                           revoked certificates; there from the start
 *   agents/NAME.crt agents/NAME.key   controllers/NAME.crt controllers/NAME.key
 *   controller.crt controller.key     a copy of one controller's: what hammer-ctl run shows
 *   index.jsonl                       every certificate ever issued (controller/pki/pki_index)
 *
 * crl.pem is good until the CA's own end. A list with an early end would have to be renewed in time
 * on every agent: an old one refuses every connection, and an attacker who can keep an agent from
 * getting a new list can also keep it from getting a new revocation within any such period.
 *
 * The index is written before the files: what exists can be revoked. Time is an argument, seconds
 * since 1970. Main thread.
 */

#define PKI_DAYS_DEFAULT 90
#define PKI_DAYS_MAX     825
#define PKI_CA_DAYS      3652 /* ten years */

struct pki;

/* $XDG_CONFIG_HOME/hammer/pki, else ~/.config/hammer/pki. */
enum err pki_default_dir(char dir[PATH_MAX], struct errmsg *msg) MUST_CHECK;

/* Makes the folder and the CA in it. ERR_REFUSED where one is: it is never replaced, since that
 * would end every certificate that it has issued. */
enum err pki_init(const char *dir, int64_t now_s, struct pki **out, struct errmsg *msg) MUST_CHECK;
/* Opens and locks a folder that pki_init made; ERR_NOT_FOUND names the command. */
enum err pki_open(const char *dir, struct pki **out, struct errmsg *msg) MUST_CHECK;
void pki_close(struct pki *p); /* NULL is fine */

const char *pki_dir(const struct pki *p);
const struct pki_info *pki_authority(const struct pki *p);
const struct pki_index *pki_certificates(const struct pki *p);

struct pki_request {
    enum pki_role role;
    const char *name;
    const char *const *dns; /* further names */
    size_t n_dns;
    uint32_t days;
    bool replace; /* the certificate and key of that name: a renewal. The old certificate stays good
                     until its end, so that both sides work while files are copied, and without
                     `dns` its names are kept */
};

/* Issues and stores. *out lives until the next change of p. *used: controller.crt is now this one,
 * because there was none, or it was over or the same controller's. */
enum err pki_issue(struct pki *p, const struct pki_request *r, int64_t now_s,
                   const struct pki_entry **out, bool *used, struct errmsg *msg) MUST_CHECK;

/* Revokes the certificate with that serial, or every one of that name, replaced ones included; role
 * NULL = either, but not both. *which (owned) has the n places in the index. ERR_NOT_FOUND,
 * ERR_INVALID (name in both roles), ERR_STATE (already revoked). */
enum err pki_revoke(struct pki *p, const char *name_or_serial, const enum pki_role *role,
                    int64_t now_s, size_t **which, size_t *n, struct errmsg *msg) MUST_CHECK;

/* A folder for one host: ca.crt, crl.pem, and the pair as agent.crt and agent.key (controller.crt
 * and controller.key). The first call makes it and sees that nothing is replaced, before there is a
 * certificate; the second one writes. */
enum err pki_export_open(const char *dir, enum pki_role role, bool replace, struct pki_store **out,
                         struct errmsg *msg) MUST_CHECK;
enum err pki_export(const struct pki *p, const struct pki_entry *e, const struct pki_store *to,
                    struct errmsg *msg) MUST_CHECK;

#endif
