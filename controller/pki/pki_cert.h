/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_CERT_H
#define HAMMER_CONTROLLER_PKI_CERT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/pki/pki_name.h"

/*
 * X.509 by libcrypto: makes a CA, certificates of agents and controllers, and the list of revoked
 * ones. Text (PEM) in and out, no files, no clock. Keys are ECDSA P-256 and signatures SHA-256,
 * which every TLS library can read. Instants are seconds since 1970, as certificates count. Main
 * thread.
 *
 * The extended key usage keeps the roles apart under one CA: an agent's certificate (serverAuth)
 * cannot command other agents, a controller's (clientAuth) cannot pass for an agent.
 */

#define PKI_SERIAL_TEXT 33  /* 128 bits in hex and a NUL */
#define PKI_DNS_COUNT   32  /* names in a certificate, its own included */
#define PKI_SKEW_S      300 /* certificates begin this much before now: clocks differ */
#define PKI_DAY_S       INT64_C(86400)

enum pki_role {
    PKI_AGENT,
    PKI_CONTROLLER
};

/* "agent", "controller". */
const char *pki_role_name(enum pki_role role);

/* A certificate and its private key as PEM, owned. */
struct pki_pair {
    char *cert;
    char *key;
};

/* Wipes the key and frees both; a zeroed pair is fine. */
void pki_pair_clear(struct pki_pair *p);

/* What to put into a certificate, and the serial that it got. */
struct pki_subject {
    enum pki_role role;
    char name[PKI_NAME_MAX + 1];
    char (*dns)[PKI_DNS_MAX + 1]; /* all DNS names, `name` among them; not owned */
    size_t n_dns;
    int64_t not_before_s, not_after_s;
    char serial[PKI_SERIAL_TEXT]; /* filled by pki_ca_issue */
};

struct pki_revoked {
    char serial[PKI_SERIAL_TEXT];
    int64_t at_s;
};

/* What a certificate says of itself. */
struct pki_info {
    char name[PKI_NAME_MAX + 1]; /* common name */
    char serial[PKI_SERIAL_TEXT];
    int64_t not_before_s, not_after_s;
};

/* A new CA that signs itself. */
enum err pki_ca_make(int64_t not_before_s, int64_t not_after_s, struct pki_pair *out,
                     struct errmsg *msg) MUST_CHECK;

/* A CA ready to sign. Refuses a key that is not the certificate's, and a certificate of no CA. The
 * message says "certificate: ..." or "key: ..."; the caller knows the files' names. */
struct pki_ca;
enum err pki_ca_open(const char *cert_pem, const char *key_pem, struct pki_ca **out,
                     struct errmsg *msg) MUST_CHECK;
void pki_ca_close(struct pki_ca *ca); /* NULL is fine */
int64_t pki_ca_not_after(const struct pki_ca *ca);

/* A new key and a certificate for it. */
enum err pki_ca_issue(const struct pki_ca *ca, struct pki_subject *s, struct pki_pair *out,
                      struct errmsg *msg) MUST_CHECK;

/* The list of revoked certificates (n may be 0). *pem is owned by the caller. */
enum err pki_ca_crl(const struct pki_ca *ca, const struct pki_revoked *revoked, size_t n,
                    int64_t this_update_s, int64_t next_update_s, char **pem,
                    struct errmsg *msg) MUST_CHECK;

/* Reads a PEM certificate. */
enum err pki_cert_read(const char *pem, struct pki_info *out, struct errmsg *msg) MUST_CHECK;

#endif
