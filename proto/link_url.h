/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_URL_H
#define HAMMER_PROTO_LINK_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/*
 * Addresses of links: "tcp://HOST:PORT", "tcp://[IPV6]:PORT", both with tls+tcp://, "ipc:///PATH".
 * Checked here, because nng's own parser takes nearly everything and fails much later with "address
 * invalid". Pure.
 */

enum link_url_use {
    LINK_URL_DIAL,  /* host needed, port 1..65535 */
    LINK_URL_LISTEN /* host may be empty or "*" (every interface), port 0 = the kernel chooses */
};

/* ERR_INVALID with a sentence that names the URL and what is accepted. */
enum err link_url_check(const char *url, enum link_url_use use, struct errmsg *msg) MUST_CHECK;

/* Path of an ipc URL, NULL for others. Points into `url`. */
const char *link_url_path(const char *url);

/* Is it a tls+tcp URL? */
bool link_url_tls(const char *url);

/* What nng is asked for: TLS is not its business. Points into `url`. */
const char *link_url_stream(const char *url);

/* "tcp://127.0.0.1:7400" -> "tcp 127.0.0.1:7400", "ipc:///run/x" -> "ipc /run/x"; for logs. */
void link_url_label(const char *url, char *buf, size_t cap);

/* The checked URL with another port; a copy when it has none. */
void link_url_with_port(const char *url, unsigned port, char *buf, size_t cap);

#endif
