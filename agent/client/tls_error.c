/* SPDX-License-Identifier: MIT */
#include "agent/client/tls_error.h"

#include <stdio.h>
#include <string.h>

#include "common/libssl.h"

/* The kind of the code is its highest bit; below it, what belongs to the kind. */
#define SYSTEM  TLS_ERROR_MIN
#define VERIFY  (1 << 26)
#define LIBRARY (1 << 27)

#define LIB_SHIFT    16
#define REASON_MASK  0xffffu
#define LIBRARY_MASK 0xffu

int tls_error_system(int error)
{
    return SYSTEM | error;
}

int tls_error_verify(long result)
{
    return VERIFY | (int)((unsigned long)result & REASON_MASK);
}

int tls_error_library(unsigned long entry)
{
    unsigned lib = (unsigned)ERR_GET_LIB(entry) & LIBRARY_MASK;
    unsigned reason = (unsigned)ERR_GET_REASON(entry) & REASON_MASK;
    return LIBRARY | (int)(lib << LIB_SHIFT | reason);
}

bool tls_error_is(int code)
{
    return code >= TLS_ERROR_MIN;
}

bool tls_error_is_verify(int code)
{
    return code >= VERIFY && code < LIBRARY;
}

/* OpenSSL names what it stumbled over; this is what it means. */
static const char *meaning(unsigned lib, unsigned reason)
{
    static const struct {
        unsigned reason;
        const char *text;
    } known[] = {
        {SSL_R_WRONG_VERSION_NUMBER, "the answer is not TLS"},
        {SSL_R_HTTP_REQUEST, "the answer is not TLS but HTTP"},
        {SSL_R_PACKET_LENGTH_TOO_LONG, "the answer is not TLS, or a broken record"},
        {SSL_R_UNSUPPORTED_PROTOCOL, "the server's TLS version is too old (--tls-min)"},
        {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
         "the server does not know a TLS version new enough (--tls-min)"},
        {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
         "the server wants a client certificate (--cert, --key)"},
    };
    for (size_t i = 0; lib == ERR_LIB_SSL && i < sizeof known / sizeof known[0]; i++)
        if (known[i].reason == reason)
            return known[i].text;
    return NULL;
}

static void library_text(unsigned lib, unsigned reason, char *buf, size_t cap)
{
    const char *text = meaning(lib, reason);
    if (text == NULL)
        text = ERR_reason_error_string(ERR_PACK(lib, 0, reason));
    if (text == NULL)
        snprintf(buf, cap, "OpenSSL error %u:%u", lib, reason);
    else
        snprintf(buf, cap, "%s", text);
}

void tls_error_text(int code, char *buf, size_t cap)
{
    char text[128];
    unsigned bits = (unsigned)code;
    if (code == TLS_TRUNCATED)
        snprintf(buf, cap, "connection closed without close_notify");
    else if (code >= LIBRARY)
        library_text(bits >> LIB_SHIFT & LIBRARY_MASK, bits & REASON_MASK, buf, cap);
    else if (code >= VERIFY)
        snprintf(buf, cap, "certificate verify failed: %s",
                 X509_verify_cert_error_string((long)(bits & REASON_MASK)));
    else if (code == TLS_ERROR_EOF)
        snprintf(buf, cap, "connection closed during the handshake");
    else
        snprintf(buf, cap, "%s during the handshake",
                 strerror_r((int)(bits & REASON_MASK), text, sizeof text));
}
