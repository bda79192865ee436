/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_TLS_H
#define HAMMER_PROTO_LINK_TLS_H

#include "common/err.h"
#include "proto/link.h"

/*
 * Mutual TLS for tls+tcp:// links, by OpenSSL (proto/link_shield.h): both ends show a certificate
 * of the same CA, the dialler checks the name, and the extended key usage keeps the roles apart
 * (serverAuth = agent, clientAuth = controller). TLS 1.2 or 1.3. One object serves any number of
 * links and listeners; main thread. Our own files are checked here, before any connection, and
 * their mistakes named exactly; link_tls_causes says what a peer was refused for, or has refused us
 * for. Keys are EC P-256 (P-384, RSA) without a passphrase. Names are DNS names: IP addresses are
 * not matched.
 */

enum link_tls_role {
    LINK_TLS_AGENT,     /* listens */
    LINK_TLS_CONTROLLER /* dials */
};

/* PEM files. A key that others than the owner can read is refused (in $CREDENTIALS_DIRECTORY, where
 * systemd grants access by ACL, only one that everybody can read). */
struct link_tls_files {
    const char *ca;   /* certificates that are trusted */
    const char *cert; /* own certificate */
    const char *key;  /* own private key */
    const char *crl;  /* revoked ones; NULL = none. A file that does not exist counts as none at
                         first, but a list that was there may not go */
};

/* Reads and checks the files; errors name the file and what is wrong with it. ERR_NOT_FOUND: a file
 * does not exist. */
enum err link_tls_new(enum link_tls_role role, const struct link_tls_files *files,
                      struct link_tls **out, struct errmsg *msg) MUST_CHECK;
/* Reads the files again, for connections from now on, also those of listeners that use it. On
 * an error the old ones stay in use. Links that are up stay up. */
enum err link_tls_reload(struct link_tls *t, struct errmsg *msg) MUST_CHECK;
/* Why the handshake with a peer has failed, for an operator; when it hung up without a word, the
 * possible causes. `story`: of the link, NULL = not known; `server_name`: what a dialler asked for,
 * NULL for a listener. When our own certificate or revocation list has run out since it was read,
 * that is the answer. */
struct link_story;
void link_tls_causes(const struct link_tls *t, const struct link_story *story,
                     const char *server_name, struct errmsg *out);
/* After the links and the listeners that use it are gone. NULL is fine. */
void link_tls_free(struct link_tls *t);

#endif
