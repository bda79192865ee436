/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_DIGEST_H
#define HAMMER_AGENT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

/* SHA-256, apart from the rest because libcrypto's headers and common/err.h share a name. */

#define DIGEST_TEXT 65

/* Lower-case hex. false = libcrypto could not. */
bool digest_sha256(const void *bytes, size_t len, char hex[DIGEST_TEXT]);

#endif
