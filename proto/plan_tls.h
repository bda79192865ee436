/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PLAN_TLS_H
#define HAMMER_PROTO_PLAN_TLS_H

#include "common/err.h"
#include "proto/plan.h"

/* What a plan says of the target's TLS. */

/* Reads --cacert and --cert into the plan; the key is the caller's business, it is a secret. */
enum err plan_tls_load(struct plan *p, struct errmsg *msg) MUST_CHECK;
/* Part of plan_validate: PEM texts that hold what they must, a key that belongs to the certificate,
 * and nothing of it for a target without TLS. */
enum err plan_tls_check(const struct plan *p, struct errmsg *msg) MUST_CHECK;
/* A pem_password_cb: a key that needs one is refused instead of asking the terminal. */
int plan_tls_no_passphrase(char *buf, int size, int rwflag, void *arg);

#endif
