/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_TLS_WHY_H
#define HAMMER_PROTO_LINK_TLS_WHY_H

#include "proto/link_shield.h"
#include "proto/link_tls.h"

/*
 * Private to proto/link_tls*.c: the end of a handshake in words for an operator. `role`: ours.
 * `server_name`: what a dialler asked for, NULL for a listener.
 */
void link_tls_why(enum link_tls_role role, const char *server_name, const struct link_story *s,
                  struct errmsg *out);

#endif
