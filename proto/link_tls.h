/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_TLS_H
#define HAMMER_PROTO_LINK_TLS_H

#include "common/err.h"
#include "proto/link.h"

/*
 * Mutual TLS for tls+tcp:// links: both ends show a certificate of the same CA, the dialler checks
 * the name, and the extended key usage keeps the roles apart (serverAuth = agent, clientAuth =
 * controller). One object serves any number of links and one listener; main thread. nng's TLS
 * engine decides, so a refusal never names its exact cause: link_tls_causes lists the possible
 * ones.
 */

enum link_tls_role {
    LINK_TLS_AGENT,     /* listens */
    LINK_TLS_CONTROLLER /* dials */
};

/* PEM files. Files of secrets that others than the owner can read are refused. */
struct link_tls_files {
    const char *ca;   /* certificates that are trusted */
    const char *cert; /* own certificate */
    const char *key;  /* own private key */
    const char *crl;  /* revoked ones; NULL = none. A file that does not exist counts as none */
};

/* Reads and checks the files; errors name the file and what is wrong with it. */
enum err link_tls_new(enum link_tls_role role, const struct link_tls_files *files,
                      struct link_tls **out, struct errmsg *msg) MUST_CHECK;
/* Reads the files again, for connections from now on. On an error the old ones stay in use. */
enum err link_tls_reload(struct link_tls *t, struct errmsg *msg) MUST_CHECK;
/* After the links and the listener that use it are gone. NULL is fine. */
void link_tls_free(struct link_tls *t);

#endif
