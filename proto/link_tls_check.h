/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_TLS_CHECK_H
#define HAMMER_PROTO_LINK_TLS_CHECK_H

#include <time.h>

#include "proto/link_tls.h"

/*
 * Private to proto/link_tls*.c: are our own certificate files what the role needs? Says exactly
 * what is wrong, before any connection. Main thread.
 */

/* Contents of the files, NUL-terminated; crl may be NULL. */
struct link_tls_pems {
    char *ca, *cert, *key, *crl;
};

/* When what we show or judge by runs out. */
struct link_tls_ends {
    time_t cert;
    time_t crl; /* 0 = never, or no list */
};

/* ERR_INVALID with a sentence that begins with the file's name. */
enum err link_tls_check(enum link_tls_role role, const struct link_tls_files *files,
                        const struct link_tls_pems *pems, struct link_tls_ends *ends,
                        struct errmsg *msg) MUST_CHECK;

#endif
