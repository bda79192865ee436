/* SPDX-License-Identifier: MIT */
#include "agent/client/client.h"

#include <stdio.h>
#include <string.h>

#include "agent/client/client_h1.h"
#include "agent/client/conn_tunnel.h"
#include "agent/client/tls_error.h"

static const char *const outcome_names[OUTCOMES] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_TLS] = "tls",
    [OUTCOME_READ] = "read",
    [OUTCOME_WRITE] = "write",
    [OUTCOME_PROTOCOL] = "protocol",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_UNFINISHED] = "unfinished",
    [OUTCOME_CONNECT] = "connect",
};

static const char *const fault_names[FAULTS] = {
    [FAULT_CONNECT] = "connect",
    [FAULT_FD_LIMIT] = "generator: file descriptors",
    [FAULT_PORTS] = "generator: local ports",
    [FAULT_MEMORY] = "generator: kernel memory",
    [FAULT_EXTRA_BYTES] = "connection replaced",
    [FAULT_POLICY] = "policy",
    [FAULT_TLS] = "tls handshake",
    [FAULT_REDIRECT] = "redirect",
};

static const char *const redirect_errors[REDIRECT_ERRORS] = {
    [REDIRECT_FINE] = "followed",
    [REDIRECT_ELSEWHERE] = "to another host, not followed",
    [REDIRECT_MANY] = "more in a row than --follow allows",
    [REDIRECT_BAD] = "without a Location to follow",
};

static const char *const h1_errors[H1_ERRORS] = {
    [H1_BAD_RESPONSE] = "not a valid HTTP/1.1 response",
    [H1_HEADER_TOO_LARGE] = "header block over 65536 bytes",
    [H1_BAD_STATUS] = "status code outside 100..599",
    [H1_UPGRADE] = "101 although no upgrade was asked for",
    [H1_EXTRA_BYTES] = "bytes after the end of the response",
    [H1_EARLY_BYTES] = "bytes of a response before the request was sent",
};

const char *outcome_name(enum outcome o)
{
    return outcome_names[o];
}

/* The system's or TLS's. */
static const char *socket_text(int error, char *buf, size_t cap)
{
    if (conn_tunnel_text(error, buf, cap))
        return buf;
    if (error < TLS_TRUNCATED)
        return strerror_r(error, buf, cap);
    tls_error_text(error, buf, cap);
    return buf;
}

static const char *detail(enum outcome o, int error, char *buf, size_t cap)
{
    if (o == OUTCOME_PROTOCOL)
        return error > 0 && error < H1_ERRORS ? h1_errors[error] : h1_errors[H1_BAD_RESPONSE];
    if (error == 0)
        return o == OUTCOME_READ ? "connection closed before the response was complete" : NULL;
    return socket_text(error, buf, cap);
}

void outcome_text(enum outcome o, int error, char *buf, size_t cap)
{
    char text[128];
    const char *more = detail(o, error, text, sizeof text);
    if (more == NULL)
        snprintf(buf, cap, "%s", outcome_names[o]);
    else
        snprintf(buf, cap, "%s: %s", outcome_names[o], more);
}

void fault_text(enum client_fault f, int code, char *buf, size_t cap)
{
    char text[128];
    const char *why;
    if (f == FAULT_EXTRA_BYTES)
        why = h1_errors[H1_EXTRA_BYTES];
    else if (f == FAULT_REDIRECT)
        why = redirect_errors[code];
    else if (f == FAULT_POLICY)
        why = "the address is not allowed";
    else
        why = socket_text(code, text, sizeof text);
    snprintf(buf, cap, "%s: %s", fault_names[f], why);
}
