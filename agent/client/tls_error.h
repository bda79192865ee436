/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TLS_ERROR_H
#define HAMMER_AGENT_TLS_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What went wrong in TLS as one positive int that fits where errno values go: counted on the hot
 * path, made a text off it. Errno values proper are below TLS_ERROR_MIN.
 */

#define TLS_ERROR_MIN (1 << 24)
/* End of file without close_notify after the handshake: whatever was to come is cut off. Not a
 * failure of TLS (tls_error_is is false). */
#define TLS_TRUNCATED (TLS_ERROR_MIN - 1)
/* End of file during the handshake. */
#define TLS_ERROR_EOF (1 << 25)

/* errno of a socket, during a handshake. */
int tls_error_system(int error);
/* X509_V_ERR_...: the certificate was not accepted. */
int tls_error_verify(long result);
/* An entry of OpenSSL's error queue. */
int tls_error_library(unsigned long entry);

bool tls_error_is(int code);
/* The peer's certificate is the problem. */
bool tls_error_is_verify(int code);
/* "certificate verify failed: unable to get local issuer certificate" */
void tls_error_text(int code, char *buf, size_t cap);

#endif
