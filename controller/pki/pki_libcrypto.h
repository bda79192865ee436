/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_LIBCRYPTO_H
#define HAMMER_CONTROLLER_PKI_LIBCRYPTO_H

#include "common/err.h"

/* libcrypto's headers beside common/err.h: both have an ERR_STATE, theirs is a type that nothing
 * here needs, so it goes by another name. */
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
