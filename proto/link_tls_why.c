/* SPDX-License-Identifier: MIT */
#include "proto/link_tls_why.h"

#include "common/libssl.h"

#define FAILED "TLS handshake failed: "

struct row {
    int code;
    const char *text;
};

static const char *find(const struct row *rows, size_t n, long code)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].code == code)
            return rows[i].text;
    return NULL;
}

#define FIND(rows, code) find(rows, sizeof(rows) / sizeof(rows)[0], code)

static const char *peer_of(enum link_tls_role role)
{
    return role == LINK_TLS_AGENT ? "controller" : "agent";
}

/* --- what we have against the peer's certificate ---------------------------------------------- */

static const struct row faults[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "is not valid yet; is a clock wrong?"},
    {X509_V_ERR_CERT_REVOKED, "is revoked"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "is of another CA"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "is of another CA"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "is of another CA"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "is of another CA"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "is of another CA"},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, "is of another CA"},
};

static void tell_fault(enum link_tls_role role, const char *server_name, long verify,
                       struct errmsg *out)
{
    const char *peer = peer_of(role), *text = FIND(faults, verify);
    if (verify == X509_V_ERR_INVALID_PURPOSE)
        text = role == LINK_TLS_AGENT ? "is not made for a controller" : "is not made for an agent";
    if (text != NULL)
        errmsg_set(out, ERR_OK, FAILED "the %s's certificate %s", peer, text);
    else if (verify == X509_V_ERR_HOSTNAME_MISMATCH)
        errmsg_set(out, ERR_OK, FAILED "the %s's certificate is not for the name \"%s\"", peer,
                   server_name != NULL ? server_name : "");
    else
        errmsg_set(out, ERR_OK, FAILED "the %s's certificate is not accepted: %s", peer,
                   X509_verify_cert_error_string(verify));
}

/* --- what the peer has against ours ----------------------------------------------------------- */

static const struct row refusals[] = {
    {SSL_AD_CERTIFICATE_EXPIRED, "it has expired"},
    {SSL_AD_CERTIFICATE_REVOKED, "it is revoked"},
    {SSL_AD_UNKNOWN_CA, "it is of another CA"},
    {SSL_AD_UNSUPPORTED_CERTIFICATE, "it is not made for this role"},
    {SSL_AD_BAD_CERTIFICATE, "it is for another name, or not valid yet"},
};

static void tell_alert(enum link_tls_role role, int alert, struct errmsg *out)
{
    const char *text = FIND(refusals, alert);
    if (text != NULL)
        errmsg_set(out, ERR_OK, FAILED "the %s refuses ours: %s", peer_of(role), text);
    else
        errmsg_set(out, ERR_OK, FAILED "the %s says: %s", peer_of(role),
                   SSL_alert_desc_string_long(alert));
}

/* --- everything else -------------------------------------------------------------------------- */

static const struct row reasons[] = {
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "shows no certificate"},
    {SSL_R_WRONG_VERSION_NUMBER, "speaks no TLS"},
    {SSL_R_HTTP_REQUEST, "speaks HTTP, not TLS"},
    {SSL_R_HTTPS_PROXY_REQUEST, "speaks HTTP, not TLS"},
    {SSL_R_PACKET_LENGTH_TOO_LONG, "speaks no TLS"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "speaks only a TLS older than 1.2"},
};

static void tell_reason(enum link_tls_role role, int reason, struct errmsg *out)
{
    const char *peer = peer_of(role), *text = FIND(reasons, reason);
    const char *other = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
    if (text != NULL)
        errmsg_set(out, ERR_OK, FAILED "the %s %s", peer, text);
    else
        errmsg_set(out, ERR_OK, FAILED "with the %s: %s", peer, other != NULL ? other : "unknown");
}

/* It hung up without a word. In TLS 1.3 a dialler is done with the handshake before the other end
 * has judged its certificate, and the verdict can be lost: bytes that were on their way to an end
 * that closes make the kernel drop what it had sent. */
static void tell_guesses(enum link_tls_role role, const char *server_name, bool finished,
                         struct errmsg *out)
{
    if (role == LINK_TLS_AGENT)
        errmsg_set(out, ERR_OK,
                   FAILED "the controller hung up: either it refuses ours (other CA, expired, "
                          "revoked, wrong name), or it speaks no TLS, or went away");
    else if (finished)
        errmsg_set(out, ERR_OK,
                   FAILED "the agent's certificate is good, but it hung up: either it refuses ours "
                          "(other CA, expired, revoked; its log says which), or it went away");
    else
        errmsg_set(out, ERR_OK,
                   FAILED "the agent \"%s\" hung up: either it refuses ours (other CA, expired, "
                          "revoked; its log says which), or it speaks no TLS, or went away",
                   server_name != NULL ? server_name : "");
}

void link_tls_why(enum link_tls_role role, const char *server_name, const struct link_story *s,
                  struct errmsg *out)
{
    if (s->verify != 0)
        tell_fault(role, server_name, s->verify, out);
    else if (s->alert != 0)
        tell_alert(role, s->alert, out);
    else if (s->reason != 0)
        tell_reason(role, s->reason, out);
    else
        tell_guesses(role, server_name, s->finished, out);
}
