/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_LIBSSL_H
#define HAMMER_COMMON_LIBSSL_H

/* libssl's headers, for the same reason and in the same way as common/libcrypto.h. */
#include "common/libcrypto.h"

#define ERR_STATE LIBCRYPTO_ERR_STATE
#include <openssl/ssl.h>
#undef ERR_STATE

#endif
