/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_NAME_H
#define HAMMER_CONTROLLER_PKI_NAME_H

#include "common/err.h"

/*
 * Names in certificates: DNS host names only. The links (proto/link_shield.c) never match an IP
 * address, so a certificate for one would be refused by every peer. Pure; any thread.
 */

#define PKI_NAME_MAX 63  /* a certificate's own name: what --agents NAME@HOST can hold */
#define PKI_DNS_MAX  253 /* any further DNS name */

/* Checks `text` and writes it in lower case (host names know no case, file names do). ERR_INVALID
 * names what is wrong and what is accepted; `what` is put in front of the value ("NAME", "--dns").
 */
enum err pki_name_parse(const char *what, const char *text, char out[PKI_NAME_MAX + 1],
                        struct errmsg *msg) MUST_CHECK;
enum err pki_dns_parse(const char *what, const char *text, char out[PKI_DNS_MAX + 1],
                       struct errmsg *msg) MUST_CHECK;

#endif
