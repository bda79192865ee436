/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_LIBCRYPTO_H
#define HAMMER_COMMON_LIBCRYPTO_H

/* libcrypto's headers for files that also use common/err.h, in either order: both call something
 * ERR_STATE, and theirs is a type that nobody needs by name. */
#define ERR_STATE LIBCRYPTO_ERR_STATE
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#endif
