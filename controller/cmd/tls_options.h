/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TLS_OPTIONS_H
#define HAMMER_CONTROLLER_TLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/option.h"
#include "proto/link_tls.h"

/*
 * The flags that name the controller's certificate, for every command that dials agents. Embed
 * struct tls_options in the command's own struct and splice the rows into its table with
 * TLS_OPTION_ROWS(struct run_options, tls). Default folder: $XDG_CONFIG_HOME/hammer/pki, else
 * ~/.config/hammer/pki, as `hammer-ctl pki` lays it out: ca.crt controller.crt controller.key
 * crl.pem. Main thread.
 */

struct tls_options {
    char *ca, *cert, *key, *crl; /* NULL = in the default folder; freed by option_clear */
};

#define TLS_OPTION_ROW(owner, member, field, long_name, help)                                      \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_STRING,                                   \
        .offset = offsetof(owner, member.field), .set_offset = OPTION_NO_SET, .meta = "FILE",      \
        .accepted = "a file name", .text = help                                                    \
    }

#define TLS_OPTION_ROWS(owner, member)                                                             \
    TLS_OPTION_ROW(owner, member, ca, "tls-ca",                                                    \
                   "CA certificate that agents must be signed by (tls+tcp:// agents only); "       \
                   "default: ca.crt in ~/.config/hammer/pki, where hammer-ctl pki puts it"),       \
        TLS_OPTION_ROW(owner, member, cert, "tls-cert",                                            \
                       "certificate shown to agents; default: controller.crt there"),              \
        TLS_OPTION_ROW(owner, member, key, "tls-key",                                              \
                       "its private key, readable by its owner only; default: controller.key "     \
                       "there"),                                                                   \
        TLS_OPTION_ROW(owner, member, crl, "tls-crl",                                              \
                       "revoked certificates; default: crl.pem there, if it exists")

/* What the user should know, a sentence. */
typedef void tls_options_note_fn(void *arg, const char *text);

/* The files that the flags name, read and checked. After link_block_signals. needed = false (no
 * agent is dialled over TLS): *out = NULL, no file is looked at. A missing file: ERR_NOT_FOUND and
 * the commands that make it. *out is freed by link_tls_free after the links are gone. `note` (NULL
 * = nobody wants to know) is told of a certificate, the CA's or our own, that ends within 14 days.
 */
enum err tls_options_open(const struct tls_options *o, bool needed, tls_options_note_fn *note,
                          void *arg, struct link_tls **out, struct errmsg *msg) MUST_CHECK;

#endif
