/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_IMPL_H
#define HAMMER_CONTROLLER_PKI_IMPL_H

#include "controller/pki/pki.h"

/* What pki.c (the authority, revocation) and pki_issue.c (issuing, export) share. */

#define PKI_CA_CERT "ca.crt"
#define PKI_CA_KEY  "ca.key"
#define PKI_CRL     "crl.pem"
#define PKI_INDEX   "index.jsonl"

struct pki {
    struct pki_store *store;
    struct pki_index index;
    struct pki_info authority;
    char *ca_pem;
};

/* Folder of a role's certificates. */
const char *pki_role_folder(enum pki_role role);
/* Reads the CA's key; closed by pki_ca_close. */
enum err pki_load_ca(const struct pki *p, struct pki_ca **ca, struct errmsg *msg) MUST_CHECK;
enum err pki_write_index(const struct pki *p, struct errmsg *msg) MUST_CHECK;

#endif
